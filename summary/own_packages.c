#include "summary/own_packages.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* "site-packages/acme/" of "/venv/lib/python3.11/site-packages/acme/cli.py". */
struct folder {
    const char *s; /* in the file's path; NULL: it is in no package */
    size_t len;
};

static struct folder folder_of(const char *file)
{
    static const char *const parts[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *at = strstr(file, parts[i]);
        const char *end = at ? strchr(at + strlen(parts[i]), '/') : NULL;
        if (end)
            return (struct folder){at + 1, (size_t)(end - at)};
    }
    return (struct folder){NULL, 0};
}

static bool folders_are_same(struct folder a, struct folder b)
{
    return a.len == b.len && strncmp(a.s, b.s, a.len) == 0;
}

/* Has T a row of F's package, or F's own, which was added? */
static bool is_known(const struct known_table *t, struct folder f)
{
    const char *package = strchr(f.s, '/') + 1;
    size_t len = f.len - (size_t)(package - f.s);
    for (size_t i = 0; i < t->n; i++) {
        const struct known_row *row = &t->rows[i];
        bool python = row->place == IN_PYTHON || row->place == IN_FOLDER;
        if (python && (strncmp(row->in, package, len) == 0 || strncmp(row->in, f.s, f.len) == 0))
            return true;
    }
    return false;
}

/* ---- scripts ---- */

/* A script in bin/, and what it calls. */
struct script {
    const char *file;
    struct folder calls; /* none: nothing yet */
    bool other;          /* functions of its own, or of several packages */
};
struct scripts {
    struct script *items;
    size_t n, capacity;
};

/* The function of S's frame, if that is Python's; NULL: it is not. */
static const struct func *function_of(const struct profile *p, stack_id s)
{
    const struct frame *f = s.ix ? profile_get_frame(p, profile_stack_frame(p, s)) : NULL;
    return f && f->kind == FRAME_PYTHON ? profile_get_func(p, f->python.func) : NULL;
}

/* The Python function that called that of S; NULL: it is the first. */
static const struct func *caller_of(const struct profile *p, stack_id s)
{
    const struct func *f = NULL;
    while (!f && (s = profile_stack_parent(p, s)).ix)
        f = function_of(p, s);
    return f;
}

static bool is_module(const struct profile *p, const struct func *f)
{
    return f && str_eq(profile_text(p, f->name), "<module>");
}

static bool is_script(const char *file)
{
    const char *base = path_base(file);
    return base >= file + strlen("/bin/") && strncmp(base - strlen("/bin/"), "/bin/", 5) == 0 &&
           !strchr(base, '.');
}

/* Does FILE lie below the folder whose bin/ has SCRIPT?  pip installs both. */
static bool is_beside(const char *file, const char *script)
{
    size_t len = (size_t)(path_base(script) - script) - strlen("bin/");
    return strncmp(file, script, len) == 0;
}

static struct script *script_of(struct scripts *all, const char *file)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->items[i].file, file))
            return &all->items[i];
    all->items = array_reserve(all->items, &all->capacity, all->n + 1, sizeof *all->items);
    all->items[all->n] = (struct script){.file = file};
    return &all->items[all->n++];
}

/* The script in FILE calls what is in CALLED; imports are not its work. */
static void see_call(struct scripts *all, const char *file, const char *called)
{
    struct script *script = script_of(all, file);
    struct folder folder = folder_of(called);
    if (str_starts(called, "<frozen ") || strstr(called, "/importlib/"))
        return;
    script->other |= !folder.s || !is_beside(called, file) ||
                     (script->calls.s && !folders_are_same(script->calls, folder));
    script->calls = folder;
}

/* ---- rows ---- */

static void add_row(struct known_table *t, struct folder f)
{
    char *row = NULL;
    if (!f.s || is_known(t, f))
        return;
    row = xasprintf("* %.*s own tested", (int)f.len, f.s);
    known_add(t, row);
    free(row);
}

void own_packages_add(struct known_table *t, const struct profile *p)
{
    struct scripts all = {.n = 0};
    for (uint32_t i = 1; i <= profile_stack_count(p); i++) {
        const struct func *f = function_of(p, (stack_id){i});
        const struct func *caller = f ? caller_of(p, (stack_id){i}) : NULL;
        if (!caller || !f->file.ix || !caller->file.ix)
            continue;
        const char *file = profile_text(p, f->file);
        const char *from = profile_text(p, caller->file);
        if (is_module(p, caller) && is_script(from))
            see_call(&all, from, file);
        else if (is_module(p, f) && str_eq(profile_text(p, caller->name), "_run_code"))
            add_row(t, folder_of(file));
    }
    for (size_t i = 0; i < all.n; i++)
        if (!all.items[i].other)
            add_row(t, all.items[i].calls);
    free(all.items);
}
