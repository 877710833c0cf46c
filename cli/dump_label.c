#include "cli/dump_label.h"

#include <stdlib.h>

#include "dump/thread.h"
#include "summary/process_name.h"
#include "summary/thread_summary.h"

/* A thread that was given no name has its process's. */
static char *call_thread(const struct dump *d, const struct dump_thread *t)
{
    enum { MOST_COLUMNS = 32 };
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    struct text called = {0};
    const char *name = profile_text(d->profile, profile_see_thread(d->profile, t->thread)->name);
    const struct profile_process *p = profile_see_process(d->profile, dump_thread_process(d, t));
    bool unnamed = str_eq(name, profile_text(d->profile, p->comm));
    char *root = unnamed ? thread_root_name(stack, n) : NULL;
    name = *name ? name : "?";
    name = root ? root : name;
    text_add_tame_cut(&called, t->tid == t->pid ? "main" : name, MOST_COLUMNS);
    free(root);
    return called.s;
}

void dump_label_threads(struct dump *d)
{
    for (size_t i = 0; i < d->n; i++)
        d->threads[i].called = call_thread(d, &d->threads[i]);
}

void dump_label_add(const struct dump *d, const struct dump_thread *t, bool numbered,
                    struct text *out)
{
    char *process = name_of_process(d->profile, dump_thread_process(d, t));
    bool rank = *process && dump_thread_rank(d, t) >= 0;
    if (numbered)
        text_addf(out, "%d ", t->tid);
    if (numbered && rank)
        text_addf(out, "%s ", process);
    text_add(out, t->called);
    if (numbered && *process && !rank && t->tid != t->pid)
        text_addf(out, " (%s)", process);
    free(process);
}
