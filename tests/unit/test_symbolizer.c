/* The names of every instruction of small programs, which symbols/build.sh builds in many ways,
 * against addr2line.  Differences are allowed only where test and comment name the reason. */
#include "symbolizer/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbolizer/demangle.h"
#include "symbolizer/dwarf_names.h"
#include "tests/support/check_main.h"
#include "tests/support/symbol_names.h"

/* ---- what addr2line says ---- */

struct place {
    char *function, *file;
    uint32_t line;
};

struct expectation {
    FILE *stream;
    char *line; /* read ahead */
    size_t line_bytes;
    uint64_t addr;
    struct place places[MAX_INLINED + 1];
    size_t n;
};

static bool next_line(struct expectation *e)
{
    ssize_t len = getline(&e->line, &e->line_bytes, e->stream);
    if (len <= 0)
        return false;
    e->line[strcspn(e->line, "\n")] = '\0';
    return true;
}

static bool expectation_open(struct expectation *e, const char *variant)
{
    char *name = xasprintf("%s.expected", variant);
    char *path = variant_path(name);
    *e = (struct expectation){.stream = fopen(path, "r")};
    free(path);
    free(name);
    return e->stream && next_line(e);
}

static void forget_places(struct expectation *e)
{
    for (; e->n; e->n--) {
        free(e->places[e->n - 1].function);
        free(e->places[e->n - 1].file);
    }
}

/* "FILE:LINE", "FILE:LINE (discriminator N)", "FILE:?", "??:0" */
static void parse_place(char *s, struct place *ret)
{
    char *colon = strrchr(s, ':');
    ck_assert_ptr_nonnull(colon);
    *colon = '\0';
    ret->file = xstrdup(path_base(s));
    uint64_t line = 0;
    (void)parse_u64(colon + 1, colon + strlen(colon + 1) + 1, 10, &line);
    ret->line = (uint32_t)line;
}

/* Blocks: the address, then function and place by turns. */
static bool expectation_next(struct expectation *e)
{
    forget_places(e);
    if (feof(e->stream) || !str_starts(e->line, "0x"))
        return false;
    (void)parse_u64(e->line + 2, e->line + strlen(e->line), 16, &e->addr);
    struct text shown = {0};
    while (next_line(e) && !str_starts(e->line, "0x")) {
        ck_assert_uint_le(e->n, MAX_INLINED);
        struct place *p = &e->places[e->n++];
        demangle(e->line, &shown);
        p->function = xstrdup(shown.s);
        ck_assert(next_line(e));
        parse_place(e->line, p);
    }
    text_release(&shown);
    return true;
}

static void expectation_close(struct expectation *e)
{
    forget_places(e);
    free(e->line);
    if (e->stream)
        fclose(e->stream);
}

/* ---- comparison ---- */

struct tally {
    size_t all, same, plt, aliases, outer_names, other;
};

/* NAME without template arguments (the compiler's text differs from the demangler's: "long int",
 * "long") and what stands for a part or variant of the function. */
static void core_of(const char *name, struct text *out)
{
    int depth = 0;
    text_clear(out);
    for (const char *s = name; *s; s++) {
        bool is_operator = s >= name + 8 && memcmp(s - 8, "operator", 8) == 0;
        if (*s == '<' && !is_operator)
            depth++;
        if (!depth)
            text_add_bytes(out, s, 1);
        if (str_starts(s, "a(") && out->len > 7 && str_ends(out->s, "{lambda"))
            s += strcspn(s, "}") - 1; /* "{lambda(int)#1}" */
        if (*s == '>' && depth)
            depth--;
    }
    static const char *const parts[] = {".cold", ".constprop", ".part", ".isra"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *at = out->len ? strstr(out->s, parts[i]) : NULL;
        if (at)
            *at = '\0';
    }
}

/* addr2line does not qualify names that have no linkage name: WANTED may be the end of NAME. */
static bool same_function(const char *name, const char *wanted)
{
    struct text a = {0};
    struct text b = {0};
    core_of(name, &a);
    core_of(wanted, &b);
    bool same = a.s && b.s && str_ends(a.s, b.s);
    text_release(&a);
    text_release(&b);
    return same;
}

/* With some of gcc's DWARF 5, binutils 2.40 takes the unit's first file for all; elfutils does
 * not. */
static bool is_wrong_file(const struct place *p)
{
    enum { LINES_OF_SHAPES = 110 };
    return str_eq(p->file, "<artificial>") ||
           (str_eq(p->file, "shapes.cc") && p->line > LINES_OF_SHAPES);
}

