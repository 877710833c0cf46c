#include "summary/brief_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "summary/frame_role.h"

enum { SHOWN = BRIEF_KINDS }; /* no kind of hidden frame */

static bool is_rust(const struct shown_frame *f)
{
    static const char *const prefixes[] = {
        "core::", "<core::", "alloc::", "<alloc::", "__rust_", "rust_begin_", "<std::", NULL};
    return str_starts_any(f->name, prefixes) || (f->file && strstr(f->file, "/rustc/")) ||
           strstr(f->name, "FnOnce") || strstr(f->name, "catch_unwind");
}

static bool is_cpp(const struct shown_frame *f)
{
    static const char *const prefixes[] = {"__gnu_cxx::", "__gthread_", "__cxa_",
                                           "operator ",   "_Unwind_",   NULL};
    return strstr(f->name, "std::") || str_starts_any(f->name, prefixes);
}

static bool is_cpp_library(const struct shown_frame *f)
{
    static const char *const modules[] = {"libstdc++", "libc++", "libgcc", NULL};
    return f->module && str_starts_any(f->module, modules);
}

static bool is_python_module(const struct shown_frame *f)
{
    return f->interpreter ||
           (f->module && (str_starts(f->module, "libpython") || str_starts(f->module, "python") ||
                          strstr(f->module, ".cpython-")));
}

/* SHOWN, or why F is left out. */
static unsigned hidden_kind(const struct shown_frame *f)
{
    if (f->kind == SHOWN_MARK)
        return SHOWN;
    if (f->kind == SHOWN_PYTHON)
        return f->glue ? BRIEF_CPYTHON : SHOWN;
    if (f->entry || f->libc)
        return BRIEF_LIBC;
    if (is_cpp_library(f) || str_starts(f->name, "std::thread::_State_impl"))
        return BRIEF_CPP;
    if (f->file && strstr(f->file, "/rustc/"))
        return BRIEF_RUST;
    if (!f->glue)
        return SHOWN;
    if (is_python_module(f))
        return BRIEF_CPYTHON;
    if (str_starts(f->name, "runtime."))
        return BRIEF_GO;
    if (is_rust(f))
        return BRIEF_RUST;
    return is_cpp(f) ? BRIEF_CPP : BRIEF_WRAPPERS;
}

/* The C++ guards of locks: their constructors say less than the lock() that they call. */
static bool is_guard(const struct shown_frame *f)
{
    static const char *const names[] = {"lock_guard", "unique_lock", "scoped_lock", "shared_lock<",
                                        NULL};
    return str_has_any(f->name, names);
}

static bool is_leaf_call(const struct shown_frame *f, bool blocked)
{
    if (f->kind != SHOWN_NATIVE || f->nameless || is_guard(f) || str_starts(f->name, "__"))
        return false;
    return blocked ? !f->libc && !f->entry : !f->entry;
}

/* Marks in KEPT the call that the innermost kept frame makes, of those hidden above it: Python's
 * function in Python, otherwise the first one of a library.  Returns its index; N: there is
 * none. */
static size_t keep_leaf_call(const struct shown_frame *stack, size_t n, bool blocked, bool *kept)
{
    size_t last = n;
    while (last && !kept[last - 1])
        last--;
    bool below_python = last && stack[last - 1].kind == SHOWN_PYTHON;
    for (size_t i = last; i < n; i++) {
        bool python = stack[i].kind == SHOWN_PYTHON;
        kept[i] = below_python ? python : !python && is_leaf_call(&stack[i], blocked);
        if (kept[i])
            return i;
    }
    return n;
}

/* Of a long row of frames of libraries some say enough. */
static size_t drop_libraries(const struct shown_frame *stack, size_t n, bool blocked, bool *kept)
{
    enum { LONG = 5, INNERMOST = 2 };
    size_t dropped = 0;
    size_t run = 0;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && !kept[i])
            continue;
        if (i < n && frame_role(&stack[i], blocked) == ROLE_LIBRARY) {
            run++;
            continue;
        }
        /* The run ends before I.  Counted from its inner end: which of it goes. */
        size_t seen = 0;
        for (size_t j = i; run >= LONG && j-- > 0 && seen < run;)
            if (kept[j] && seen++ >= INNERMOST && seen < run) {
                kept[j] = false;
                dropped++;
            }
        run = 0;
    }
    return dropped;
}

