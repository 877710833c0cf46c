/* Looks through call frame information before libdw does, because libdw (0.188) believes it.  libdw
 * clears as many registers as an instruction names, and copies them for every remembered state (2
 * GB for five bytes).  An assertion ends the process where one expression is used in two ways.  It
 * reads some bytes past the end of an entry that ends too early.  This check knows how long
 * instructions are, not what they mean.
 * Source: DWARF 5 §6.4; LSB 5 core "Exception Frames"; libdw/{dwarf_next_cfi,cie,fde,cfi,
 * dwarf_getlocation}.c of elfutils 0.188. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* One section.  Zero-initialise the rest. */
struct cfi_section {
    const uint8_t *bytes; /* as libdw reads them; borrowed */
    size_t len;
    bool is_eh; /* .eh_frame; else .debug_frame */
    struct {
        uint64_t offset;
        uint8_t address_bytes; /* of an FDE's addresses; 0: none was looked through */
        bool sized;            /* FDEs have augmentation data */
    } cie;                     /* the last one that was found good */
    struct map expressions;    /* by offset: are they values? */
};

/* May libdw be asked about the function whose FDE lies at OFFSET?  False also for what libdw
 * would refuse and for what no compiler writes: 64-bit DWARF, unknown augmentations, registers
 * from 256 on, programs of more than 64 KiB. */
bool cfi_check_function(struct cfi_section *s, uint64_t offset);
/* May libdw be asked about any function?  For a section that it reads from its beginning on. */
bool cfi_check_all(struct cfi_section *s);
void cfi_section_release(struct cfi_section *s);
