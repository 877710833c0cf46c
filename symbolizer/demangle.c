/* libiberty does the work: it makes a tree of a C++ name, from which we take parameters and return
 * types before it is printed.  The tree is exact, where a cut of the printed text would have to
 * guess (operator(), function types among template arguments, conversion operators). libiberty
 * bounds its depth; its output may grow exponentially with the name (substitutions), so printing is
 * left by longjmp once enough was printed, and while the printer holds no memory. */
#include "symbolizer/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbolizer/cython_name.h"
#include "symbolizer/rust_v0.h"

enum {
    /* Longer names are shown as they are.  The parser recurses once per byte at worst: at most 400
     * kB of stack for this many (test_demangle passes with 400 kB in all). */
    MAX_MANGLED_BYTES = 4096,
    MAX_NAME_BYTES = 1 << 16, /* a longer name is only cut */
    MAX_SPINE = 128,          /* qualifiers and scopes of one name that are simplified */
    MAX_VISITS = 4096,        /* of nodes; as many as MAX_MANGLED_BYTES make */
    MAX_WAYS = 1 << 16,       /* those of 330,000 names of libraries are 1,259 at most */
    MAX_REFERENCES = 16,      /* each may double the ways */
    /* Without DMGL_PARAMS the types of the outermost function are not even parsed, which saves the
     * names whose return type is more than libiberty understands. */
    CXX_OPTIONS = DMGL_ANSI,
};

struct sink {
    struct text *out;
    jmp_buf full;
};

static void collect(const char *s, size_t len, void *opaque)
{
    struct sink *sink = opaque;
    text_add_bytes(sink->out, s, len);
    if (sink->out->len > MAX_SHOWN_NAME_BYTES)
        longjmp(sink->full, 1);
}

/* Is TAGGED's tag worth showing?  Those of numba (a version and a hash of its options) and of
 * libc++ (its version) distinguish builds, not functions. */
static bool tag_says_something(const struct demangle_component *tagged)
{
    static const char cxx11[] = "cxx11";
    const struct demangle_component *tag = tagged->u.s_binary.right;
    return tag && tag->type == DEMANGLE_COMPONENT_NAME &&
           (size_t)tag->u.s_name.len == strlen(cxx11) &&
           memcmp(tag->u.s_name.s, cxx11, strlen(cxx11)) == 0;
}

/* Takes the types off the functions along the spine of a name: off it itself and off the scopes
 * that it is local to.  Types elsewhere (template arguments, a lambda's own parameters) stay.
 * Scopes share nodes, so that a short name may have 2^60 ways through it: VISITS counts them. */
static struct demangle_component *simplify(struct demangle_component *dc, int depth, int *visits)
{
    if (!dc || depth > MAX_SPINE || ++*visits > MAX_VISITS)
        return dc;
    switch ((int)dc->type) {
    case DEMANGLE_COMPONENT_TYPED_NAME:
    case DEMANGLE_COMPONENT_RESTRICT_THIS:
    case DEMANGLE_COMPONENT_VOLATILE_THIS:
    case DEMANGLE_COMPONENT_CONST_THIS:
    case DEMANGLE_COMPONENT_REFERENCE_THIS:
    case DEMANGLE_COMPONENT_RVALUE_REFERENCE_THIS:
    case DEMANGLE_COMPONENT_TRANSACTION_SAFE:
    case DEMANGLE_COMPONENT_NOEXCEPT:
    case DEMANGLE_COMPONENT_THROW_SPEC:
        return simplify(dc->u.s_binary.left, depth + 1, visits);
    case DEMANGLE_COMPONENT_LOCAL_NAME:
    case DEMANGLE_COMPONENT_QUAL_NAME:
        dc->u.s_binary.right = simplify(dc->u.s_binary.right, depth + 1, visits);
        dc->u.s_binary.left = simplify(dc->u.s_binary.left, depth + 1, visits);
        return dc;
    case DEMANGLE_COMPONENT_TAGGED_NAME:
        if (!tag_says_something(dc))
            return simplify(dc->u.s_binary.left, depth + 1, visits);
        dc->u.s_binary.left = simplify(dc->u.s_binary.left, depth + 1, visits);
        return dc;
    case DEMANGLE_COMPONENT_TEMPLATE:
    case DEMANGLE_COMPONENT_THUNK:
    case DEMANGLE_COMPONENT_VIRTUAL_THUNK:
    case DEMANGLE_COMPONENT_COVARIANT_THUNK:
    case DEMANGLE_COMPONENT_GUARD:
    case DEMANGLE_COMPONENT_TLS_INIT:
    case DEMANGLE_COMPONENT_TLS_WRAPPER:
    case DEMANGLE_COMPONENT_REFTEMP:
    case DEMANGLE_COMPONENT_HIDDEN_ALIAS:
    case DEMANGLE_COMPONENT_TRANSACTION_CLONE:
    case DEMANGLE_COMPONENT_NONTRANSACTION_CLONE:
        dc->u.s_binary.left = simplify(dc->u.s_binary.left, depth + 1, visits);
        return dc;
    default:
        return dc;
    }
}

