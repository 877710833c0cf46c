/* The contents of an ELF file: symbols, sections, segments; see elf_file.h. */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "base/text.h"
#include "target/elf_file_private.h"
#include "target/elf_strings.h"

enum {
    MAX_NAME_BYTES = 4096, /* of a symbol; LLVM's longest has 657 */
    MAX_SYMBOLS = ELF_MAX_DYNAMIC_SYMBOLS,
};

int elf_read_offset(void *ctx, uint64_t offset, void *buf, size_t len)
{
    const struct elf_file *f = ctx;
    if (offset > f->len || len > f->len - offset)
        return -EFAULT;
    memcpy(buf, f->bytes + offset, len);
    return 0;
}

int elf_read_addr(void *ctx, uint64_t elf_addr, void *buf, size_t len)
{
    return elf_file_read(ctx, elf_addr, buf, len);
}

/* The symbol NAME among SYMBOLS, whose names are in STRINGS.  A global one goes before a local. */
static int find_in_table(const Elf_Data *symbols, const Elf_Data *strings, const char *name,
                         struct addr_range *ret)
{
    size_t name_bytes = strlen(name) + 1;
    size_t n = symbols->d_size / sizeof(Elf64_Sym);
    n = n < MAX_SYMBOLS ? n : MAX_SYMBOLS;
    int r = -ENOENT;
    for (size_t i = 0; i < n; i++) {
        Elf64_Sym s;
        memcpy(&s, (const char *)symbols->d_buf + i * sizeof s, sizeof s);
        if (s.st_shndx == SHN_UNDEF || s.st_name >= strings->d_size ||
            name_bytes > strings->d_size - s.st_name ||
            memcmp((const char *)strings->d_buf + s.st_name, name, name_bytes) != 0)
            continue;
        bool local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;
        if (local && r == 0)
            continue;
        *ret = (struct addr_range){s.st_value, s.st_size};
        r = 0;
        if (!local)
            break;
    }
    return r;
}

/* A file has one section of each type at most.  Of several, which may be the same one many
 * times, the first counts. */
static int find_in_section(struct elf_file *f, uint32_t type, const char *name,
                           struct addr_range *ret)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(f->elf, scn));) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h) || h.sh_type != type)
            continue;
        const Elf_Data *symbols = elf_rawdata(scn, NULL);
        Elf_Scn *link = elf_getscn(f->elf, h.sh_link);
        const Elf_Data *strings = link ? elf_rawdata(link, NULL) : NULL;
        bool there = symbols && symbols->d_buf && strings && strings->d_buf;
        return there ? find_in_table(symbols, strings, name, ret) : -ENOENT;
    }
    return -ENOENT;
}

int elf_file_exported(struct elf_file *f, const char *name, struct addr_range *ret)
{
    if (!*name) /* the name of section symbols */
        return -ENOENT;
    return f->has_dynamic ? elf_dynamic_symbol(&f->dynamic, elf_read_addr, f, name, ret)
                          : find_in_section(f, SHT_DYNSYM, name, ret);
}

int elf_file_symbol(struct elf_file *f, const char *name, struct addr_range *ret)
{
    int r = elf_file_exported(f, name, ret);
    return r == 0 || !*name ? r : find_in_section(f, SHT_SYMTAB, name, ret);
}

int elf_file_section(struct elf_file *f, const char *name, struct addr_range *ret)
{
    size_t names;
    if (elf_getshdrstrndx(f->elf, &names) < 0)
        return -ENOENT;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(f->elf, scn));) {
        GElf_Shdr h;
        if (!gelf_getshdr(scn, &h))
            continue;
        const char *s = elf_string(f->elf, names, h.sh_name);
        if (s && str_eq(s, name)) {
            *ret = (struct addr_range){h.sh_addr, h.sh_size};
            return 0;
        }
    }
    return -ENOENT;
}

/* As much as the segment S holds from ELF_ADDR on, LEN at most.  Returns the number of bytes; 0:
 * they cannot be read. */
static size_t read_segment(struct elf_file *f, const struct elf_segment *s, uint64_t elf_addr,
                           void *buf, size_t len)
{
    uint64_t at = elf_addr - s->addr;
    uint64_t n = at < s->file_bytes ? s->file_bytes - at : s->cut ? 0 : s->mem_bytes - at;
    n = n < len ? n : len;
    if (at >= s->file_bytes)
        memset(buf, 0, n);
    else if (elf_read_offset(f, s->offset + at, buf, n) < 0)
        return 0;
    return n;
}

