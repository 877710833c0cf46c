#include "cli/dump_waits.h"

#include <stdlib.h>
#include <string.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/dump_look.h"
#include "summary/futex_kind.h"
#include "summary/once.h"
#include "summary/process_name.h"
#include "summary/shared_place.h"
#include "summary/state_words.h"
#include "summary/verdict_words.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"
#include "target/mem.h"
#include "target/proc.h"
#include "waits/futex_lock.h"
#include "waits/lock_names.h"
#include "worker/process_set.h"

enum { DEADLOCK_NS = NS_PER_S / 2, CONDITION_BYTES = 48, MOST_SHOWN = 8 };

/* ---- is it still so? ---- */

/* Its run count, and the call that it is blocked in; false: it is in none, or cannot be read. */
static bool read_thread(const struct dump_thread *t, uint64_t *ret_runs,
                        struct syscall_state *ret_call)
{
    struct schedstat sched;
    if (proc_schedstat(t->pid, t->tid, &sched) < 0 || !sched.runs)
        return false;
    *ret_runs = sched.runs;
    return proc_syscall(t->pid, t->tid, ret_call) == 0 && ret_call->view == SYSCALL_BLOCKED;
}

static bool has_it_still(const struct dump_thread *t, const uint64_t args[6])
{
    struct err err = {0};
    struct mem *live = NULL;
    struct task_status holder;
    if (proc_status(t->side.blocker.pid, t->side.blocker.tid, &holder) < 0 ||
        mem_live_open(&live, t->pid, &err) < 0)
        return false;
    bool same = futex_lock_decode(args, live).owner == holder.ns_tid;
    mem_free(live);
    return same;
}

/* Does it wait for the same process as before, without having run since it was captured? */
static bool waits_for_same_process(const struct dump *d, const struct dump_thread *t)
{
    struct blocked_call call = t->call;
    struct wait_side side = {0};
    call.since_ns = clock_now_ns();
    waits_find_all(d->live_waits, &(struct asked_call){&call, &side}, 1);
    return side.thing == t->side.thing && blockers_are_same(&side.blocker, &t->side.blocker);
}

/* Does T wait for the same holder?  A thread waits for the GIL on one or the other word of a
 * condition variable, and the holder is another thread of the circle, which has not run. */
static bool waits_still(const struct dump *d, const struct dump_thread *t, uint64_t *ret_runs)
{
    struct syscall_state call;
    if (!read_thread(t, ret_runs, &call))
        return false;
    if (t->side.thing == THING_GIL) {
        const struct dump_thread *holder = dump_thread_of_state(d, t->pid, t->gil.holder);
        uint64_t apart =
            call.args[0] > t->args[0] ? call.args[0] - t->args[0] : t->args[0] - call.args[0];
        return holder && holder->gil.gil == PY_GIL_HOLDING && !holder->ran &&
               apart < CONDITION_BYTES;
    }
    if (wait_side_is_kernels(t->side.thing))
        return waits_for_same_process(d, t);
    if (call.args[0] != t->args[0])
        return false;
    /* Of Python's locks the one look has to do, while T has not run: it was made with the holder's
     * frames.  Thread.join() waits for a lock that the other thread has until it ends;
     * pthread_join() waits for its id. */
    if (t->side.thing == THING_PY_LOCK || t->side.thing == THING_ONCE)
        return (t->runs ? t->runs : t->settled.runs) == *ret_runs;
    struct task_status other;
    if (t->side.thing == THING_THREAD && call.args[2] == 0)
        return proc_status(t->side.blocker.pid, t->side.blocker.tid, &other) == 0;
    return has_it_still(t, call.args);
}

/* ---- circles ---- */

/* Whether all of CYCLE wait on.  RUNS, by item: their run counts, kept if FIRST, else compared. */
static bool circle_lasts(const struct dump *d, int cycle, uint64_t *runs, bool first)
{
    for (size_t i = 0; i < d->waits.n; i++) {
        const struct waiter *w = &d->waits.items[i];
        uint64_t now;
        if (w->cycle != cycle)
            continue;
        if (!waits_still(d, &d->threads[w->tag], &now))
            return false;
        if (!first && now != runs[i] && w->side.thing != THING_GIL)
            return false;
        runs[i] = now;
    }
    return true;
}

static bool has_gil(const struct dump *d, int cycle)
{
    for (size_t i = 0; i < d->waits.n; i++)
        if (d->waits.items[i].cycle == cycle && d->waits.items[i].side.thing == THING_GIL)
            return true;
    return false;
}

