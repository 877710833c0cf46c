#include "symbolizer/symtab.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbolizer/plt.h"
#include "symbolizer/ranges.h"

enum { MAX_UNDERSCORES = 15 };

struct symbol {
    uint64_t start, end;
    const char *name; /* in the file's string table */
    uint32_t rank;    /* the smaller the better */
    bool open;        /* without a size: END is its section's until symtab_finish() */
    bool plt;
    bool exported;
};

struct symtab {
    struct symbol *symbols;
    size_t n, capacity;
    struct ranges ranges;
};

static void add(struct symtab *t, const struct symbol *s)
{
    t->symbols = array_reserve(t->symbols, &t->capacity, t->n + 1, sizeof *t->symbols);
    t->symbols[t->n++] = *s;
}

static bool is_mangled(const char *name)
{
    return str_starts(name, "_Z") || str_starts(name, "_R");
}

/* What users call comes first: exported names before local ones, `write` before `__write` (in libc
 * the former is weak, so the number of underscores weighs more than weakness). */
static uint32_t rank_of(uint8_t info, const char *name)
{
    size_t underscores = is_mangled(name) ? 0 : strspn(name, "_");
    if (underscores > MAX_UNDERSCORES)
        underscores = MAX_UNDERSCORES;
    uint32_t rank = GELF_ST_BIND(info) == STB_LOCAL;
    rank = rank << 4 | (uint32_t)underscores;
    rank = rank << 1 | (GELF_ST_BIND(info) == STB_WEAK);
    return rank << 1 | (GELF_ST_TYPE(info) == STT_NOTYPE);
}

static bool is_code_type(unsigned type)
{
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static void add_symbol(struct symtab *t, Elf *elf, const GElf_Sym *sym, const char *name)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);
    bool defined = sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE;
    if (!is_code_type(type) || !defined || !name || !*name || str_starts(name, ".L"))
        return;
    GElf_Shdr section;
    if (!gelf_getshdr(elf_getscn(elf, sym->st_shndx), &section) ||
        !(section.sh_flags & SHF_EXECINSTR) || sym->st_value - section.sh_addr >= section.sh_size)
        return;
    uint64_t section_end = section.sh_addr + section.sh_size;
    struct symbol s = {.start = sym->st_value, .name = name, .open = sym->st_size == 0};
    s.end = section_end;
    if (!s.open && sym->st_size < section_end - s.start)
        s.end = s.start + sym->st_size;
    s.rank = rank_of(sym->st_info, name);
    s.exported = GELF_ST_BIND(sym->st_info) != STB_LOCAL;
    add(t, &s);
}

static void add_table(struct symtab *t, Elf *elf, Elf_Scn *scn, const GElf_Shdr *table)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    if (!data || table->sh_entsize != sizeof(Elf64_Sym))
        return;
    size_t n = data->d_size / sizeof(Elf64_Sym);
    for (size_t i = 1; i < n && i <= INT32_MAX; i++) {
        GElf_Sym sym;
        if (gelf_getsym(data, (int)i, &sym))
            add_symbol(t, elf, &sym, elf_strptr(elf, table->sh_link, sym.st_name));
    }
}

static void add_stub(void *ctx, uint64_t start, uint64_t len, const char *name)
{
    struct symbol s = {
        .start = start, .end = start + len, .name = name, .rank = UINT32_MAX, .plt = true};
    add(ctx, &s);
}

struct symtab *symtab_new(void)
{
    return xcalloc(1, sizeof(struct symtab));
}

void symtab_add_elf(struct symtab *t, Elf *elf)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            add_table(t, elf, scn, &header);
    }
    plt_each_stub(elf, add_stub, t);
}

struct exported {
    struct symtab *table;
    struct elf_file *file;
};

static void add_exported(void *ctx, const char *name, const struct addr_range *where, uint8_t info)
{
    const struct exported *e = ctx;
    unsigned type = GELF_ST_TYPE(info);
    uint64_t end;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
        __builtin_add_overflow(where->start, where->len, &end) ||
        !elf_file_is_code(e->file, where->start))
        return;
    struct symbol s = {.start = where->start, .end = end, .name = name, .exported = true};
    s.rank = rank_of(info, name);
    add(e->table, &s);
}

void symtab_add_exported(struct symtab *t, struct elf_file *file)
{
    struct exported e = {t, file};
    elf_file_each_exported(file, add_exported, &e);
}

/* By address; at the same one the best comes last, those with a size after those without. */
static int by_start(const void *a, const void *b)
{
    const struct symbol *x = a;
    const struct symbol *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->open != y->open)
        return x->open ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    size_t x_len = strlen(x->name);
    size_t y_len = strlen(y->name);
    if (x_len != y_len)
        return x_len > y_len ? -1 : 1;
    return strcmp(y->name, x->name);
}

/* A symbol without a size ends where the next one starts; it goes if a better one starts where it
 * does. */
static void close_open(struct symtab *t)
{
    for (size_t i = 0; i + 1 < t->n; i++) {
        struct symbol *s = &t->symbols[i];
        if (s->open && s->end > s[1].start)
            s->end = s[1].start;
    }
}

void symtab_finish(struct symtab *t)
{
    if (!t->n)
        return;
    qsort(t->symbols, t->n, sizeof *t->symbols, by_start);
    close_open(t);
    uint64_t covered = 0; /* by symbols with a size: a label inside a function is no function */
    for (size_t i = 0; i < t->n; i++) {
        const struct symbol *s = &t->symbols[i];
        if (s->open && s->start < covered)
            continue;
        if (!s->open && s->end > covered)
            covered = s->end;
        (void)ranges_add(&t->ranges, s->start, s->end, (uint32_t)i);
    }
    ranges_finish(&t->ranges);
}

bool symtab_find(const struct symtab *t, uint64_t elf_addr, struct text *out, bool *ret_exported)
{
    uint32_t i = ranges_find(&t->ranges, elf_addr);
    if (i == RANGES_NONE)
        return false;
    text_clear(out);
    text_add(out, t->symbols[i].name);
    if (t->symbols[i].plt)
        text_add(out, "@plt");
    *ret_exported = t->symbols[i].exported;
    return true;
}

struct symtab *symtab_free(struct symtab *t)
{
    if (!t)
        return NULL;
    ranges_release(&t->ranges);
    free(t->symbols);
    free(t);
    return NULL;
}
