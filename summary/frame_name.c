#include "summary/frame_name.h"

#include <string.h>

#include "summary/known.h"
#include "summary/python_module.h"

/* ---- known names ---- */

/* How much of NAME compilers did not append ("run.constprop.0"). */
static size_t length_before_clone(const char *name, size_t len)
{
    static const char *const clones[] = {".constprop", ".isra", ".part", ".cold", ".lto_priv"};
    for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
        const char *clone = strstr(name, clones[i]);
        if (clone && clone > name && (size_t)(clone - name) < len)
            len = (size_t)(clone - name);
    }
    return len;
}

/* How much of NAME is before the arguments of a template, "run<int>", or of a generic function of
 * Rust's, "run::<a::B>". */
static size_t length_before_arguments(const char *name, size_t len)
{
    size_t depth = 0;
    size_t at = len;
    if (!len || name[len - 1] != '>')
        return len;
    while (at && !(name[--at] == '<' && --depth == 0))
        depth += name[at] == '>' && !(at && strchr("-=", name[at - 1]));
    if (!at)
        return len;
    return at > 2 && strncmp(name + at - 2, "::", 2) == 0 ? at - 2 : at;
}

/* Where the arguments of a template end that NAME begins with: behind "<A, B<C> >". */
static const char *after_arguments(const char *name)
{
    size_t depth = 0;
    const char *at = name;
    do {
        depth += *at == '<';
        depth -= *at == '>' && at[-1] != '-';
    } while (depth && *++at);
    return depth ? name : at + 1;
}

/* Returns where PART, LEN bytes, ends at the beginning of NAME; NULL: it is not there.  C++ writes
 * "vector<int>::size", Rust "<a::Thread>::run". */
static const char *after_part(const char *name, const char *part, size_t len)
{
    for (size_t i = 0; i < len; i++, name++) {
        if (*name == '<' && part[i] == ':')
            name = after_arguments(name);
        else if (*name == '>' && part[i] == ':')
            name++;
        if (*name != part[i])
            return NULL;
    }
    return name;
}

bool frame_name_has(const char *name, const char *part)
{
    size_t len = strlen(part);
    bool open = part[len - 1] == '*';
    const char *name_end = NULL; /* rarely wanted */
    len -= open;
    for (const char *at = name; (at = strchr(at, *part)); at++) {
        bool begins = at == name || strchr(":.<", at[-1]);
        const char *end = begins ? after_part(at, part, len) : NULL;
        if (end && open)
            return true;
        if (end && !name_end)
            name_end =
                name + length_before_arguments(name, length_before_clone(name, strlen(name)));
        if (end && end == name_end)
            return true;
    }
    return false;
}

/* ---- names to show ---- */

/* glibc has a variant of its functions for each kind of CPU: sysdeps/x86_64/multiarch. */
static size_t libc_name_length(const char *name)
{
    static const char *const variants[] = {"_avx",   "_sse",   "_evex", "_erms", "_unaligned",
                                           "_ssse3", "_ifunc", "_fma",  NULL};
    size_t len = strlen(name);
    for (const char *const *variant = variants; *variant; variant++) {
        const char *at = strstr(name, *variant);
        if (at && at > name && (size_t)(at - name) < len)
            len = (size_t)(at - name);
    }
    return length_before_clone(name, len);
}

const char *frame_libc_name(const char *name)
{
    while (*name == '_' && name[1])
        name++;
    if (str_starts(name, "GI_"))
        name += strlen("GI_") + strspn(name + strlen("GI_"), "_");
    return name;
}

/* The name by which programs call F, of the C library. */
static const char *libc_name(const struct shown_frame *f, size_t *ret_len)
{
    const struct known_row *row = f->known ? f->known->row[KNOWN_CALLED] : NULL;
    const char *name = row ? row->called : frame_libc_name(f->name);
    *ret_len = row ? strlen(name) : libc_name_length(name);
    return name;
}

/* glibc's names of one function in several places: "__GI___libc_read", "__libc_read", "read",
 * "__read_nocancel"; "fstat64" for "fstat". */
static const char *alias_stem(const struct shown_frame *f, size_t *ret_len)
{
    static const char *const ends[] = {"_time64", "64", "_nocancel", "_internal", "_common"};
    size_t len = 0;
    const char *name = libc_name(f, &len);
    if (str_starts(name, "libc_")) {
        name += strlen("libc_");
        len -= strlen("libc_");
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (len > end && memcmp(name + len - end, ends[i], end) == 0)
            len -= end;
    }
    *ret_len = len;
    return name;
}