/* The threads were captured one after the other, so they may have waited for each other at
 * different moments.  Of two looks the first sees each wait of CYCLE begin, the second each go on:
 * all of them wait in between.  A thread that waits for the GIL wakes now and then, and on busy
 * CPUs it waits for one of them before it waits on: a look that finds it awake is repeated. */
static bool stands(const struct dump *d, int cycle, uint64_t *runs)
{
    enum { TRIES = 3, TRIES_WITH_GIL = 50 };
    bool gil = has_gil(d, cycle);
    for (int i = 0; i < (gil ? TRIES_WITH_GIL : TRIES); i++) {
        if (circle_lasts(d, cycle, runs, true) && circle_lasts(d, cycle, runs, false))
            return true;
        if (gil)
            clock_sleep(NS_PER_MS);
    }
    return false;
}

/* Has no thread of CYCLE run?  Who waits for the GIL runs now and then: its holder has not, and so
 * has not given it up. */
static bool has_rested(const struct dump *d, int cycle)
{
    for (size_t i = 0; i < d->waits.n; i++) {
        const struct dump_thread *t = &d->threads[i];
        if (d->waits.items[i].cycle == cycle && t->side.thing != THING_GIL &&
            (t->ran || !t->counted))
            return false;
    }
    return true;
}

static void confirm(struct dump *d)
{
    uint64_t *runs = xcalloc(d->waits.n, sizeof *runs);
    for (int cycle = d->waits.n_cycles; cycle > 0; cycle--)
        if (!stands(d, cycle, runs))
            wait_graph_drop(&d->waits, cycle);
    for (int cycle = 1; cycle <= d->waits.n_cycles; cycle++)
        d->deadlocks[cycle] = d->look_ns >= DEADLOCK_NS && has_rested(d, cycle) &&
                              !wait_graph_is_timed(&d->waits, cycle);
    free(runs);
}

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
    d->deadlocks = xcalloc((size_t)d->waits.n_cycles + 1, sizeof *d->deadlocks);
    if (d->waits.n_cycles)
        confirm(d);
}

/* ---- processes that are stuck ---- */

/* Can only a thread of its process end what thread I waits for? */
static bool waits_inside(const struct dump *d, size_t i)
{
    const struct dump_thread *t = &d->threads[i];
    const struct waiter *w = i < d->waits.n ? &d->waits.items[i] : NULL;
    return w && !w->cycle && !w->behind && t->side.inside && !t->side.timed &&
           t->state == THREAD_BLOCKED && t->side.blocker.kind != BLOCKER_GONE && t->counted &&
           !t->ran && !t->ended;
}

bool dump_waits_stuck(const struct dump *d, size_t first)
{
    size_t end = dump_next_process(d, first);
    size_t i = first;
    while (i < end && waits_inside(d, i))
        i++;
    /* Of more threads than these another one may wake them. */
    return i == end && end - first == proc_thread_count(d->threads[first].pid);
}

/* ---- words ---- */

/* What T waits for asleep, as others do spinning; SPIN_NONE: that is not known. */
static enum spin_kind asleep_for(const struct dump *d, const struct dump_thread *t)
{
    const struct shown_frame *leaf = dump_thread_leaf(d, t);
    return leaf ? leaf->asleep : SPIN_NONE;
}

static const struct dump_thread *find_thread(const struct dump *d, pid_t tid)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].tid == tid)
            return &d->threads[i];
    return NULL;
}

/* For whom T waits: without its process if that is T's. */
static void add_other(const struct dump *d, const struct dump_thread *t, bool numbered,
                      struct text *out)
{
    const struct dump_thread *other = find_thread(d, t->side.blocker.tid);
    if (!other)
        text_addf(out, "%d", t->side.blocker.tid);
    else if (numbered && t->pid == other->pid)
        text_addf(out, "%d %s", other->tid, other->called);
    else
        dump_thread_add_label(d, other, numbered, out);
}

static void add_holder(const struct dump *d, const struct dump_thread *t, bool numbered,
                       struct text *out)
{
    const struct blocker *b = &t->side.blocker;
    struct text holder = {0};
    if (b->kind == BLOCKER_THREAD)
        add_other(d, t, numbered, &holder);
    state_add_holder(out, d->profile, b, b->tid == t->tid, text_str(&holder));
    if (b->kind == BLOCKER_THREAD && b->pid != t->pid && !find_thread(d, b->tid))
        text_addf(out, " of process %d", b->pid);
    text_release(&holder);
}

/* "0x55f2…140": of an address what tells it from others.  The whole is in JSON. */
static void add_address(uint64_t addr, struct text *out)
{
    char whole[24];
    (void)snprintf(whole, sizeof whole, "%llx", (unsigned long long)addr);
    size_t len = strlen(whole);
    if (len <= 8)
        text_addf(out, " (0x%s)", whole);
    else
        text_addf(out, " (0x%.4s…%s)", whole, whole + len - 3);
}

