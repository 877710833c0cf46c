/* A library may have a million symbols, of which a hundred are asked for.  So there are two
 * passes.  The first notes for each wanted address the last start of a symbol before it, which
 * is all that symbols without a size need.  The second keeps the symbols that a wanted address,
 * or such a start, lies in. */
#include "symbolizer/symtab.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "symbolizer/plt.h"
#include "symbolizer/ranges.h"
#include "target/elf_strings.h"

enum {
    MAX_UNDERSCORES = 15,
    MAX_NAME_BYTES = 4096, /* as demangle() reads */
};

struct symbol {
    uint64_t start, end;
    const char *name; /* in the file's string table */
    uint32_t rank;    /* the smaller the better */
    bool open;        /* without a size: END is its section's until symtab_finish() */
    bool plt;
    bool exported;
};

struct source { /* one of them */
    Elf *elf;
    struct elf_file *file;
};

struct symbols {
    struct symbol *items;
    size_t n, capacity;
};

struct symtab {
    const uint64_t *wanted; /* ascending; NULL: any address may be asked for */
    size_t n_wanted;
    uint64_t *last_starts; /* by wanted address; 0: none */
    bool keeping;          /* the second pass */
    struct source *sources;
    size_t n_sources, sources_capacity;
    struct symbols kept;
    struct symbols stubs; /* of linkage tables */
    struct ranges ranges;
};

/* Where ADDR is among the N ascending addresses at ALL, or belongs. */
static size_t place_of(const uint64_t *all, size_t n, uint64_t addr)
{
    return addr ? count_up_to(all, n, sizeof *all, 0, addr - 1) : 0;
}

static bool holds_one(const struct symbol *s, const uint64_t *all, size_t n)
{
    size_t i = place_of(all, n, s->start);
    return i < n && (s->open ? all[i] == s->start : all[i] < s->end);
}

/* Does this pass need S?  Asked before its name and section are looked at. */
static bool matters(const struct symtab *t, const struct symbol *s)
{
    if (!t->wanted)
        return true;
    if (t->keeping)
        return holds_one(s, t->last_starts, t->n_wanted) ||
               (!s->open && holds_one(s, t->wanted, t->n_wanted));
    size_t i = place_of(t->wanted, t->n_wanted, s->start);
    return i < t->n_wanted && s->start > t->last_starts[i];
}

static void append(struct symbols *to, const struct symbol *s)
{
    to->items = array_reserve(to->items, &to->capacity, to->n + 1, sizeof *to->items);
    to->items[to->n++] = *s;
}

/* S matters. */
static void add(struct symtab *t, const struct symbol *s)
{
    if (!t->wanted || t->keeping)
        append(&t->kept, s);
    else
        t->last_starts[place_of(t->wanted, t->n_wanted, s->start)] = s->start;
}

static bool is_mangled(const char *name)
{
    return str_starts(name, "_Z") || str_starts(name, "_R");
}

