#include "dump/thread.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "summary/process_name.h"

struct dump_thread *dump_thread_add(struct dump *d, thread_id thread)
{
    d->threads = array_reserve(d->threads, &d->capacity, d->n + 1, sizeof *d->threads);
    map_put(&d->by_thread, thread.ix, d->n);
    return &d->threads[d->n++];
}

bool dump_thread_is_of_kind(const struct dump *d, const struct dump_thread *t, enum wait_kind kind)
{
    const struct wait *wait = profile_see_wait(d->profile, t->at.wait);
    return wait && wait->kind == kind;
}

const struct shown_frame *dump_thread_leaf(const struct dump *d, const struct dump_thread *t)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    return n && stack[n - 1].kind == SHOWN_WAIT ? &stack[n - 1] : NULL;
}

const struct dump_thread *dump_thread_of_state(const struct dump *d, pid_t pid, uint64_t state)
{
    for (size_t i = 0; state && i < d->n; i++)
        for (size_t j = 0; d->threads[i].pid == pid && j < SNAPSHOT_HOOK_WORDS; j++)
            if (d->threads[i].python_threads[j] == state)
                return &d->threads[i];
    return NULL;
}

process_id dump_thread_process(const struct dump *d, const struct dump_thread *t)
{
    return profile_see_thread(d->profile, t->thread)->process;
}

size_t dump_next_process(const struct dump *d, size_t i)
{
    pid_t pid = d->threads[i].pid;
    while (i < d->n && d->threads[i].pid == pid)
        i++;
    return i;
}

long dump_thread_rank(const struct dump *d, const struct dump_thread *t)
{
    size_t len = 0;
    const char *rank = process_own_rank(d->profile, dump_thread_process(d, t), &len);
    return rank ? strtol(rank, NULL, 10) : -1;
}

bool dump_thread_launches(const struct dump *d, const struct dump_thread *t)
{
    size_t i = 0;
    if (t->tid != t->pid || t->side.thing != THING_CHILD || profile_process_count(d->profile) == 1)
        return false;
    while (i < d->n && d->threads[i].pid != t->side.blocker.pid)
        i++;
    return i < d->n || t->side.blocker.kind != BLOCKER_PROCESS; /* of many children none is named */
}

void dump_thread_read_wchan(struct dump_thread *t)
{
    if (t->state == THREAD_BLOCKED)
        proc_read_wchan(t->pid, t->tid, t->wchan);
}

void dump_thread_release(struct dump_thread *t)
{
    py_locals_release(&t->locals);
    free(t->object);
    free(t->called);
}

size_t dump_thread_python_frame(const struct dump_thread *t, const struct shown_frame *stack,
                                size_t n, size_t at)
{
    size_t before = 0;
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        before += i < at && stack[i].kind == SHOWN_PYTHON;
        all += stack[i].kind == SHOWN_PYTHON;
    }
    bool known = at < n && stack[at].kind == SHOWN_PYTHON && all == t->locals.n;
    return known ? before : SIZE_MAX;
}

const char *dump_thread_arguments(const struct dump_thread *t, const struct shown_frame *stack,
                                  size_t n, size_t at)
{
    size_t frame = dump_thread_python_frame(t, stack, n, at);
    return frame != SIZE_MAX && t->locals.frames[frame].len ? t->locals.frames[frame].s : NULL;
}