int elf_file_read(struct elf_file *f, uint64_t elf_addr, void *buf, size_t len)
{
    uint8_t *out = buf;
    while (len) {
        const struct elf_segment *s = elf_layout_load(&f->layout, elf_addr);
        size_t n = s ? read_segment(f, s, elf_addr, out, len) : 0;
        if (!n)
            return -EFAULT;
        out += n;
        elf_addr += n;
        len -= n;
    }
    return 0;
}

/* The string at ELF_ADDR, in place; NULL: it is too long, or does not end inside its segment. */
static const char *string_at(const struct elf_file *f, uint64_t elf_addr)
{
    const struct elf_segment *s = elf_layout_load(&f->layout, elf_addr);
    uint64_t at = s ? elf_addr - s->addr : 0;
    if (!s || at >= s->file_bytes || s->offset > f->len || s->file_bytes > f->len - s->offset)
        return NULL;
    const char *string = (const char *)f->bytes + s->offset + at;
    size_t room = s->file_bytes - at < MAX_NAME_BYTES ? s->file_bytes - at : MAX_NAME_BYTES;
    return memchr(string, '\0', room) ? string : NULL;
}

void elf_file_each_exported(struct elf_file *f,
                            void (*fn)(void *ctx, const char *name, const struct addr_range *where,
                                       uint8_t info),
                            void *ctx)
{
    uint32_t n = f->has_dynamic ? elf_dynamic_count(&f->dynamic, elf_read_addr, f) : 0;
    for (uint32_t i = 1; i < n; i++) {
        Elf64_Sym s;
        if (elf_file_read(f, f->dynamic.symbols + i * sizeof s, &s, sizeof s) < 0)
            return;
        const char *name = s.st_name < f->dynamic.strings_bytes
                               ? string_at(f, f->dynamic.strings + s.st_name)
                               : NULL;
        struct addr_range where = {s.st_value, s.st_size};
        if (s.st_shndx != SHN_UNDEF && name && *name)
            fn(ctx, name, &where, s.st_info);
    }
}

/* Gold, and bfd with -z noseparate-code, put the headers at the beginning of the segment with
 * code. */
static bool is_header(const struct elf_layout *l, uint64_t offset)
{
    const Elf64_Ehdr *h = &l->header;
    return offset < sizeof *h ||
           (offset >= h->e_phoff && offset - h->e_phoff < h->e_phnum * sizeof(Elf64_Phdr));
}

uint64_t elf_file_entry(struct elf_file *f)
{
    GElf_Ehdr header;
    return gelf_getehdr(f->elf, &header) ? header.e_entry : 0;
}

bool elf_file_is_code(struct elf_file *f, uint64_t elf_addr)
{
    const struct elf_segment *s = elf_layout_load(&f->layout, elf_addr);
    return s && s->flags & PF_X && !is_header(&f->layout, s->offset + (elf_addr - s->addr));
}

bool elf_file_bias(struct elf_file *f, uint64_t start, uint64_t file_offset, uint64_t *ret)
{
    return elf_layout_bias(&f->layout, start, file_offset, ret);
}

/* The bytes that libdw unpacks of SCN; 0: it is not packed.  A section of the old kind,
 * .zdebug_*, begins with "ZLIB" and the size, big-endian. */
static uint64_t unpacked_bytes(Elf *elf, size_t names, Elf_Scn *scn)
{
    enum { MAGIC_BYTES = 4, HEADER_BYTES = MAGIC_BYTES + 8 };
    GElf_Shdr header;
    GElf_Chdr packed;
    if (!gelf_getshdr(scn, &header))
        return 0;
    if (header.sh_flags & SHF_COMPRESSED)
        return gelf_getchdr(scn, &packed) ? packed.ch_size : UINT64_MAX;
    const char *name = elf_string(elf, names, header.sh_name);
    const Elf_Data *data = name && str_starts(name, ".zdebug") ? elf_rawdata(scn, NULL) : NULL;
    uint64_t bytes = 0;
    if (!data || !data->d_buf || data->d_size < HEADER_BYTES ||
        memcmp(data->d_buf, "ZLIB", MAGIC_BYTES) != 0)
        return 0;
    for (size_t i = MAGIC_BYTES; i < HEADER_BYTES; i++)
        bytes = bytes << 8 | ((const uint8_t *)data->d_buf)[i];
    return bytes;
}

bool elf_unpacks_little(Elf *elf)
{
    static const uint64_t MAX_UNPACKED_BYTES = UINT64_C(512) << 20;
    uint64_t left = MAX_UNPACKED_BYTES;
    size_t names;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return true; /* libdw finds no section either */
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        uint64_t bytes = unpacked_bytes(elf, names, scn);
        if (bytes > left)
            return false;
        left -= bytes;
    }
    return true;
}