bool frame_is_alias(const struct shown_frame *outer, const struct shown_frame *inner)
{
    size_t a_len = 0;
    size_t b_len = 0;
    if (!outer->libc || !inner->libc || outer->nameless || inner->nameless ||
        outer->guessed != inner->guessed || str_eq(outer->name, inner->name))
        return false; /* the same name is recursion */
    const char *a = alias_stem(outer, &a_len);
    const char *b = alias_stem(inner, &b_len);
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

/* Source: the Itanium demangler writes "f(int)::{lambda(int)#1}::operator()(int) const", Rust's
 * "f::{{closure}}" or "f::{closure#0}". */
static size_t length_before_lambda(const char *name)
{
    static const char *const marks[] = {"::{lambda", "::<lambda", "::{{closure}}", "::{closure"};
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(name, marks[i]);
        if (at && (size_t)(at - name) < len)
            len = (size_t)(at - name);
    }
    if (len && name[len] && name[len - 1] == ')')
        len = strcspn(name, "("); /* arguments of the function around it */
    return len;
}

/* "a::Thread::run" for "<a::Thread>::run"; "<A as B>::run" stays. */
static void add_native(struct text *out, const char *name, size_t len)
{
    static const char hidden[] = "(anonymous namespace)::";
    const char *end = *name == '<' ? memchr(name, '>', len) : NULL;
    if (len > strlen(hidden) && str_starts(name, hidden)) {
        name += strlen(hidden);
        len -= strlen(hidden);
    }
    if (end && strcspn(name + 1, "<> ") == (size_t)(end - name) - 1) {
        text_add_tame(out, name + 1, (size_t)(end - name) - 1);
        len -= (size_t)(end + 1 - name);
        name = end + 1;
    }
    text_add_tame(out, name, len);
}

/* "load" of "load.<locals>.<genexpr>", "inner" of "outer.<locals>.inner".  Source: PEP 3155.
 * The code of an installed module, which has no name of its own, is "sympy.core.<module>". */
static void add_python(struct text *out, const struct shown_frame *f)
{
    static const char locals[] = ".<locals>.";
    const char *name = f->name;
    const char *installed = f->file ? python_installed_path(f->file) : NULL;
    if (installed && str_eq(name, "<module>")) {
        python_module_add(out, installed);
        text_add(out, ".");
    }
    size_t len = strlen(name);
    const char *last = NULL;
    const char *before = name;
    for (const char *at = name; (at = strstr(at, locals)); at += strlen(locals)) {
        before = last ? last + strlen(locals) : name;
        last = at;
    }
    if (last && last[strlen(locals)] == '<') /* a comprehension or a lambda is its function's */
        text_add_tame(out, before, (size_t)(last - before));
    else if (last)
        text_add_tame(out, last + strlen(locals), strlen(last + strlen(locals)));
    else
        text_add_tame(out, name, len);
}

static void add_name(struct text *out, const struct shown_frame *f)
{
    const char *name = f->name;
    if (f->kind == SHOWN_PYTHON) {
        add_python(out, f);
        return;
    }
    if (f->kind != SHOWN_NATIVE || f->nameless) {
        text_add_tame(out, name, strlen(name));
        return;
    }
    size_t len = 0;
    const char *function = frame_thread_function(f, &len);
    if (function) {
        text_add_tame(out, function, len);
        return;
    }
    if (f->libc) {
        name = libc_name(f, &len);
        text_add_tame(out, name, len);
        return;
    }
    len = length_before_clone(name, length_before_lambda(name));
    add_native(out, name, len ? len : strlen(name));
}

/* A target may call its functions nothing at all. */
void frame_add_name(struct text *out, const struct shown_frame *f)
{
    size_t before = out->len;
    add_name(out, f);
    if (out->len == before)
        text_add(out, "?");
}

/* ---- threads ---- */

void frame_add_thread_name(struct text *out, const struct shown_frame *f)
{
    struct text name = {0};
    frame_add_name(&name, f);
    bool lambda = f->kind == SHOWN_NATIVE && f->name[length_before_lambda(f->name)];
    bool in_main = str_eq(name.s, "main") || str_ends(name.s, "::main");
    text_add(out, lambda && in_main ? "lambda in main" : name.s);
    text_release(&name);
}

const char *frame_thread_function(const struct shown_frame *f, size_t *ret_len)
{
    static const char invoker[] = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";
    if (f->kind != SHOWN_NATIVE || !str_starts(f->name, invoker))
        return NULL;
    const char *function = f->name + strlen(invoker);
    size_t len = strcspn(function, "(<>,");
    const char *lambda = strstr(function, "::{lambda");
    if (lambda && (size_t)(lambda - function) < len)
        len = (size_t)(lambda - function);
    *ret_len = len;
    return len && function[len - 1] != ' ' && !str_starts(function, "std::") ? function : NULL;
}