bool dump_waits_opens_fifo(const struct dump_thread *t)
{
    return t->side.thing == THING_PIPE && syscall_path_argument(t->syscall) >= 0;
}

/* That of a thread to end has that thread in its middle. */
static void add_join(const struct dump *d, const struct dump_thread *t, bool numbered,
                     struct text *out)
{
    if (!t->side.blocker.tid)
        return;
    text_addf(out, "waits for %s", numbered ? "thread " : "");
    add_other(d, t, numbered, out);
    text_add(out, " to end");
}

void dump_waits_add(const struct dump *d, const struct dump_thread *t, bool numbered,
                    struct text *out)
{
    const bool notified = t->python_threads[0] && t->futex == FUTEX_CONDITION;
    const enum spin_kind asleep = asleep_for(d, t);
    if (asleep)
        text_addf(out, "waits %s", spinning_words(asleep));
    if (asleep || dump_waits_opens_fifo(t) || !dump_waits_kind(d, t))
        return;
    if (t->side.thing == THING_THREAD) {
        add_join(d, t, numbered, out);
        return;
    }
    state_add_wait(out, d->profile, &t->side, t->pid, t->futex, notified);
    if (wait_side_is_kernels(t->side.thing))
        return;
    if (t->side.addr && numbered)
        add_address(t->side.addr, out);
    else if (t->side.blocker.kind == BLOCKER_SHARED && !t->side.blocker.pid)
        shared_place_add(out, d->profile, &t->side.blocker);
    add_holder(d, t, numbered, out);
}

const char *dump_waits_kind(const struct dump *d, const struct dump_thread *t)
{
    enum spin_kind asleep = asleep_for(d, t);
    if (asleep)
        return spinning_keys[asleep];
    return t->side.thing ? wait_thing_name(t->side.thing) : futex_kind_name(t->futex);
}

static void add_line(const struct dump *d, const struct dump_thread *t, const char *title,
                     struct text *out)
{
    text_addf(out, "  %s", title);
    dump_thread_add_label(d, t, true, out);
    text_add(out, " ");
    dump_waits_add(d, t, true, out);
    text_add(out, "\n");
}

static void print_cycle(const struct dump *d, int cycle, struct text *out)
{
    bool deadlock = d->deadlocks[cycle];
    const struct waiter *first = wait_graph_first(&d->waits, cycle);
    const struct waiter *w = first;
    do {
        const char *title = deadlock ? "deadlock: " : "circular wait: ";
        const char *next = deadlock ? "          " : "               ";
        add_line(d, &d->threads[w->tag], w == first ? title : next, out);
        w = &d->waits.items[w->next];
    } while (w != first);
}

static void print_behind(const struct dump *d, int cycle, struct text *out)
{
    size_t n = 0;
    for (size_t i = 0; i < d->waits.n; i++)
        if (d->waits.items[i].behind == cycle && n++ < MOST_SHOWN)
            add_line(d, &d->threads[i], n == 1 ? "behind it: " : "           ", out);
    if (n > MOST_SHOWN)
        text_addf(out, "             and %zu more\n", n - MOST_SHOWN);
}

static void print_gone(const struct dump *d, struct text *out)
{
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].side.blocker.kind == BLOCKER_GONE && n++ < MOST_SHOWN)
            add_line(d, &d->threads[i], "owner gone: ", out);
    if (n > MOST_SHOWN)
        text_addf(out, "  and %zu more\n", n - MOST_SHOWN);
}

static void print_stuck(const struct dump *d, size_t first, struct text *out)
{
    const struct dump_thread *t = &d->threads[first];
    char *process = name_of_process(d->profile, dump_thread_process(d, t));
    text_addf(out, *process ? "  stuck: in %s: " : "  stuck: ", process);
    verdict_add_stuck(out, dump_next_process(d, first) - first,
                      t->futex == FUTEX_LOCK || t->futex == FUTEX_RWLOCK, 0);
    text_add(out, "\n");
    free(process);
}

void dump_waits_print(const struct dump *d, struct text *out)
{
    for (int deadlocks = 1; deadlocks >= 0; deadlocks--)
        for (int cycle = 1; cycle <= d->waits.n_cycles; cycle++) {
            if (d->deadlocks[cycle] != (deadlocks == 1))
                continue;
            print_cycle(d, cycle, out);
            print_behind(d, cycle, out);
        }
    print_gone(d, out);
    for (size_t i = 0; i < d->n; i = dump_next_process(d, i))
        if (dump_waits_stuck(d, i))
            print_stuck(d, i, out);
}