static bool print_tree(struct demangle_component *tree, struct text *out)
{
    struct sink sink = {.out = out};
    if (setjmp(sink.full))
        return true;
    return cplus_demangle_print_callback(CXX_OPTIONS, tree, collect, &sink) != 0;
}

/* With all that a tree is simplified by. */
static bool demangle_as_it_is(const char *name, struct text *out)
{
    struct sink sink = {.out = out};
    if (setjmp(sink.full))
        return true;
    return cplus_demangle_v3_callback(name, CXX_OPTIONS, collect, &sink) != 0;
}

/* Counts the ways from DC to each node below it, to MAX_WAYS at most.  What has no children is as
 * in d_find_pack() of libiberty's cp-demangle.c. */
static void count_ways(const struct demangle_component *dc, int *ways)
{
    while (dc && ++*ways <= MAX_WAYS)
        switch ((int)dc->type) {
        case DEMANGLE_COMPONENT_NAME:
        case DEMANGLE_COMPONENT_OPERATOR:
        case DEMANGLE_COMPONENT_BUILTIN_TYPE:
        case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
        case DEMANGLE_COMPONENT_SUB_STD:
        case DEMANGLE_COMPONENT_CHARACTER:
        case DEMANGLE_COMPONENT_NUMBER:
        case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
        case DEMANGLE_COMPONENT_FUNCTION_PARAM:
        case DEMANGLE_COMPONENT_UNNAMED_TYPE:
            return;
        case DEMANGLE_COMPONENT_LAMBDA:
        case DEMANGLE_COMPONENT_DEFAULT_ARG:
            dc = dc->u.s_unary_num.sub;
            break;
        case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
            dc = dc->u.s_extended_operator.name;
            break;
        case DEMANGLE_COMPONENT_CTOR:
            dc = dc->u.s_ctor.name;
            break;
        case DEMANGLE_COMPONENT_DTOR:
            dc = dc->u.s_dtor.name;
            break;
        case DEMANGLE_COMPONENT_FIXED_TYPE:
            dc = dc->u.s_fixed.length;
            break;
        default:
            count_ways(dc->u.s_binary.left, ways);
            dc = dc->u.s_binary.right;
        }
}

/* How often NAME refers to what stands before in it, at most. */
static int count_references(const char *name)
{
    int n = 0;
    for (; *name; name++)
        n += name[0] == 'S' && name[1] && strchr("_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", name[1]);
    return n;
}

/* May libiberty look for a parameter pack for years?  It walks the pattern of each expansion, and
 * of each sizeof...(), by all ways through it, and prints nothing meanwhile.  TREE: NAME's; NULL:
 * it has none. */
static bool is_endless(const char *name, const struct demangle_component *tree)
{
    int ways = 0;
    if (!strstr(name, "Dp") && !strstr(name, "sZ"))
        return false;
    if (!tree)
        return count_references(name) > MAX_REFERENCES;
    count_ways(tree, &ways);
    return ways > MAX_WAYS;
}

/* Names in template arguments ("sr") are spelled in an older and in a newer way.  Which of them
 * cplus_demangle_v3_components() takes depends on a variable that libiberty 2.40 does not set
 * (unresolved_name_state); the other function tries both. */
static bool demangle_cxx(const char *name, struct text *out)
{
    void *memory = NULL;
    struct demangle_component *tree = cplus_demangle_v3_components(name, CXX_OPTIONS, &memory);
    int visits = 0;
    bool endless = is_endless(name, tree);
    bool ok = tree && !endless && print_tree(simplify(tree, 0, &visits), out);
    free(memory);
    if (ok || endless)
        return ok;
    text_clear(out);
    return demangle_as_it_is(name, out);
}

