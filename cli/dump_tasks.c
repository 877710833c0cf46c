#include "cli/dump_tasks.h"

#include <string.h>

#include "dump/tasks.h"
#include "summary/frame_role.h"
#include "summary/task_waits.h"

enum {
    CALLERS = 3, /* of the user's innermost function, beside the outermost */
    MOST_FOLDS = 16,
    NAME_COLUMNS = 48,
    TITLE_COLUMNS = 32,
};

/* ---- words ---- */

/* "handle /src/app.py:31 > Queue.get /usr/lib/python3.13/asyncio/queues.py:186" */
static void add_whole(const struct shown_frame *stack, size_t n, struct text *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct shown_frame *f = &stack[i];
        text_add(out, i ? " > " : "");
        text_add_tame(out, f->name, strlen(f->name));
        text_add(out, f->file ? " " : "");
        text_add_tame(out, f->file ? f->file : "", f->file ? strlen(f->file) : 0);
        if (f->file && f->current_line)
            text_addf(out, ":%u", f->current_line);
    }
}

/* "task feed"; T NULL: unknown.  Not NUMBERED: "task worker-*". */
static void add_name(const struct dump *d, const struct listed_task *t, bool numbered,
                     size_t columns, struct text *out)
{
    const char *name = t && t->name.ix ? profile_text(d->profile, t->name) : "?";
    struct text grouped = {0};
    if (!numbered)
        text_add_group(&grouped, name);
    text_add(out, "task ");
    text_add_tame_cut(out, numbered ? name : grouped.s, columns);
    text_release(&grouped);
}

static void add_awaited(struct dump *d, const struct listed_task *t, bool numbered,
                        struct text *out)
{
    static const char *const words[] = {[PY_AWAITS_OTHER] = "an awaitable",
                                        [PY_AWAITS_FUTURE] = "a Future",
                                        [PY_AWAITS_TASK] = "",
                                        [PY_AWAITS_GATHER] = "gather",
                                        [PY_AWAITS_THREAD] = "a thread's result"};
    text_add(out, words[t->awaits]);
    if (t->awaits == PY_AWAITS_TASK)
        add_name(d, dump_task_awaited(d, t), numbered, NAME_COLUMNS, out);
}

void dump_task_add(struct dump *d, const struct listed_task *t, bool numbered, struct text *out)
{
    static const char *const words[] = {[PY_TASK_WAITS] = "",
                                        [PY_TASK_DUE] = ": due to run",
                                        [PY_TASK_RUNS] = ": runs",
                                        [PY_TASK_UNKNOWN] = "a coroutine that is none of Python's"};
    size_t start = out->len;
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, spot_of_stack(t->stack), &n);
    bool said = t->awaits == PY_AWAITS_FUTURE && n && frame_is_asyncio(&stack[n - 1]); /* by that */
    if (d->style.full)
        add_whole(stack, n, out);
    else
        task_add_stack(stack, n, CALLERS, out);
    if (t->cut)
        text_add(out, " > …");
    text_add(out, words[t->does]);
    if (t->does == PY_TASK_WAITS && !said) {
        text_add(out, out->len > start ? " > " : "");
        add_awaited(d, t, numbered, out);
    }
}

/* ---- lines ---- */

/* Do all of F wait in an object of one thing, and the same? */
static bool have_one_owner(struct dump *d, const struct dump_fold *f)
{
    const struct listed_task *first = &d->tasks.items[f->members[0]];
    for (size_t i = 1; i < f->n; i++) {
        const struct listed_task *t = &d->tasks.items[f->members[i]];
        if (t->process.ix != first->process.ix || t->owner != first->owner)
            return false;
    }
    return first->type.ix && dump_task_method(d, first);
}

/* "    1200 tasks: handle app.py:31 > Queue.get, of one Queue" */
static void add_fold(struct dump *d, const struct dump_fold *f, struct text *out)
{
    const struct listed_task *t = &d->tasks.items[f->members[0]];
    struct text line = {0};
    if (f->n == 1) {
        add_name(d, t, true, TITLE_COLUMNS, &line);
        text_add(&line, ": ");
        dump_task_add(d, t, true, &line);
    } else {
        text_addf(&line, "%zu tasks: %s", f->n, f->words);
    }
    if (f->n > 1 && have_one_owner(d, f)) {
        const char *type = profile_text(d->profile, t->type);
        text_add(&line, ", of one ");
        text_add_tame(&line, type, strlen(type));
    }
    text_add_line(out, line.s, 4, 6, d->style.full ? SIZE_MAX : d->style.width);
    text_release(&line);
}

static void add_folds(struct dump *d, struct dump_folds *all, const char *of, struct text *out)
{
    size_t n = 0;
    size_t more = 0;
    dump_folds_sort(all);
    for (size_t i = 0; i < all->n; i++)
        n += all->items[i].n;
    if (n)
        text_addf(out, "  %zu asyncio task%s%s\n", n, n == 1 ? "" : "s", of);
    for (size_t i = 0; i < all->n; i++) {
        if (d->style.full || i < MOST_FOLDS)
            add_fold(d, &all->items[i], out);
        else
            more += all->items[i].n;
    }
    if (more)
        text_addf(out, "    %zu more that do other things: --full\n", more);
}

/* Does a thread of F run THREAD's event loop?  Its members are in order. */
static bool has_member(const struct dump_fold *f, size_t thread)
{
    size_t i = 0;
    while (i < f->n && f->members[i] < thread)
        i++;
    return i < f->n && f->members[i] == thread;
}

void dump_tasks_add(struct dump *d, const struct dump_fold *f, struct text *out)
{
    struct dump_folds all = {0};
    for (size_t i = 0; i < d->tasks.n; i++) {
        size_t thread = d->task_threads[i];
        struct text words = {0};
        if (f ? !has_member(f, thread) : thread != SIZE_MAX)
            continue;
        dump_task_add(d, &d->tasks.items[i], false, &words);
        dump_folds_add(&all, text_str(&words), i)->by_number = -1;
        text_release(&words);
    }
    add_folds(d, &all, f ? "" : " of event loops that no thread runs", out);
    dump_folds_release(&all);
}

void dump_tasks_add_rest(struct dump *d, struct text *out)
{
    dump_tasks_add(d, NULL, out);
    if (d->tasks.n_moved)
        text_addf(out, "%zu asyncio task%s moved on while being read: not shown\n",
                  d->tasks.n_moved, d->tasks.n_moved == 1 ? "" : "s");
    if (d->tasks.n_more)
        text_add(out, "not all asyncio tasks were read: at most 10,000 of a process, for 2 s\n");
}