static bool same_place(const struct names *n, const struct location *l, const struct place *p)
{
    if (!p->line) /* addr2line then gives a STT_FILE symbol, or the file of a line 0 */
        return !l->line;
    return l->line == p->line &&
           (is_wrong_file(p) || str_eq(path_base(profile_text(n->profile, l->file)), p->file));
}

/* For inlined calls, binutils sometimes gives the name of the function into which all is
 * inlined.  That counts as the same, and sets RET_OUTER. */
static bool same_names(const struct names *n, const struct location *l, const struct expectation *e,
                       bool *ret_outer)
{
    const char *outer = e->places[e->n - 1].function;
    *ret_outer = false;
    for (size_t i = 0; i < e->n; i++) {
        const char *wanted = e->places[i].function;
        if (same_function(profile_text(n->profile, l[i].function), wanted))
            continue;
        if (i + 1 == e->n || !same_function(wanted, outer))
            return false;
        *ret_outer = true;
    }
    return true;
}

/* Of functions that gcc split and put together again, addr2line also gives the call of the part.
 * It is left out while more frames are expected than FOUND. */
static void join_split(struct expectation *e, size_t found)
{
    for (size_t i = 0; i + 1 < e->n && e->n > found;) {
        struct place *outer = &e->places[i + 1];
        if (!str_eq(e->places[i].function, outer->function)) {
            i++;
            continue;
        }
        free(outer->function);
        free(outer->file);
        e->n--;
        memmove(outer, outer + 1, (e->n - i - 1) * sizeof *outer);
    }
}

static bool is_alias(const char *name)
{
    return strstr(name, "_name") || strstr(name, "aliased");
}

static void compare(struct names *n, struct expectation *e, struct tally *t)
{
    struct location l[MAX_INLINED + 1];
    size_t found = module_names_find(n->names, e->addr, 0, l);
    join_split(e, found);
    const char *first = found ? profile_text(n->profile, l[0].function) : "??";
    bool places = found == e->n;
    for (size_t i = 0; i < found && places; i++)
        places = same_place(n, &l[i], &e->places[i]) && l[i].inlined == (i + 1 < found);
    t->all++;
    bool nothing = !found && e->n == 1 && str_eq(e->places[0].function, "??");
    bool outer = false;
    bool names = places && same_names(n, l, e, &outer);
    if (nothing || (names && !outer))
        t->same++;
    else if (names)
        t->outer_names++;
    else if (str_ends(first, "@plt") && str_eq(e->places[0].function, "??"))
        t->plt++; /* binutils 2.40 does not name stubs */
    else if (places && is_alias(first) && is_alias(e->places[0].function))
        t->aliases++;
    else if (t->other++ < 5)
        printf("# 0x%" PRIx64 ": %s, not %s:%u %s (%zu, not %zu)\n", e->addr, first,
               e->places[0].file, e->places[0].line, e->places[0].function, found, e->n);
}

/* VARIANT against what addr2line says of ORACLE, whose code is the same. */
static struct tally compare_all(const char *variant, const char *oracle)
{
    struct names n;
    struct expectation e;
    struct tally t = {0};
    if (names_open(&n, variant) && expectation_open(&e, oracle)) {
        while (expectation_next(&e))
            compare(&n, &e, &t);
        expectation_close(&e);
        names_close(&n);
    }
    printf("# %s: %zu instructions, %zu same, %zu stubs, %zu aliases, %zu outer names, %zu other\n",
           variant, t.all, t.same, t.plt, t.aliases, t.outer_names, t.other);
    return t;
}

static const struct {
    const char *variant, *oracle;
    bool optional;
} variants[] = {
    {"dwarf5", "dwarf5", false},
    {"dwarf4", "dwarf4", false},
    {"debug", "debug", false},
    {"lto", "lto", false},
    {"symbols", "symbols", false},
    {"split", "dwarf5", false}, /* binutils 2.40 does not read split DWARF 5 */
    {"linked", "dwarf5", false},
    {"linked_dir", "dwarf4", false},
    {"linked_crc", "dwarf5", false},
    {"mini", "symbols", true},
    {"packed", "dwarf5", false},
    {"clang4", "clang4", true},
    {"clang", "clang4", true}, /* binutils 2.40 loses clang's inlined calls in DWARF 5 */
};

