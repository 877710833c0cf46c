/* Three levels, each filled on first use: units by address (of the file), functions by address (of
 * a unit), inlined calls by address (of a function).  libdw's own ways (.debug_aranges,
 * dwarf_getscopes) are not used: clang writes no .debug_aranges, and the latter walks the whole
 * unit for each address and does not enter namespaces, where clang puts functions. */
#include "symbolizer/dwarf_names.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "symbolizer/die_name.h"
#include "symbolizer/ranges.h"
#include "symbolizer/split_unit.h"

enum {
    MAX_DEPTH = 128,           /* of nested scopes */
    MAX_CALLS = 100000,        /* inlined into one function */
    MAX_DIE_RANGES = 100000,   /* of one function or unit: a guess on the safe side */
    MAX_RANGES_READ = 1 << 24, /* of a file, empty and foreign ones too: 0.2 s */
};
#define NO_PARENT UINT32_MAX

/* DIEs lie in the order in which a walk meets them, children behind their parent.  A DIE that
 * breaks this order is a sibling that points backwards, or at its own children.  A walk that
 * followed it would double at each level. */
struct order {
    const void *last;
};

struct inlined_call { /* an inlined call, or the function itself (no parent) */
    Dwarf_Die die;
    uint32_t parent;
};

struct function {
    Dwarf_Die die;
    struct ranges by_address; /* of calls */
    struct inlined_call *calls;
    size_t n, capacity;
    bool loaded;
};

struct unit {
    Dwarf_Die die;   /* has the line table */
    Dwarf_Die scope; /* has the functions: the same, or the unit in the .dwo file; once loaded */
    struct ranges by_address; /* of functions */
    struct function *functions;
    size_t n, capacity;
    bool loaded;
    bool nested_loaded; /* functions inside functions too */
    bool silent;        /* does not say where its code is */
};

struct dwarf_names {
    Dwarf *dwarf;
    struct die_names *names;
    struct elf_file *code;
    int fd;                   /* of the file that has the DWARF */
    struct ranges by_address; /* of units */
    struct ranges of_silent;  /* filled when an address lies in no other unit */
    bool silent_loaded;
    struct unit *units;
    size_t n, capacity;
    uint32_t ranges_read;
};

/* Adds the code of DIE to RANGES under ITEM.  Where CODE is given, ranges that lie outside it are
 * left out: linkers set the addresses of functions they dropped to 0, 1 or −1. */
static bool add_ranges(struct dwarf_names *d, struct ranges *ranges, Dwarf_Die *die, uint32_t item,
                       struct elf_file *code)
{
    Dwarf_Addr base;
    Dwarf_Addr start;
    Dwarf_Addr end;
    ptrdiff_t at = 0;
    bool any = false;
    for (int i = 0; i < MAX_DIE_RANGES && d->ranges_read < MAX_RANGES_READ; i++) {
        d->ranges_read++;
        at = dwarf_ranges(die, at, &base, &start, &end);
        if (at <= 0)
            break;
        if (code && !elf_file_is_code(code, start))
            continue;
        if (!ranges_add(ranges, start, end, item))
            break;
        any = true;
    }
    return any;
}

/* The first child of PARENT, or the next sibling of DIE, if it lies behind all DIEs met before. */
static bool first_child(struct order *order, Dwarf_Die *parent, Dwarf_Die *ret)
{
    if (dwarf_child(parent, ret) != 0 || (const void *)ret->addr <= order->last)
        return false;
    order->last = ret->addr;
    return true;
}

static bool next_sibling(struct order *order, Dwarf_Die *die)
{
    if (dwarf_siblingof(die, die) != 0 || (const void *)die->addr <= order->last)
        return false;
    order->last = die->addr;
    return true;
}

/* ---- inlined calls of a function ---- */

/* A walk through a function. */
struct calls_walk {
    struct dwarf_names *d;
    struct function *f;
    struct order order;
};

static void add_calls(struct calls_walk *w, Dwarf_Die *parent_die, uint32_t parent, int depth);

static void add_call(struct calls_walk *w, const Dwarf_Die *die, uint32_t parent, int depth)
{
    struct function *f = w->f;
    f->calls = array_reserve(f->calls, &f->capacity, f->n + 1, sizeof *f->calls);
    uint32_t item = (uint32_t)f->n++;
    f->calls[item] = (struct inlined_call){*die, parent};
    Dwarf_Die copy = *die;
    (void)add_ranges(w->d, &f->by_address, &copy, item, NULL);
    add_calls(w, &copy, item, depth);
}