/* An identifier that is not all ASCII.  The demangler decodes it into memory, prints it and
 * frees that memory. */
static bool is_decoded(const char *s, size_t len)
{
    size_t i = 0;
    while (i < len && !((unsigned char)s[i] & 0x80))
        i++;
    return i < len;
}

static void collect_rust(const char *s, size_t len, void *opaque)
{
    struct sink *sink = opaque;
    if (!is_decoded(s, len))
        collect(s, len, opaque);
    else if (sink->out->len <= MAX_SHOWN_NAME_BYTES)
        text_add_bytes(sink->out, s, len);
}

static bool demangle_rust(const char *name, struct text *out)
{
    struct sink sink = {.out = out};
    if (setjmp(sink.full))
        return true;
    return rust_demangle_callback(name, DMGL_NO_OPTS, collect_rust, &sink) != 0;
}

/* Bytes of NAME before what linker and optimiser appended.  Rust's older names may hold dots
 * themselves; they end in a hash: "17h", 16 hex digits, "E". */
static size_t core_length(const char *name)
{
    enum { HASH_BYTES = 3 + 16 };
    for (const char *h = name; (h = strstr(h, "17h")); h++)
        if (strspn(h + 3, "0123456789abcdef") == 16 && h[HASH_BYTES] == 'E')
            return (size_t)(h - name) + HASH_BYTES + 1;
    return *name ? 1 + strcspn(name + 1, ".@") : 0;
}

/* Bytes of the version at S: one, two or three '@', and a name that ends the symbol's; 0: none.
 * Crystal's names have other things behind an '@': "*Array(Int32)@Indexable(T)#each:Nil". */
static size_t version_length(const char *s)
{
    static const char version[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    size_t at = strspn(s, "@");
    size_t len = strspn(s + at, version);
    return at && at <= 3 && len && !s[at + len] && !str_eq(s, "@plt") ? at + len : 0;
}

/* Bytes at S that only tell renamings apart; 0: none. */
static size_t noise_length(const char *s)
{
    static const char digits[] = "0123456789";
    static const char *const renamings[] = {".llvm.", ".lto_priv."};
    if (*s == '@')
        return version_length(s);
    for (size_t i = 0; i < sizeof renamings / sizeof *renamings; i++) {
        size_t len = strlen(renamings[i]);
        if (str_starts(s, renamings[i]) && strspn(s + len, digits) > 0)
            return len + strspn(s + len, digits);
    }
    return 0;
}

static void add_suffix(const char *s, struct text *out)
{
    while (*s && out->len <= MAX_SHOWN_NAME_BYTES) {
        s += noise_length(s);
        size_t len = *s ? 1 + strcspn(s + 1, ".@") : 0;
        text_add_bytes(out, s, len);
        s += len;
    }
}

void shown_name_cut(struct text *t)
{
    static const char more[] = "…";
    if (t->len <= MAX_SHOWN_NAME_BYTES)
        return;
    t->len = MAX_SHOWN_NAME_BYTES - strlen(more);
    while (t->len && ((unsigned char)t->s[t->len] & 0xC0) == 0x80)
        t->len--;
    text_add(t, more);
}

static bool demangle_core(const char *name, size_t len, struct text *out)
{
    bool v0 = str_starts(name, "_R");
    if (str_starts(name, "__pyx_"))
        return cython_name_add(name, len, out);
    if ((!v0 && !str_starts(name, "_Z")) || len > MAX_MANGLED_BYTES)
        return false;
    char core[MAX_MANGLED_BYTES + 1];
    memcpy(core, name, len);
    core[len] = '\0';
    if (v0)
        return rust_v0_is_sound(core) && demangle_rust(core, out);
    if (demangle_rust(core, out))
        return true;
    text_clear(out);
    return demangle_cxx(core, out);
}

void demangle(const char *name, struct text *out)
{
    text_clear(out);
    if (strnlen(name, MAX_NAME_BYTES) == MAX_NAME_BYTES) {
        text_add_bytes(out, name, MAX_NAME_BYTES);
        shown_name_cut(out);
        return;
    }
    size_t len = core_length(name);
    if (!demangle_core(name, len, out)) {
        text_clear(out);
        text_add_bytes(out, name, len);
    }
    add_suffix(name + len, out);
    shown_name_cut(out);
}
