/* The program headers of an ELF file, read from a file or from memory: where its segments lie.
 * Private to target/.
 * Source: System V gABI chapter 5, x86-64 psABI. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf_file.h"

enum {
    ELF_PAGE_BYTES = 4096,
    ELF_MAX_SEGMENTS = 128, /* linkers make about 15 */
};

struct elf_segment {
    uint32_t type, flags; /* PT_…, PF_… */
    uint64_t offset, addr;
    uint64_t file_bytes, mem_bytes; /* file_bytes ≤ mem_bytes; addr + mem_bytes does not wrap */
    bool cut;                       /* the bytes behind file_bytes are unknown, not zero */
};
struct elf_layout {
    Elf64_Ehdr header;
    size_t n;
    struct elf_segment segments[ELF_MAX_SEGMENTS];
};

/* Copies LEN bytes at AT, a file offset or an ELF address; 0 or a negative errno. */
typedef int (*elf_reader)(void *ctx, uint64_t at, void *buf, size_t len);

/* READ takes file offsets.  Returns 0, or -ENOEXEC (no 64-bit x86-64 program or library). */
int elf_layout_read(struct elf_layout *ret, elf_reader read, void *ctx);
/* The PT_LOAD that ELF_ADDR lies in; NULL: none. */
const struct elf_segment *elf_layout_load(const struct elf_layout *l, uint64_t elf_addr);
/* See elf_file_bias(). */
bool elf_layout_bias(const struct elf_layout *l, uint64_t start, uint64_t file_offset,
                     uint64_t *ret);
/* The range that all PT_LOADs cover together, whole pages.  False: none. */
bool elf_layout_span(const struct elf_layout *l, struct addr_range *ret);
/* From the PT_NOTE segments; READ takes ELF addresses.  RET->len 0: none. */
void elf_layout_build_id(const struct elf_layout *l, elf_reader read, void *ctx,
                         struct build_id *ret);
/* From one note section's bytes, whose items lie ALIGN (4 or 8) bytes apart.  False: none there. */
bool elf_notes_build_id(const uint8_t *notes, size_t len, size_t align, struct build_id *ret);

static inline uint64_t elf_page_down(uint64_t x)
{
    return x & ~(uint64_t)(ELF_PAGE_BYTES - 1);
}
