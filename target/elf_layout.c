#include "target/elf_layout.h"

#include <errno.h>
#include <string.h>

#include "arch/elf_machine.h"

/* A note segment holds a few short notes. */
enum { MAX_NOTES_BYTES = 1 << 12 };

static bool is_supported(const Elf64_Ehdr *h)
{
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == ELF_MACHINE &&
           (h->e_type == ET_EXEC || h->e_type == ET_DYN) && h->e_phentsize == sizeof(Elf64_Phdr) &&
           h->e_phnum <= ELF_MAX_SEGMENTS;
}

/* Drops what wraps around, so that nobody after has to think of it. */
static void add_segment(struct elf_layout *l, const Elf64_Phdr *p)
{
    uint64_t end;
    if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end) || end > UINT64_MAX - ELF_PAGE_BYTES ||
        __builtin_add_overflow(p->p_offset, p->p_filesz, &end) || end > INT64_MAX)
        return;
    l->segments[l->n++] = (struct elf_segment){
        .type = p->p_type,
        .flags = p->p_flags,
        .offset = p->p_offset,
        .addr = p->p_vaddr,
        .file_bytes = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz,
        .mem_bytes = p->p_memsz,
    };
}

int elf_layout_read(struct elf_layout *ret, elf_reader read, void *ctx)
{
    Elf64_Phdr headers[ELF_MAX_SEGMENTS];
    ret->n = 0;
    if (read(ctx, 0, &ret->header, sizeof ret->header) < 0 || !is_supported(&ret->header))
        return -ENOEXEC;
    size_t n = ret->header.e_phnum;
    if (read(ctx, ret->header.e_phoff, headers, n * sizeof *headers) < 0)
        return -ENOEXEC;
    for (size_t i = 0; i < n; i++)
        add_segment(ret, &headers[i]);
    return 0;
}

const struct elf_segment *elf_layout_load(const struct elf_layout *l, uint64_t elf_addr)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct elf_segment *s = &l->segments[i];
        if (s->type == PT_LOAD && elf_addr >= s->addr && elf_addr - s->addr < s->mem_bytes)
            return s;
    }
    return NULL;
}

bool elf_layout_bias(const struct elf_layout *l, uint64_t start, uint64_t file_offset,
                     uint64_t *ret)
{
    const struct elf_segment *found = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct elf_segment *s = &l->segments[i];
        if (s->type != PT_LOAD || !s->file_bytes)
            continue;
        uint64_t first = elf_page_down(s->offset);
        uint64_t last = elf_page_down(s->offset + s->file_bytes - 1);
        /* Two segments may share a page of the file: prefer the one that starts there. */
        if (file_offset == first) {
            found = s;
            break;
        }
        if (!found && file_offset > first && file_offset <= last)
            found = s;
    }
    if (!found)
        return false;
    *ret = start - (found->addr - found->offset + file_offset);
    return true;
}

bool elf_layout_span(const struct elf_layout *l, struct addr_range *ret)
{
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct elf_segment *s = &l->segments[i];
        if (s->type != PT_LOAD || !s->mem_bytes)
            continue;
        uint64_t start = elf_page_down(s->addr);
        uint64_t end = elf_page_down(s->addr + s->mem_bytes + ELF_PAGE_BYTES - 1);
        low = start < low ? start : low;
        high = end > high ? end : high;
    }
    if (low >= high)
        return false;
    *ret = (struct addr_range){low, high - low};
    return true;
}

static size_t padded(size_t n, size_t align)
{
    return (n + align - 1) & ~(align - 1);
}

bool elf_notes_build_id(const uint8_t *notes, size_t len, size_t align, struct build_id *ret)
{
    Elf64_Nhdr h;
    align = align == 8 ? 8 : 4;
    for (size_t at = 0; at <= len && len - at >= sizeof h;) {
        memcpy(&h, notes + at, sizeof h);
        size_t name = at + sizeof h;
        size_t desc = at + padded(sizeof h + h.n_namesz, align);
        size_t end = desc + h.n_descsz;
        if (end > len)
            return false;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == sizeof ELF_NOTE_GNU && h.n_descsz > 0 &&
            h.n_descsz <= BUILD_ID_MAX_BYTES &&
            memcmp(notes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            memcpy(ret->bytes, notes + desc, h.n_descsz);
            ret->len = h.n_descsz;
            return true;
        }
        at = desc + padded(h.n_descsz, align);
    }
    return false;
}

void elf_layout_build_id(const struct elf_layout *l, elf_reader read, void *ctx,
                         struct build_id *ret)
{
    uint8_t notes[MAX_NOTES_BYTES];
    ret->len = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct elf_segment *s = &l->segments[i];
        if (s->type != PT_NOTE)
            continue;
        size_t len = s->file_bytes < sizeof notes ? s->file_bytes : sizeof notes;
        /* The property note has a segment of its own, aligned to 8. */
        size_t align = s->addr % 8 == 0 && s->file_bytes % 8 == 0 ? 8 : 4;
        if (read(ctx, s->addr, notes, len) == 0 &&
            (elf_notes_build_id(notes, len, 4, ret) || elf_notes_build_id(notes, len, align, ret)))
            return;
    }
}
