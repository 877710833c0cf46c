#include "dump/waits.h"

#include <stdlib.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "dump/circles.h"
#include "dump/thread.h"
#include "summary/futex_kind.h"
#include "summary/once.h"
#include "summary/spinning.h"
#include "summary/wait_side.h"
#include "waits/lock_names.h"
#include "worker/process_set.h"

/* ---- the other sides ---- */

/* TO's wait is for thread T. */
static void set_blocker(struct dump_thread *to, const struct dump_thread *t)
{
    to->side.blocker = (struct blocker){.kind = BLOCKER_THREAD, .pid = t->pid, .tid = t->tid};
}

/* Threads that wait for the GIL wake now and then to look; the holder's thread state may have been
 * seen after them.  The GIL names its last holder until the next one has written itself there. */
static void find_side(struct dump *d, struct dump_thread *t)
{
    size_t n = 0;
    if (t->sampled && t->state == THREAD_BLOCKED) {
        t->side = wait_side_of(d->profile, d->view, t->at);
        const struct shown_frame *stack = view_stack(d->view, t->at, &n);
        t->futex = futex_kind(stack, n);
    }
    if (t->gil.gil != PY_GIL_WAITING)
        return;
    const struct dump_thread *holder = dump_thread_of_state(d, t->pid, t->gil.holder);
    t->side = (struct wait_side){.thing = THING_GIL};
    if (holder && holder != t)
        set_blocker(t, holder);
}

/* The stacks alone tell who makes what T waits for. */
static void find_maker(const struct dump *d, struct dump_thread *t)
{
    size_t found = 0;
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    const struct shown_frame asker = *once_asker(stack, n); /* the view's array is used again */
    const struct dump_thread *maker = NULL;
    for (size_t i = 0; i < d->n; i++) {
        const struct dump_thread *other = &d->threads[i];
        if (other->pid != t->pid || !other->sampled)
            continue;
        stack = view_stack(d->view, other->at, &n);
        if (once_makes(&asker, stack, n)) {
            maker = other;
            found++;
        }
    }
    if (found == 1)
        set_blocker(t, maker);
}

/* The other sides that lie in the kernel. */
static void find_peers(struct dump *d)
{
    struct asked_call *asked = xcalloc(d->n + 1, sizeof *asked);
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        struct dump_thread *t = &d->threads[i];
        if (t->asks && !t->side.thing)
            asked[n++] = (struct asked_call){&t->call, &t->side};
    }
    waits_find_all(d->live_waits, asked, n);
    free(asked);
}

static void name_locks(struct dump *d, const struct process_set *processes)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct wait_side *side = &d->threads[i].side;
        bool is_lock = side->thing == THING_MUTEX || side->thing == THING_RWLOCK;
        struct target_process *process =
            process_set_find(processes, dump_thread_process(d, &d->threads[i]));
        if (!is_lock || !side->addr || !process)
            continue;
        struct wait_target target = target_process_for_waits(process);
        lock_name_add(d->profile, &target, side->addr);
    }
}

void dump_waits_find(struct dump *d, const struct process_set *processes)
{
    for (size_t i = 0; i < d->n; i++)
        find_side(d, &d->threads[i]);
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].side.thing == THING_ONCE)
            find_maker(d, &d->threads[i]);
    find_peers(d);
    name_locks(d, processes);
    for (size_t i = 0; i < d->n; i++)
        wait_graph_add(&d->waits, d->threads[i].pid, d->threads[i].tid, &d->threads[i].side,
                       (uint32_t)i);
    wait_graph_link(&d->waits);
    dump_circles_prove(d);
}

/* ---- which kind of wait ---- */

enum spin_kind dump_wait_asleep(const struct dump *d, const struct dump_thread *t)
{
    const struct shown_frame *leaf = dump_thread_leaf(d, t);
    return leaf ? leaf->asleep : SPIN_NONE;
}

const char *dump_wait_kind(const struct dump *d, const struct dump_thread *t)
{
    enum spin_kind asleep = dump_wait_asleep(d, t);
    if (asleep)
        return spinning_keys[asleep];
    return t->side.thing ? wait_thing_name(t->side.thing) : futex_kind_name(t->futex);
}

bool dump_wait_opens_fifo(const struct dump_thread *t)
{
    return t->side.thing == THING_PIPE && syscall_path_argument(t->syscall) >= 0;
}
