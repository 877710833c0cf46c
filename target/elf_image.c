#include "target/elf_image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    CHUNK_BYTES = 1 << 16,
    LEAST_COST_BYTES = 1 << 16, /* of an image however small: it has mappings of its own */
};
/* The address space that the image may take (pages never touched cost nothing). */
static const uint64_t MAX_IMAGE_BYTES = UINT64_C(8) << 30;

struct remote {
    struct mem *mem;
    uint64_t base;
};

static int read_remote(void *ctx, uint64_t offset, void *buf, size_t len)
{
    const struct remote *r = ctx;
    return mem_read(r->mem, r->base + offset, buf, len);
}

/* The bytes of the file that the segment shows in memory: whole pages, but for one whose end was
 * cleared to be bss. */
static uint64_t shown_end(const struct elf_segment *s)
{
    uint64_t end = s->offset + s->file_bytes;
    return s->mem_bytes > s->file_bytes ? end : elf_page_down(end + ELF_PAGE_BYTES - 1);
}

static uint64_t image_len(const struct elf_layout *l)
{
    uint64_t len = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct elf_segment *s = &l->segments[i];
        if (s->type == PT_LOAD && shown_end(s) > len)
            len = shown_end(s);
    }
    return len;
}

/* Copies a segment up to the first byte that cannot be read, or ROOM bytes.  Returns how many. */
static uint64_t copy_segment(const struct elf_image *image, struct elf_segment *s, struct mem *mem,
                             uint64_t room)
{
    const uint64_t start = elf_page_down(s->offset);
    uint64_t at = start;
    uint64_t end = shown_end(s) - start <= room ? shown_end(s) : start + elf_page_down(room);
    uint64_t addr = image->bias + s->addr - (s->offset - at);
    /* No more at once than is written counts against RLIMIT_DATA. */
    if (mprotect(image->bytes + start, end - start, PROT_READ | PROT_WRITE) < 0)
        end = start;
    while (at < end) {
        size_t n = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;
        if (mem_read(mem, addr, image->bytes + at, n) < 0) {
            n = n < ELF_PAGE_BYTES ? n : ELF_PAGE_BYTES;
            if (mem_read(mem, addr, image->bytes + at, n) < 0)
                break;
        }
        at += n;
        addr += n;
    }
    uint64_t copied = at > s->offset ? at - s->offset : 0;
    if (copied < s->file_bytes) {
        s->file_bytes = copied;
        s->cut = true;
    }
    return at - start;
}

/* Copies the segments of code, or the others.  Returns false if there is no room for all. */
static bool copy_segments(const struct elf_image *image, struct elf_layout *l, struct mem *mem,
                          bool code, uint64_t *room)
{
    bool fits = true;
    for (size_t i = 0; i < l->n; i++) {
        struct elf_segment *s = &l->segments[i];
        if (s->type != PT_LOAD || code != ((s->flags & PF_X) != 0))
            continue;
        fits = fits && shown_end(s) - elf_page_down(s->offset) <= *room;
        *room -= copy_segment(image, s, mem, *room);
    }
    return fits;
}

/* The vdso's are; those of an ordinary library lie behind all segments. */
static bool sections_are_mapped(const struct elf_layout *l)
{
    const Elf64_Ehdr *h = &l->header;
    uint64_t len = (uint64_t)h->e_shnum * sizeof(Elf64_Shdr);
    if (!h->e_shnum || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff > INT64_MAX)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const struct elf_segment *s = &l->segments[i];
        if (s->type == PT_LOAD && h->e_shoff >= s->offset && h->e_shoff + len <= shown_end(s))
            return true;
    }
    return false;
}

static void drop_sections(Elf64_Ehdr *h)
{
    h->e_shoff = 0;
    h->e_shnum = 0;
    h->e_shstrndx = SHN_UNDEF;
}

/* Tables and symbols first, code with what is left of the room. */
static int fill(const struct elf_image *image, struct elf_layout *l, struct mem *mem,
                struct elf_budget *budget)
{
    const uint64_t share = budget->bytes / 2;
    uint64_t room = share;
    if (share < LEAST_COST_BYTES) {
        budget->cut++;
        return -ENOSPC;
    }
    bool sections = sections_are_mapped(l);
    bool tables = copy_segments(image, l, mem, false, &room);
    bool code = copy_segments(image, l, mem, true, &room);
    uint64_t cost = share - room;
    budget->bytes -= cost > LEAST_COST_BYTES ? cost : LEAST_COST_BYTES;
    budget->cut += !tables || !code;
    if (mprotect(image->bytes, ELF_PAGE_BYTES, PROT_READ | PROT_WRITE) < 0)
        return -ENOSPC;
    /* The header that was checked counts: the memory may have changed since. */
    if (!sections)
        drop_sections(&l->header);
    memcpy(image->bytes, &l->header, sizeof l->header);
    return 0;
}

int elf_image_read(struct elf_image *ret, struct elf_layout *layout, struct mem *mem, uint64_t base,
                   struct elf_budget *budget)
{
    struct remote remote = {mem, base};
    struct elf_image image = {0};
    char byte;
    if (mem_read(mem, base, &byte, 1) < 0)
        return -EFAULT;
    if (elf_layout_read(layout, read_remote, &remote) < 0)
        return -ENOEXEC;
    uint64_t headers_end = layout->header.e_phoff + layout->header.e_phnum * sizeof(Elf64_Phdr);
    uint64_t len = image_len(layout);
    if (!elf_layout_bias(layout, base, 0, &image.bias) || len > MAX_IMAGE_BYTES ||
        len < sizeof layout->header || layout->header.e_phoff > len || headers_end > len)
        return -ENOEXEC;
    image.len = (size_t)len;
    image.bytes =
        mmap(NULL, image.len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (image.bytes == MAP_FAILED)
        return -ENOEXEC;
    int r = fill(&image, layout, mem, budget);
    if (r < 0)
        elf_image_release(&image);
    else
        elf_image_seal(&image);
    *ret = image;
    return r;
}

void elf_image_seal(const struct elf_image *image)
{
    /* A failure costs memory that may be wanted elsewhere, no more. */
    (void)mprotect(image->bytes, image->len, PROT_READ);
}

void elf_image_release(struct elf_image *image)
{
    if (image->bytes)
        munmap(image->bytes, image->len);
    *image = (struct elf_image){0};
}