/* Names that users call come first: exported before local ones, `write` before `__write` (in libc
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

static void add_symbol(struct symtab *t, Elf *elf, const GElf_Sym *sym, size_t names)
{
    unsigned type = GELF_ST_TYPE(sym->st_info);
    bool defined = sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE;
    struct symbol s = {.start = sym->st_value, .open = sym->st_size == 0};
    if (__builtin_add_overflow(s.start, sym->st_size, &s.end))
        s.end = UINT64_MAX;
    if (!is_code_type(type) || !defined || !matters(t, &s))
        return;
    s.name = elf_string(elf, names, sym->st_name);
    if (!s.name || !*s.name || str_starts(s.name, ".L") ||
        strnlen(s.name, MAX_NAME_BYTES) == MAX_NAME_BYTES || (s.open && is_mangled(s.name)))
        return;
    GElf_Shdr section;
    if (!gelf_getshdr(elf_getscn(elf, sym->st_shndx), &section) ||
        !(section.sh_flags & SHF_EXECINSTR) || sym->st_value - section.sh_addr >= section.sh_size)
        return;
    uint64_t section_end = section.sh_addr + section.sh_size;
    if (s.open || s.end > section_end)
        s.end = section_end;
    s.rank = rank_of(sym->st_info, s.name);
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
            add_symbol(t, elf, &sym, table->sh_link);
    }
}

static void add_stub(void *ctx, uint64_t start, uint64_t len, const char *name)
{
    struct symbol s = {
        .start = start, .end = start + len, .name = name, .rank = UINT32_MAX, .plt = true};
    append(ctx, &s);
}

struct symtab *symtab_new(const uint64_t *wanted, size_t n)
{
    struct symtab *t = xcalloc(1, sizeof *t);
    t->wanted = wanted;
    t->n_wanted = n;
    t->last_starts = xcalloc(n, sizeof *t->last_starts);
    return t;
}

static void add_source(struct symtab *t, struct source source)
{
    t->sources =
        array_reserve(t->sources, &t->sources_capacity, t->n_sources + 1, sizeof *t->sources);
    t->sources[t->n_sources++] = source;
}

void symtab_add_elf(struct symtab *t, Elf *elf)
{
    add_source(t, (struct source){.elf = elf});
    plt_each_stub(elf, add_stub, &t->stubs);
}

/* A file has one of each at most (gABI, "Sections"). */
static void read_elf(struct symtab *t, Elf *elf)
{
    bool symtab = false;
    bool dynsym = false;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header))
            continue;
        bool *seen = header.sh_type == SHT_SYMTAB ? &symtab : &dynsym;
        if ((header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) || *seen)
            continue;
        *seen = true;
        add_table(t, elf, scn, &header);
    }
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
    if (matters(e->table, &s))
        add(e->table, &s);
}

void symtab_add_exported(struct symtab *t, struct elf_file *file)
{
    add_source(t, (struct source){.file = file});
}

/* One pass over all symbols there are. */
static void read_all(struct symtab *t)
{
    for (size_t i = 0; i < t->n_sources; i++) {
        struct exported e = {t, t->sources[i].file};
        if (e.file)
            elf_file_each_exported(e.file, add_exported, &e);
        else
            read_elf(t, t->sources[i].elf);
    }
    for (size_t i = 0; i < t->stubs.n; i++)
        if (matters(t, &t->stubs.items[i]))
            add(t, &t->stubs.items[i]);
}

static void read_wanted(struct symtab *t)
{
    read_all(t);
    for (size_t i = 1; i < t->n_wanted; i++)
        if (t->last_starts[i] < t->last_starts[i - 1])
            t->last_starts[i] = t->last_starts[i - 1];
    t->keeping = true;
    read_all(t);
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
static void close_open(struct symbols *all)
{
    for (size_t i = 0; i + 1 < all->n; i++) {
        struct symbol *s = &all->items[i];
        if (s->open && s->end > s[1].start)
            s->end = s[1].start;
    }
}

void symtab_finish(struct symtab *t)
{
    if (t->wanted)
        read_wanted(t);
    else
        read_all(t);
    if (!t->kept.n)
        return;
    qsort(t->kept.items, t->kept.n, sizeof *t->kept.items, by_start);
    close_open(&t->kept);
    uint64_t covered = 0; /* by symbols with a size: a label inside a function is no function */
    for (size_t i = 0; i < t->kept.n; i++) {
        const struct symbol *s = &t->kept.items[i];
        if (s->open && s->start < covered)
            continue;
        if (!s->open && s->end > covered)
            covered = s->end;
        (void)ranges_add(&t->ranges, s->start, s->end, (uint32_t)i);
    }
    ranges_finish(&t->ranges);
}

bool symtab_find(const struct symtab *t, uint64_t elf_addr, uint64_t function, struct text *out,
                 bool *ret_exported)
{
    uint32_t i = ranges_find(&t->ranges, elf_addr);
    if (i == RANGES_NONE || (t->kept.items[i].open && t->kept.items[i].start < function))
        return false;
    text_clear(out);
    text_add(out, t->kept.items[i].name);
    if (t->kept.items[i].plt)
        text_add(out, "@plt");
    *ret_exported = t->kept.items[i].exported;
    return true;
}

struct symtab *symtab_free(struct symtab *t)
{
    if (!t)
        return NULL;
    ranges_release(&t->ranges);
    free(t->kept.items);
    free(t->stubs.items);
    free(t->sources);
    free(t->last_starts);
    free(t);
    return NULL;
}
