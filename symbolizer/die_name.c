#include "symbolizer/die_name.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "symbolizer/demangle.h"

enum {
    MAX_ORIGINS =
        16, /* abstract origins and specifications in a row: two suffice for gcc and clang */
    MAX_SOURCE_PATH_BYTES = 4096,
    MAX_SCOPES = 64,
    MAX_LOCAL_DEPTH = 8, /* functions local to classes local to functions … */
    MAX_LOOKED_AT =
        1 << 26, /* DIEs of a file, for what is around others: some seconds; then names stay bare */
};

struct die_names {
    struct profile *profile;
    struct map by_origin; /* address of the outermost origin's bytes → item */
    struct map at_top;    /* the same addresses, of those that are children of their units */
    struct die_name *items;
    size_t n, capacity;
    struct map paths; /* address of libdw's string → string id */
    struct text text;
    size_t looked_at;
};

struct die_names *die_names_new(struct profile *profile)
{
    struct die_names *n = xcalloc(1, sizeof *n);
    n->profile = profile;
    return n;
}

/* Drops the last component of TEXT[0 … LEN), if it is one that ".." undoes.  Returns what is left.
 */
static size_t parent_length(const char *s, size_t len)
{
    size_t at = len;
    while (at && s[at - 1] != '/')
        at--;
    bool is_dots = len - at == 2 && memcmp(s + at, "..", 2) == 0;
    if (len == at || is_dots)
        return SIZE_MAX;
    return at ? at - 1 : 0;
}

static void normalize(const char *path, struct text *out)
{
    text_clear(out);
    if (*path == '/')
        text_add(out, "/");
    size_t root = out->len;
    for (const char *s = path; *s;) {
        size_t len = strcspn(s, "/");
        bool up = len == 2 && memcmp(s, "..", 2) == 0;
        size_t parent = up && out->len > root ? parent_length(out->s, out->len) : SIZE_MAX;
        if (parent != SIZE_MAX) {
            out->len = parent < root ? root : parent;
            out->s[out->len] = '\0';
        } else if (len && !(len == 1 && *s == '.')) {
            if (out->len > root)
                text_add(out, "/");
            text_add_bytes(out, s, len);
        }
        s += len + (s[len] == '/');
    }
}

/* Does PATH begin with the folder DIR?  libdw puts the unit's folder before files of DWARF 5's
 * folder 0. */
static bool is_within(const char *path, const char *dir)
{
    return str_starts(path, dir) && path[strlen(dir)] == '/';
}

string_id die_names_path(struct die_names *n, Dwarf_Die *unit, const char *path)
{
    uint64_t id;
    if (!path || !*path || strlen(path) > MAX_SOURCE_PATH_BYTES)
        return (string_id){0};
    if (map_get(&n->paths, (uintptr_t)path, &id))
        return (string_id){(uint32_t)id};
    Dwarf_Attribute attr;
    const char *dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
    struct text whole = {0};
    bool joins = dir && *path != '/' && strlen(dir) <= MAX_SOURCE_PATH_BYTES;
    if (joins && !is_within(path, dir))
        text_addf(&whole, "%s/", dir);
    text_add(&whole, path);
    normalize(whole.s, &n->text);
    text_release(&whole);
    string_id string = profile_string(n->profile, n->text.s);
    map_put(&n->paths, (uintptr_t)path, string.ix);
    return string;
}

/* The file that attribute NAME of DIE, or of what DIE is an instance of, says. */
static string_id file_of(struct die_names *n, Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    Dwarf_Word number;
    Dwarf_Die unit;
    Dwarf_Files *files;
    if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &number) != 0 ||
        !dwarf_cu_die(attr.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
        dwarf_getsrcfiles(&unit, &files, NULL) != 0)
        return (string_id){0};
    return die_names_path(n, &unit, dwarf_filesrc(files, number, NULL, NULL));
}

static uint32_t line_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    Dwarf_Word line;
    if (dwarf_formudata(dwarf_attr_integrate(die, name, &attr), &line) != 0 || line > INT32_MAX)
        return 0;
    return (uint32_t)line;
}

/* The DIE that DIE is an instance or the definition of; itself if of none. */
static Dwarf_Die origin_of(Dwarf_Die *die)
{
    Dwarf_Die at = *die;
    for (int i = 0; i < MAX_ORIGINS; i++) {
        Dwarf_Attribute attr;
        Dwarf_Die next;
        if ((!dwarf_attr(&at, DW_AT_abstract_origin, &attr) &&
             !dwarf_attr(&at, DW_AT_specification, &attr)) ||
            !dwarf_formref_die(&attr, &next))
            break;
        at = next;
    }
    return at;
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) &&
        !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
        return NULL;
    return dwarf_formstring(&attr);
}

