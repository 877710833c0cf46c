/* The rule about threads that import Python's modules, as a program does that is slow to start. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/known.h"
#include "summary/python_module.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double named_share = 0.05;
static const double most_of_it = 0.8; /* for one package: then those that it imports are told */
enum { MOST_NAMED = 3, MOST_OPENED = 4 };

struct package {
    const char *name; /* LEN bytes; borrowed from the view */
    size_t len;
    int64_t ns;
};
struct imports {
    struct package *packages;
    size_t n, capacity;
    int64_t ns;
    struct package opened[MOST_OPENED]; /* they count only for what is not another one's */
    size_t n_opened;
};

static bool is_package(const struct package *p, const char *path)
{
    return p->len == python_package_length(path) && memcmp(p->name, path, p->len) == 0;
}

static bool is_opened(const struct imports *im, const char *path)
{
    bool found = false;
    for (size_t i = 0; i < im->n_opened; i++)
        found |= is_package(&im->opened[i], path);
    return found;
}

/* The path of the installed module that STACK imports: the outermost one, but for those that are
 * opened; NULL: none.  *RET_BY_IMPORT: the innermost function of Python's looks for a module, reads
 * or compiles it.
 * Source: CPython Lib/importlib/_bootstrap.py, which runs a module's code. */
static const char *imported(const struct imports *im, const struct shown_frame *stack, size_t n,
                            bool *ret_by_import)
{
    const char *module = NULL;
    bool imports = false;
    bool by_import = false;
    for (size_t i = 0; i < n; i++) {
        const struct shown_frame *f = &stack[i];
        if (f->kind != SHOWN_PYTHON || !f->file)
            continue;
        const char *path = by_import ? python_installed_path(f->file) : NULL;
        imports |= rule_is_import(f);
        by_import = imports && known_does(f, DOES_LOAD);
        if (!path || !str_eq(f->name, "<module>"))
            continue;
        if (!module || is_opened(im, module))
            module = path;
    }
    *ret_by_import = by_import;
    return module;
}

static void add_import(struct imports *im, const char *path, int64_t ns)
{
    size_t at = 0;
    while (at < im->n && !is_package(&im->packages[at], path))
        at++;
    if (at == im->n) {
        im->packages = array_reserve(im->packages, &im->capacity, at + 1, sizeof *im->packages);
        im->packages[im->n++] = (struct package){path, python_package_length(path), 0};
    }
    im->packages[at].ns += ns;
}

static int by_time(const void *a, const void *b)
{
    const struct package *x = a;
    const struct package *y = b;
    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void add_run(const struct judgement *s, const struct run *run, struct imports *im)
{
    size_t n = 0;
    bool by_import;
    const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
    const char *path = imported(im, stack, n, &by_import);
    if (path)
        add_import(im, path, run->weights.wall_ns);
    if (path || (by_import && is_busy_class(class_of_run(s->g->tree, run), run)))
        im->ns += run->weights.wall_ns;
}

/* What GROUP imports, the longest first. */
static void collect(const struct judgement *s, const struct thread_group *group, struct imports *im)
{
    im->n = 0;
    im->ns = 0;
    for (size_t i = 0; i < group->n; i++)
        for (size_t k = 0; k < group->threads[i]->thread->n_runs; k++)
            add_run(s, &group->threads[i]->thread->runs[k], im);
    if (im->n)
        qsort(im->packages, im->n, sizeof *im->packages, by_time);
}

/* A package that takes most of it, "awscli", says less than those that it imports. */
static void open_the_largest(const struct judgement *s, const struct thread_group *group,
                             struct imports *im)
{
    while (im->n && im->n_opened < MOST_OPENED && !is_opened(im, im->packages[0].name) &&
           (double)im->packages[0].ns > most_of_it * (double)im->ns) {
        im->opened[im->n_opened++] = im->packages[0];
        collect(s, group, im);
    }
}

static void add_packages(const struct imports *im, int64_t wall_ns, struct text *out)
{
    for (size_t i = 0; i < im->n && i < MOST_NAMED; i++) {
        const struct package *p = &im->packages[i];
        if (share_of(p->ns, wall_ns) < named_share)
            break;
        text_add(out, i ? ", " : ": ");
        add_percent(out, share_of(p->ns, wall_ns));
        text_add(out, " ");
        text_add_tame(out, p->name, p->len);
    }
}

/* How many processes that are called like GROUP's began while it was recorded. */
static size_t count_begun(const struct judgement *s, const struct thread_group *group)
{
    enum { AT_ONCE_NS = NS_PER_S / 10 }; /* so long a first look may take */
    size_t n = 0;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *t = &s->g->summaries.threads[i];
        n += t->thread->main && t->thread->start_ns > AT_ONCE_NS &&
             str_eq(t->group, group->threads[0]->group);
    }
    return n;
}

static void add_remedy(const struct judgement *s, const struct thread_group *group,
                       struct text *words)
{
    enum { LEAST_BEGUN = 3 };
    size_t begun = group->threads[0]->thread->main ? count_begun(s, group) : 0;
    if (begun >= LEAST_BEGUN)
        text_addf(
            words,
            ". %zu processes began meanwhile, and each imports anew: let one do more of the work "
            "before it ends.",
            begun);
    else
        text_add(words, ". Import inside the function that needs it, to pay only when it runs.");
}

void rule_imports(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct imports im = {0};
    if (!rule_has_frame(s, rule_is_import))
        return;
    collect(s, group, &im);
    double share = share_of(im.ns, group->wall_ns);
    add_figure(f, "share", share);
    f->share = share;
    if (share >= worth_telling)
        finding_applies(f, &im, sizeof im);
    else
        free(im.packages);
}

void tell_imports(const struct judgement *s, struct finding *f, struct text *words)
{
    struct imports *im = f->facts;
    open_the_largest(s, f->group, im);
    add_opening(f->group, "spend", f->share, words);
    text_add(words, " importing modules");
    add_packages(im, f->group->wall_ns, words);
    add_remedy(s, f->group, words);
}

void release_imports(void *facts)
{
    free(((struct imports *)facts)->packages);
}
