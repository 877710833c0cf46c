#include "unwinder/functions.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "base/alloc.h"

/* Of one file, in all its tables: librustc_driver has 160,000. */
enum { MAX_FUNCTIONS = 1 << 22 };

struct functions {
    struct addr_range *items; /* by start, the longest of a start last */
    size_t n, capacity;
};

static void add(struct functions *f, uint64_t start, uint64_t len)
{
    if (!len || len > UINT64_MAX - start || f->n == MAX_FUNCTIONS)
        return;
    f->items = array_reserve(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n++] = (struct addr_range){start, len};
}

static void add_table(struct functions *f, Elf_Scn *section)
{
    GElf_Shdr header;
    GElf_Sym s;
    bool symbols = gelf_getshdr(section, &header) &&
                   (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM);
    Elf_Data *data = symbols ? elf_getdata(section, NULL) : NULL;
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
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->len > y->len) - (x->len < y->len);
}

struct functions *functions_new(struct elf_file *file)
{
    struct functions *f = xcalloc(1, sizeof *f);
    Elf *elf = elf_file_elf(file);
    for (Elf_Scn *scn = NULL; elf && (scn = elf_nextscn(elf, scn));)
        add_table(f, scn);
    if (!f->n)
        elf_file_each_exported(file, add_exported, f);
    if (f->n)
        qsort(f->items, f->n, sizeof *f->items, by_start);
    return f;
}

int functions_find(const struct functions *f, uint64_t elf_addr, struct addr_range *ret)
{
    size_t low = 0;
    size_t high = f->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->items[middle].start <= elf_addr)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || elf_addr - f->items[low - 1].start >= f->items[low - 1].len)
        return -ENOENT;
    *ret = f->items[low - 1];
    return 0;
}

struct functions *functions_free(struct functions *f)
{
    if (f)
        free(f->items);
    free(f);
    return NULL;
}