START_TEST(all_variants_agree_with_addr2line)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct tally t = compare_all(variants[i].variant, variants[i].oracle);
        if (variants[i].optional && !t.all)
            continue;
        ck_assert_uint_gt(t.all, 500);
        ck_assert_uint_eq(t.other, 0);
        ck_assert_uint_gt(t.same * 10, t.all * 8);
    }
}
END_TEST

/* Where gcc can do OpenMP. */
START_TEST(functions_inside_functions_are_found)
{
    struct tally t = compare_all("parallel", "parallel");
    ck_assert(!t.all || t.all > 250);
    ck_assert_uint_eq(t.other, 0);
    ck_assert_uint_ge(t.same * 10, t.all * 9);
}
END_TEST

/* ---- single names ---- */

static uint64_t symbol_addr(const struct names *n, const char *name)
{
    struct addr_range r;
    ck_assert_msg(elf_file_symbol(n->file, name, &r) == 0, "%s", name);
    return r.start;
}

static const char *name_at(const struct names *n, uint64_t addr, struct location *ret)
{
    struct location l[MAX_INLINED + 1];
    size_t found = module_names_find(n->names, addr, 0, l);
    if (!found)
        return "none";
    *ret = l[found - 1];
    return profile_text(n->profile, ret->function);
}

START_TEST(functions_know_where_they_start)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "dwarf5"));
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "plain_c"), &l), "plain_c");
    ck_assert(str_ends(profile_text(n.profile, l.file), "/plain.c"));
    ck_assert_uint_eq(l.function_line, 28);
    ck_assert_uint_ge(l.line, 28);
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "_ZNK3geo5ShapeIdEltERKS1_"), &l),
                     "geo::Shape<double>::operator<");
    ck_assert_uint_eq(l.function_line, 40);
    names_close(&n);
}
END_TEST

START_TEST(assembly_reaches_to_the_next_symbol)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "symbols"));
    uint64_t entry = symbol_addr(&n, "asm_entry");
    uint64_t next = symbol_addr(&n, "asm_next");
    uint64_t sized = symbol_addr(&n, "sized");
    uint64_t inner = symbol_addr(&n, "inner_label");
    ck_assert_str_eq(name_at(&n, entry, &l), "asm_entry");
    ck_assert_str_eq(name_at(&n, next - 1, &l), "asm_entry");
    ck_assert_str_eq(name_at(&n, next, &l), "asm_next");
    ck_assert_str_eq(name_at(&n, sized - 1, &l), "asm_next");
    ck_assert_str_eq(name_at(&n, inner, &l), "sized");
    ck_assert_str_eq(name_at(&n, inner + 1, &l), "none");
    names_close(&n);
}
END_TEST

START_TEST(exported_aliases_come_first)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "symbols"));
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "local_name"), &l), "aliased");
    names_close(&n);
}
END_TEST

START_TEST(exported_names_come_before_hidden_ones)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "dwarf5"));
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "public_name"), &l), "public_name");
    ck_assert(str_ends(profile_text(n.profile, l.file), "/plain.c"));
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "__GI___inner_name"), &l), "__inner_name");
    names_close(&n);
}
END_TEST

START_TEST(a_debug_file_that_does_not_belong_is_left)
{
    struct names n;
    struct location l;
    ck_assert(names_open(&n, "linked_wrong"));
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "plain_c"), &l), "plain_c");
    ck_assert_uint_eq(l.file.ix, 0);
    names_close(&n);
}
END_TEST

/* libc as it is in memory, without section headers: the names of its exported functions. */
START_TEST(images_from_memory_have_exported_names)
{
    struct mem *mem;
    struct location l;
    struct names n = {.profile = profile_new(0), .search = debug_search_new(getpid())};
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    struct modules *modules = modules_new(getpid(), mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    const struct module *libc = modules_find(modules, (uintptr_t)printf);
    ck_assert_ptr_nonnull(libc);
    ck_assert_int_eq(elf_file_from_memory(&n.file, mem, libc->start, NULL), 0);
    n.names = module_names_open(n.file, "", n.search, n.profile);
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "printf") + 1, &l), "printf");
    ck_assert_str_eq(name_at(&n, symbol_addr(&n, "qsort"), &l), "qsort");
    names_close(&n);
    modules_free(modules);
    mem_free(mem);
}
END_TEST

CHECK_MAIN("symbolizer", 40, all_variants_agree_with_addr2line,
           functions_inside_functions_are_found, functions_know_where_they_start,
           assembly_reaches_to_the_next_symbol, exported_aliases_come_first,
           exported_names_come_before_hidden_ones, a_debug_file_that_does_not_belong_is_left,
           images_from_memory_have_exported_names)