/* A stack of nothing but glue: what there is, but for where every thread begins. */
static void keep_all(const struct shown_frame *stack, size_t n, bool *kept)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= kept[i] = !stack[i].entry;
    for (size_t i = 0; i < n && !any; i++)
        kept[i] = true;
}

/* Functions of one module that have no names say no more than one of them. */
static bool are_one_line(const struct shown_frame *a, const struct shown_frame *b)
{
    if (a->nameless && b->nameless)
        return str_eq(a->module ? a->module : "", b->module ? b->module : "");
    return a->kind == b->kind && a->kind != SHOWN_MARK && str_eq(a->name, b->name) &&
           str_eq(a->file ? a->file : "", b->file ? b->file : "") &&
           a->current_line == b->current_line;
}

/* A list of at most BRIEF_MAX_FRAMES: of a longer stack its innermost and its outermost frames. */
struct brief_list {
    struct brief_stack *out;
    size_t seen, total;
    size_t call; /* index of the leaf's call */
};

static void add(struct brief_list *l, size_t at, size_t repeats)
{
    enum { OUTERMOST = 6, INNERMOST = BRIEF_MAX_FRAMES - OUTERMOST };
    size_t i = l->seen++;
    size_t skipped = 0;
    if (l->total > BRIEF_MAX_FRAMES && i >= INNERMOST) {
        skipped = l->total - BRIEF_MAX_FRAMES;
        if (i < INNERMOST + skipped)
            return;
        skipped = i == INNERMOST + skipped ? skipped : 0;
    }
    l->out->frames[l->out->n++] = (struct brief_frame){at, repeats, skipped, at == l->call};
}

/* Calls add() for each of the kept frames, innermost first; a function that calls itself from one
 * line is one, and so are those of one module without names.  Without L only counts. */
static size_t list(const struct shown_frame *stack, size_t n, const bool *kept,
                   struct brief_list *l)
{
    size_t count = 0;
    for (size_t i = n; i-- > 0;) {
        if (!kept[i])
            continue;
        size_t repeats = 1;
        size_t at = i;
        while (i && kept[i - 1] && are_one_line(&stack[i - 1], &stack[at])) {
            i--;
            repeats++;
        }
        count++;
        if (l)
            add(l, at, repeats);
    }
    return count;
}

void brief_stack_of(const struct shown_frame *stack, size_t n, bool blocked,
                    struct brief_stack *ret)
{
    *ret = (struct brief_stack){0};
    while (n && stack[n - 1].kind == SHOWN_WAIT)
        n--;
    bool *kept = xcalloc(n + 1, sizeof *kept);
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= kept[i] = hidden_kind(&stack[i]) == SHOWN;
    size_t call = keep_leaf_call(stack, n, blocked, kept);
    if (!any && call == n)
        keep_all(stack, n, kept);
    for (size_t i = 0; i < n; i++)
        if (!kept[i])
            ret->hidden[hidden_kind(&stack[i])]++;
    ret->hidden[BRIEF_LIBRARIES] = drop_libraries(stack, n, blocked, kept);
    bool named = call < n && stack[call].kind == SHOWN_NATIVE;
    struct brief_list l = {
        .out = ret, .total = list(stack, n, kept, NULL), .call = named ? call : n};
    (void)list(stack, n, kept, &l);
    free(kept);
}

const char *brief_hidden_name(enum brief_hidden kind)
{
    static const char *const names[BRIEF_KINDS] = {
        [BRIEF_LIBC] = "libc",           [BRIEF_CPP] = "libstdc++",
        [BRIEF_RUST] = "Rust's library", [BRIEF_GO] = "Go's runtime",
        [BRIEF_CPYTHON] = "CPython",     [BRIEF_WRAPPERS] = "other wrappers",
        [BRIEF_LIBRARIES] = "libraries",
    };
    return names[kind];
}