static void add_calls(struct calls_walk *w, Dwarf_Die *parent_die, uint32_t parent, int depth)
{
    Dwarf_Die die;
    if (depth > MAX_DEPTH || !first_child(&w->order, parent_die, &die))
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_inlined_subroutine)
            add_call(w, &die, parent, depth + 1);
        else if (tag == DW_TAG_lexical_block)
            add_calls(w, &die, parent, depth + 1);
    } while (w->f->n < MAX_CALLS && next_sibling(&w->order, &die));
}

static void load_function(struct dwarf_names *d, struct function *f)
{
    if (f->loaded)
        return;
    f->loaded = true;
    struct calls_walk w = {.d = d, .f = f};
    add_call(&w, &f->die, NO_PARENT, 0);
    ranges_finish(&f->by_address);
}

/* ---- functions of a unit ---- */

static bool holds_functions(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: /* Rust's have methods */
        return true;
    default:
        return false;
    }
}

/* A walk through a unit. */
struct functions_walk {
    struct dwarf_names *d;
    struct unit *u;
    struct order order;
    bool nested; /* looks for functions inside functions; the others are known */
};

static void add_function(struct functions_walk *w, Dwarf_Die *die)
{
    struct unit *u = w->u;
    if (!add_ranges(w->d, &u->by_address, die, (uint32_t)u->n, w->d->code))
        return;
    u->functions = array_reserve(u->functions, &u->capacity, u->n + 1, sizeof *u->functions);
    u->functions[u->n++] = (struct function){.die = *die};
}

/* INSIDE: a function. */
static void add_functions(struct functions_walk *w, Dwarf_Die *parent, bool inside, int depth)
{
    Dwarf_Die die;
    if (depth > MAX_DEPTH || !first_child(&w->order, parent, &die))
        return;
    do {
        int tag = dwarf_tag(&die);
        bool function = tag == DW_TAG_subprogram;
        if (function && depth == 0)
            die_names_at_top(w->d->names, &die);
        if (function && inside == w->nested)
            add_function(w, &die);
        if (holds_functions(tag) || (w->nested && (function || tag == DW_TAG_lexical_block)))
            add_functions(w, &die, inside || function, depth + 1);
    } while (next_sibling(&w->order, &die));
}

static void load_unit(struct dwarf_names *d, struct unit *u)
{
    if (u->loaded)
        return;
    u->loaded = true;
    struct functions_walk w = {.d = d, .u = u};
    u->scope = split_unit_of(&u->die, d->fd);
    add_functions(&w, &u->scope, false, 0);
    ranges_finish(&u->by_address);
}

/* gcc puts some functions inside others: the parallel parts of a function (OpenMP), GNU C's
 * nested functions, and what Fortran and Ada call contained functions.  Finding them means
 * reading all of the unit, so it is done only for an address that no other function covers. */
static void load_nested(struct dwarf_names *d, struct unit *u)
{
    if (u->nested_loaded)
        return;
    u->nested_loaded = true;
    struct functions_walk w = {.d = d, .u = u, .nested = true};
    add_functions(&w, &u->scope, false, 0);
    ranges_finish(&u->by_address);
}

/* ---- units of the file ---- */

/* A unit that does not say where its code is has it where its functions are.  Nearly all such
 * units have no code, and finding that out takes as long as reading the unit. */
static void add_silent_unit(struct dwarf_names *d, uint32_t item)
{
    struct unit *u = &d->units[item];
    load_unit(d, u);
    for (size_t i = 0; i < u->by_address.n; i++) {
        const struct range *r = &u->by_address.items[i];
        if (elf_file_is_code(d->code, r->start) &&
            !ranges_add(&d->of_silent, r->start, r->end, item))
            return;
    }
}

static void load_silent_units(struct dwarf_names *d)
{
    if (d->silent_loaded)
        return;
    d->silent_loaded = true;
    for (size_t i = 0; i < d->n; i++)
        if (d->units[i].silent)
            add_silent_unit(d, (uint32_t)i);
    ranges_finish(&d->of_silent);
}

static void add_units(struct dwarf_names *d)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    while (dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
        if (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit)
            continue;
        d->units = array_reserve(d->units, &d->capacity, d->n + 1, sizeof *d->units);
        d->units[d->n] = (struct unit){.die = die};
        d->units[d->n].silent = !add_ranges(d, &d->by_address, &die, (uint32_t)d->n, d->code);
        d->n++;
    }
    ranges_finish(&d->by_address);
}