/* A class without a name is a lambda's, or was never given one; libiberty's words for both. */
static void add_scope(Dwarf_Die *scope, const char *member, struct text *out)
{
    int tag = dwarf_tag(scope);
    const char *name = dwarf_diename(scope);
    if (!name)
        name = tag == DW_TAG_namespace ? "(anonymous namespace)"
               : str_starts(member, "operator()")
                   ? "{lambda}" /* of a generic one operator()<int> */
                   : "{unnamed type}";
    text_addf(out, "%.*s::", MAX_SHOWN_NAME_BYTES, name);
}

static bool is_scope(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
           tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Of the children of PARENT the last that does not lie behind ADDR: ADDR is in it, or is it. */
static bool child_around(struct die_names *names, Dwarf_Die *parent, const void *addr,
                         Dwarf_Die *ret)
{
    Dwarf_Die die;
    if (dwarf_child(parent, &die) != 0)
        return false;
    const void *last = NULL;
    while ((const void *)die.addr > last && (const void *)die.addr <= addr) {
        if (names->looked_at++ >= MAX_LOOKED_AT)
            return false;
        *ret = die;
        last = die.addr;
        if (dwarf_siblingof(&die, &die) != 0)
            break;
    }
    return last != NULL;
}

/* The DIEs around DIE, outermost first, without the unit and itself.  libdw's dwarf_getscopes_die()
 * does not look into unions (0.188). */
static int scopes_of(struct die_names *names, Dwarf_Die *die, Dwarf_Die ret[MAX_SCOPES])
{
    Dwarf_Die at;
    int n = 0;
    if (!dwarf_diecu(die, &at, NULL, NULL))
        return 0;
    while (n < MAX_SCOPES && child_around(names, &at, die->addr, &ret[n]) &&
           ret[n].addr != die->addr)
        at = ret[n++];
    return n;
}

static void add_function(struct die_names *n, Dwarf_Die *die, int depth, struct text *out);

/* The scopes around DIE: namespaces and classes; or the function it is local to, and classes
 * therein. */
static void add_scopes(struct die_names *names, Dwarf_Die *die, const char *member, int depth,
                       struct text *out)
{
    Dwarf_Die scopes[MAX_SCOPES];
    uint64_t at_top = 0;
    int n =
        map_get(&names->at_top, (uintptr_t)die->addr, &at_top) ? 0 : scopes_of(names, die, scopes);
    int inner = n;
    while (inner && dwarf_tag(&scopes[inner - 1]) != DW_TAG_subprogram)
        inner--;
    if (inner) {
        add_function(names, &scopes[inner - 1], depth + 1, out);
        text_add(out, "::");
    }
    for (int i = inner; i < n && out->len < MAX_SHOWN_NAME_BYTES; i++)
        if (is_scope(dwarf_tag(&scopes[i])))
            add_scope(&scopes[i], member, out);
}

/* Adds the whole name of the function DIE; nothing if it has none. */
static void add_function(struct die_names *n, Dwarf_Die *die, int depth, struct text *out)
{
    const char *linkage = linkage_name(die);
    const char *name = linkage ? linkage : dwarf_diename(die);
    if (!name)
        return;
    struct text shown = {0};
    demangle(name, &shown);
    /* "f._omp_fn.0" lies inside f, and says so. */
    if (!linkage && !strchr(name, '.') && depth < MAX_LOCAL_DEPTH) {
        Dwarf_Die origin = origin_of(die);
        add_scopes(n, &origin, name, depth, out);
    }
    text_add(out, shown.s);
    text_release(&shown);
}

static string_id function_name(struct die_names *n, Dwarf_Die *die)
{
    text_clear(&n->text);
    add_function(n, die, 0, &n->text);
    if (!n->text.len)
        return (string_id){0};
    shown_name_cut(&n->text);
    return profile_string(n->profile, n->text.s);
}

void die_names_at_top(struct die_names *n, const Dwarf_Die *die)
{
    map_put(&n->at_top, (uintptr_t)die->addr, 1);
}

const struct die_name *die_names_get(struct die_names *n, Dwarf_Die *die)
{
    Dwarf_Die origin = origin_of(die);
    uint64_t item;
    if (map_get(&n->by_origin, (uintptr_t)origin.addr, &item))
        return &n->items[item];
    struct die_name name = {.function = function_name(n, die),
                            .file = file_of(n, die, DW_AT_decl_file),
                            .line = line_of(die, DW_AT_decl_line),
                            .origin = (uintptr_t)origin.addr};
    n->items = array_reserve(n->items, &n->capacity, n->n + 1, sizeof *n->items);
    map_put(&n->by_origin, (uintptr_t)origin.addr, n->n);
    n->items[n->n] = name;
    return &n->items[n->n++];
}

void die_names_call_site(struct die_names *n, Dwarf_Die *die, string_id *ret_file,
                         uint32_t *ret_line)
{
    *ret_file = file_of(n, die, DW_AT_call_file);
    *ret_line = line_of(die, DW_AT_call_line);
}

struct die_names *die_names_free(struct die_names *n)
{
    if (!n)
        return NULL;
    map_release(&n->by_origin);
    map_release(&n->paths);
    map_release(&n->at_top);
    text_release(&n->text);
    free(n->items);
    free(n);
    return NULL;
}
