/* The entries of .eh_frame and .debug_frame: FDEs, one a function, and the CIEs that they share.
 * The bytes are hostile: each length is bounded, and what no compiler writes for x86-64 is refused
 * (64-bit DWARF, unknown augmentations, addresses that are neither absolute nor pc-relative).
 * Source: DWARF 5 §6.4.1; LSB 5 core "Exception Frames". */
#pragma once

#include "target/elf_file.h"
#include "unwinder/dwarf_bytes.h"

struct cfi_section {
    const uint8_t *bytes; /* borrowed; NULL: there is none */
    size_t len;
    uint64_t addr; /* in ELF addresses */
    bool is_eh;    /* .eh_frame; else .debug_frame */
};

struct cfi_cie {
    uint64_t code_align;
    uint64_t data_align; /* signed */
    uint8_t encoding;    /* of addresses */
    bool is_sized;       /* FDEs have augmentation data */
    bool is_signal;      /* its functions are signal trampolines */
    struct dwarf_bytes program;
};

struct cfi_fde {
    struct addr_range function; /* ELF addresses */
    struct cfi_cie cie;
    struct dwarf_bytes program;
};

/* Reads the FDE at OFFSET and its CIE.  False: no FDE is there, or it is refused. */
bool cfi_read_fde(const struct cfi_section *s, uint64_t offset, struct cfi_fde *ret);
/* Reads an address of ENCODING from B, which is part of S. */
uint64_t cfi_read_address(const struct cfi_section *s, struct dwarf_bytes *b, uint8_t encoding);
