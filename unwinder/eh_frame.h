/* .eh_frame and its search table as libdw will find them in an ELF file, so that they can be
 * checked before libdw reads them: function by function where it searches, all at once where it
 * cannot.
 * Source: LSB 5 core "Exception Frames"; libdw/{dwarf_getcfi_elf,fde}.c of elfutils 0.188. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf_file.h"
#include "unwinder/cfi_check.h"

struct eh_frame {
    struct cfi_section section;
    uint64_t addr;         /* of the section, in ELF addresses */
    const uint8_t *search; /* pairs of int32: function, FDE; sorted; libelf's */
    size_t n_search;
    uint64_t search_base; /* what its numbers are relative to */
    enum { EH_FRAME_NEVER, EH_FRAME_BY_SEARCH, EH_FRAME_ALWAYS } ask;
};

/* Borrows ELF.  A file may have none. */
void eh_frame_init(struct eh_frame *e, Elf *elf);
/* May libdw be asked about ELF_ADDR? */
bool eh_frame_may_ask(struct eh_frame *e, uint64_t elf_addr);
/* The function that the search table has for ELF_ADDR, up to the next one's start; {0, 0}: none. */
struct addr_range eh_frame_function(const struct eh_frame *e, uint64_t elf_addr);
void eh_frame_release(struct eh_frame *e);