/* ---- look-up ---- */

/* Fills the innermost location's place from the line table. */
static void set_line(struct dwarf_names *d, struct unit *u, uint64_t elf_addr, struct location *ret)
{
    Dwarf_Line *line = dwarf_getsrc_die(&u->die, elf_addr);
    int number;
    if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
        return;
    ret->file = die_names_path(d->names, &u->die, dwarf_linesrc(line, NULL, NULL));
    ret->line = (uint32_t)number;
}

/* Returns which function it is. */
static uintptr_t set_function(struct dwarf_names *d, Dwarf_Die *die, struct location *ret)
{
    const struct die_name *name = die_names_get(d->names, die);
    ret->function = name->function;
    if (!ret->file.ix)
        ret->file = name->file;
    if (ret->file.ix == name->file.ix)
        ret->function_line = name->line;
    return name->origin;
}

/* gcc takes a part out of a function and, if it is called once, back in: then the function is
 * inlined into itself, as if called at its first line.  One that calls itself does so further down.
 */
static bool is_split(const struct location *outer)
{
    return outer->line && outer->line == outer->function_line;
}

/* Locations of the function F at ELF_ADDR; RET[0]'s place is set already. */
static size_t set_chain(struct dwarf_names *d, struct function *f, uint64_t elf_addr,
                        struct location *ret)
{
    load_function(d, f);
    uint32_t i = ranges_find(&f->by_address, elf_addr);
    size_t n = 0;
    uintptr_t inner = 0;
    while (i != RANGES_NONE) {
        struct inlined_call *call = &f->calls[i];
        uintptr_t function = set_function(d, &call->die, &ret[n]);
        ret[n].inlined = call->parent != NO_PARENT;
        if (function == inner && is_split(&ret[n])) {
            ret[n - 1].inlined = ret[n].inlined;
            ret[n--] = (struct location){0};
        }
        inner = function;
        if (!ret[n++].inlined)
            break;
        i = call->parent;
        /* No room for more: then the outermost call, and who makes it: the function itself, 0. */
        for (; n == MAX_INLINED && i != 0; i = call->parent)
            call = &f->calls[i];
        die_names_call_site(d->names, &call->die, &ret[n].file, &ret[n].line);
    }
    return n;
}

size_t dwarf_names_find(struct dwarf_names *d, uint64_t elf_addr, struct location *ret)
{
    uint32_t unit = ranges_find(&d->by_address, elf_addr);
    if (unit == RANGES_NONE) {
        load_silent_units(d);
        unit = ranges_find(&d->of_silent, elf_addr);
    }
    if (unit == RANGES_NONE)
        return 0;
    struct unit *u = &d->units[unit];
    load_unit(d, u);
    for (size_t i = 0; i <= MAX_INLINED; i++)
        ret[i] = (struct location){0};
    set_line(d, u, elf_addr, &ret[0]);
    uint32_t function = ranges_find(&u->by_address, elf_addr);
    if (function == RANGES_NONE) {
        load_nested(d, u);
        function = ranges_find(&u->by_address, elf_addr);
    }
    if (function != RANGES_NONE)
        return set_chain(d, &u->functions[function], elf_addr, ret);
    return ret[0].line ? 1 : 0;
}

struct dwarf_names *dwarf_names_open(Dwarf *dwarf, int fd, struct elf_file *code,
                                     struct profile *profile)
{
    struct dwarf_names *d = xcalloc(1, sizeof *d);
    d->dwarf = dwarf;
    d->fd = fd;
    d->names = die_names_new(profile);
    d->code = code;
    add_units(d);
    if (!d->by_address.n)
        load_silent_units(d);
    return d->by_address.n || d->of_silent.n ? d : dwarf_names_free(d);
}

struct dwarf_names *dwarf_names_free(struct dwarf_names *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; i < d->n; i++) {
        struct unit *u = &d->units[i];
        for (size_t k = 0; k < u->n; k++) {
            ranges_release(&u->functions[k].by_address);
            free(u->functions[k].calls);
        }
        ranges_release(&u->by_address);
        free(u->functions);
    }
    ranges_release(&d->by_address);
    ranges_release(&d->of_silent);
    free(d->units);
    d->names = die_names_free(d->names);
    free(d);
    return NULL;
}
