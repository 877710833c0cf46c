#include "unwinder/functions.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/minmax.h"
#include "base/search.h"

/* Of one file: librustc_driver has 160,000 in its one table. */
enum { MAX_FUNCTIONS = 1 << 22 };
/* Code that is read for its calls, some 2 ns a byte: files without CFI are small. */
enum { MAX_CODE_BYTES = 1 << 24, CHUNK_BYTES = 1 << 16 };

struct functions {
    struct elf_file *file;
    struct addr_range *items; /* by start, the longest of a start last */
    size_t n, capacity;
    bool read_code;
    uint64_t *starts; /* ascending */
    size_t n_starts, starts_capacity;
};

static void add(struct functions *f, uint64_t start, uint64_t len)
{
    if (!len || len > UINT64_MAX - start || f->n == MAX_FUNCTIONS)
        return;
    f->items = array_reserve(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n++] = (struct addr_range){start, len};
}

static Elf_Scn *first_of(Elf *elf, uint32_t type)
{
    GElf_Shdr header;
    for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));)
        if (gelf_getshdr(scn, &header) && header.sh_type == type)
            return scn;
    return NULL;
}

static void add_table(struct functions *f, Elf_Scn *section)
{
    GElf_Sym s;
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    for (int i = 0; data && i < MAX_FUNCTIONS && gelf_getsym(data, i, &s); i++)
        if (GELF_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF)
            add(f, s.st_value, s.st_size);
}

static void add_exported(void *ctx, const char *name, const struct addr_range *where, uint8_t info)
{
    (void)name;
    if (GELF_ST_TYPE(info) == STT_FUNC)
        add(ctx, where->start, where->len);
}

static int by_start(const void *a, const void *b)
{
    const struct addr_range *x = a;
    const struct addr_range *y = b;
    int order = compare_u64(x->start, y->start);
    return order ? order : compare_u64(x->len, y->len);
}

struct functions *functions_new(struct elf_file *file)
{
    struct functions *f = xcalloc(1, sizeof *f);
    Elf *elf = elf_file_elf(file);
    f->file = file;
    add_table(f, first_of(elf, SHT_SYMTAB));
    add_table(f, first_of(elf, SHT_DYNSYM));
    if (!f->n)
        elf_file_each_exported(file, add_exported, f);
    if (f->n)
        qsort(f->items, f->n, sizeof *f->items, by_start);
    return f;
}

int functions_find(const struct functions *f, uint64_t elf_addr, struct addr_range *ret)
{
    size_t n = COUNT_UP_TO(f->items, f->n, start, elf_addr);
    if (!n || elf_addr - f->items[n - 1].start >= f->items[n - 1].len)
        return -ENOENT;
    *ret = f->items[n - 1];
    return 0;
}

/* ---- without symbols ---- */

/* The length of the instruction that BYTES, 7 at least, may begin with, if it calls code or
 * takes its address; else 0.  RET is that code's distance from the instruction's end.  Asked at
 * every byte. */
static size_t refers_to(const uint8_t *bytes, int32_t *ret)
{
    bool call = bytes[0] == 0xe8;
    /* lea reg, [rip + distance] */
    bool lea = (bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x8d && (bytes[2] & 0xc7) == 0x05;
    *ret = get_i32(bytes + (lea ? 3 : 1));
    return call ? 5 : lea ? 7 : 0;
}

static void add_start(struct functions *f, uint64_t start)
{
    if (f->n_starts == MAX_FUNCTIONS || !elf_file_is_code(f->file, start))
        return;
    f->starts = array_reserve(f->starts, &f->starts_capacity, f->n_starts + 1, sizeof *f->starts);
    f->starts[f->n_starts++] = start;
}

/* The same for mov reg, ADDRESS: only in programs that lie where they are linked to. */
static bool refers_absolutely(const uint8_t *bytes, uint32_t *ret)
{
    bool mov = (bytes[0] & 0xf8) == 0xb8;
    bool by_rm = (bytes[0] & 0xfe) == 0x48 && bytes[1] == 0xc7 && (bytes[2] & 0xf8) == 0xc0;
    memcpy(ret, bytes + (by_rm ? 3 : 1), sizeof *ret);
    return mov || by_rm;
}

static bool has_fixed_addresses(struct elf_file *file)
{
    GElf_Ehdr h;
    Elf *elf = elf_file_elf(file);
    return elf && gelf_getehdr(elf, &h) && h.e_type == ET_EXEC;
}

/* The code [START, START + LEN) of the file. */
static void read_code(struct functions *f, uint64_t start, uint64_t len)
{
    enum { LONGEST = 7 };
    static const uint8_t none[LONGEST];
    const bool fixed = has_fixed_addresses(f->file);
    uint8_t bytes[CHUNK_BYTES + LONGEST];
    for (uint64_t at = 0; at < len; at += CHUNK_BYTES) {
        size_t n = len - at < CHUNK_BYTES ? len - at : CHUNK_BYTES;
        if (elf_file_read(f->file, start + at, bytes, n) < 0)
            return;
        memcpy(bytes + n, none, sizeof none);
        for (size_t i = 0; i < n; i++) {
            int32_t distance;
            uint32_t address;
            if (fixed && refers_absolutely(bytes + i, &address))
                add_start(f, address);
            size_t insn = refers_to(bytes + i, &distance);
            if (insn)
                add_start(f, start + at + i + insn + (uint64_t)(int64_t)distance);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    return compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static void find_starts(struct functions *f)
{
    Elf *elf = elf_file_elf(f->file);
    GElf_Phdr h;
    uint64_t left = MAX_CODE_BYTES;
    for (int i = 0; elf && gelf_getphdr(elf, i, &h) && left; i++) {
        if (h.p_type != PT_LOAD || !(h.p_flags & PF_X))
            continue;
        if (h.p_filesz > left)
            break;
        left -= h.p_filesz;
        read_code(f, h.p_vaddr, h.p_filesz);
    }
    uint64_t entry = elf_file_entry(f->file);
    if (entry)
        add_start(f, entry);
    if (f->n_starts)
        qsort(f->starts, f->n_starts, sizeof *f->starts, by_value);
}

uint64_t functions_begin(struct functions *f, uint64_t elf_addr)
{
    enum { MAX_FUNCTION_BYTES = 1 << 16 };
    if (!f->read_code)
        find_starts(f);
    f->read_code = true;
    size_t n = count_up_to(f->starts, f->n_starts, sizeof *f->starts, 0, elf_addr);
    bool known = n && elf_addr - f->starts[n - 1] < MAX_FUNCTION_BYTES;
    return known ? f->starts[n - 1] : 0;
}

struct functions *functions_free(struct functions *f)
{
    if (!f)
        return NULL;
    free(f->items);
    free(f->starts);
    free(f);
    return NULL;
}
