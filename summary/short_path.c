#include "summary/short_path.h"

#include <string.h>

#include "summary/idle.h"

enum { NOWHERE = -1 };

static bool is_own_python(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && !strstr(f->file, "/lib/python") &&
           !strstr(f->file, "/site-packages/") && !str_starts(f->file, "<frozen ");
}

/* A guess may be wrong: it never says where time goes. */
static bool is_worth_naming(const struct shown_frame *f)
{
    return !f->nameless && !f->guessed && !idle_is_way(f);
}

/* The innermost frame of [FIRST, LAST) that is worth naming. */
static ptrdiff_t worth_naming(const struct shown_frame *stack, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t i = last; i-- > first;)
        if (is_worth_naming(&stack[i]))
            return i;
    return NOWHERE;
}

static ptrdiff_t innermost_python(const struct shown_frame *stack, ptrdiff_t n)
{
    for (ptrdiff_t i = n; i-- > 0;)
        if (is_own_python(&stack[i]))
            return i;
    for (ptrdiff_t i = n; i-- > 0;)
        if (stack[i].kind == SHOWN_PYTHON && !idle_is_way(&stack[i]))
            return i;
    return NOWHERE;
}

/* The innermost that is code at all, for stacks of which nothing is worth naming. */
static ptrdiff_t innermost_code(const struct shown_frame *stack, ptrdiff_t n)
{
    for (ptrdiff_t i = n; i-- > 0;)
        if (stack[i].kind != SHOWN_MARK && !stack[i].guessed)
            return i;
    return NOWHERE;
}

/* Whom to name before *INNER: who called its library, and *INNER becomes what was called there; within
 * one library its innermost caller. */
static ptrdiff_t caller_of(const struct shown_frame *stack, ptrdiff_t *inner)
{
    const char *module = stack[*inner].module;
    ptrdiff_t called = *inner;
    for (ptrdiff_t i = *inner; module && i-- > 0;) {
        if (!is_worth_naming(&stack[i]))
            continue;
        if (stack[i].module && !str_eq(stack[i].module, module)) {
            *inner = called;
            return i;
        }
        called = i;
    }
    return worth_naming(stack, 0, *inner);
}

size_t short_path_pick(const struct shown_frame *stack, size_t n,
                       size_t ret_places[SHORT_PATH_MAX_PARTS])
{
    if (!n)
        return 0;
    ptrdiff_t leaf = (ptrdiff_t)n - 1;
    ptrdiff_t python = innermost_python(stack, (ptrdiff_t)n);
    ptrdiff_t inner = worth_naming(stack, python + 1, leaf);
    ptrdiff_t outer = python;
    if (python == NOWHERE && inner == NOWHERE)
        inner = innermost_code(stack, leaf);
    else if (python == NOWHERE)
        outer = caller_of(stack, &inner);
    size_t count = 0;
    if (outer != NOWHERE)
        ret_places[count++] = (size_t)outer;
    if (inner != NOWHERE)
        ret_places[count++] = (size_t)inner;
    if (leaf != outer)
        ret_places[count++] = (size_t)leaf;
    return count;
}

static void add_tame(struct text *out, const char *s)
{
    text_add_tame(out, s, strlen(s));
}

static void add_mark(struct text *out, const char *name)
{
    static const char blocked[] = " [blocked]";
    struct text clean = {0};
    add_tame(&clean, name);
    if (str_ends(name, blocked))
        text_addf(out, "[%.*s]", (int)(clean.len - strlen(blocked)), clean.s);
    else
        text_add(out, clean.s ? clean.s : "");
    text_release(&clean);
}

void short_path_add(struct text *out, const struct shown_frame *stack, size_t n, bool lines)
{
    size_t places[SHORT_PATH_MAX_PARTS];
    size_t count = short_path_pick(stack, n, places);
    for (size_t i = 0; i < count; i++) {
        const struct shown_frame *f = &stack[places[i]];
        text_add(out, i ? "\n" : "");
        if (f->kind == SHOWN_MARK) {
            add_mark(out, f->name);
            continue;
        }
        add_tame(out, f->name);
        if (f->kind != SHOWN_PYTHON || !f->file)
            continue;
        text_add(out, " ");
        add_tame(out, path_base(f->file));
        if (lines && f->current_line)
            text_addf(out, ":%u", f->current_line);
    }
}
