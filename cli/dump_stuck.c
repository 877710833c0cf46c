#include "cli/dump_stuck.h"

#include <stdlib.h>

/* Can only a thread of its process end what thread I waits for? */
static bool waits_inside(const struct dump *d, size_t i)
{
    const struct dump_thread *t = &d->threads[i];
    if (i >= d->waits.n)
        return false;
    const struct waiter *w = &d->waits.items[i];
    return t->side.inside && !t->side.timed && t->state == THREAD_BLOCKED &&
           t->side.blocker.kind != BLOCKER_GONE && t->counted && !t->ran && !t->ended &&
           !w->cycle && !w->behind;
}

bool dump_is_stuck(const struct dump *d, size_t first)
{
    pid_t pid = d->threads[first].pid;
    uint64_t n = 0;
    for (size_t i = first; i < d->n && d->threads[i].pid == pid; i++, n++)
        if (!waits_inside(d, i))
            return false;
    return n == proc_thread_count(pid); /* else another one may wake them */
}

/* Whoever took the lock that the only thread waits for is not there to give it up. */
static bool waits_for_lock(const struct dump_thread *t)
{
    return t->futex == FUTEX_LOCK || t->futex == FUTEX_RWLOCK;
}

static void add_line(const struct dump *d, size_t first, struct text *out)
{
    const struct dump_thread *t = &d->threads[first];
    bool alone = first + 1 == d->n || d->threads[first + 1].pid != t->pid;
    char *process = dump_thread_process(d, t);
    text_add(out, "  stuck: ");
    if (*process)
        text_addf(out, "in %s ", process);
    if (alone && waits_for_lock(t))
        text_add(out, "the only thread can never get its lock: it holds it already, its owner "
                      "ended, or it was copied by fork while held\n");
    else
        text_add(out, alone ? "the process has one thread, and that waits to be woken by another: "
                              "only a signal can\n"
                            : "all threads wait for one another, without a time-out: only a signal "
                              "can wake them\n");
    free(process);
}

void dump_stuck_print(const struct dump *d, struct text *out)
{
    for (size_t i = 0; i < d->n; i++)
        if ((i == 0 || d->threads[i - 1].pid != d->threads[i].pid) && dump_is_stuck(d, i))
            add_line(d, i, out);
}
