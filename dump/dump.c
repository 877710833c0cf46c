#include "dump/dump.h"

#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "dump/look.h"
#include "dump/places.h"
#include "dump/proc_only.h"
#include "dump/tasks.h"
#include "dump/thread.h"
#include "dump/waits.h"
#include "waits/wait_reason.h"

static void describe_call(struct dump_thread *d, const struct sample_message *m)
{
    const struct snapshot *s = &m->snapshot;
    d->syscall = m->head.flags & SAMPLE_NO_STACK ? -2 : s->syscall;
    memcpy(d->args, s->syscall_args, sizeof d->args);
    d->runs = m->head.held_ns ? 0 : m->head.sched.runs;
    if (d->state != THREAD_BLOCKED)
        return;
    struct text object = {0};
    wait_object(m, &object);
    if (object.len)
        d->object = object.s;
    else
        text_release(&object);
}

static struct dump_thread *find_thread(const struct dump *dump, thread_id thread)
{
    uint64_t at;
    return map_get(&dump->by_thread, thread.ix, &at) ? &dump->threads[at] : NULL;
}

/* The shot calls again for a thread whose stack was not complete.  A sample without a stack
 * replaces none that has one. */
static bool is_better(const struct dump_thread *had, const struct sample_message *m)
{
    return !(had->shot && had->complete) && !(had->sampled && m->head.flags & SAMPLE_NO_STACK);
}

static void on_sample(void *ctx, thread_id thread, const struct sample_message *m,
                      const struct built_stack *s)
{
    struct dump *dump = ctx;
    struct dump_thread *had = find_thread(dump, thread);
    struct schedstat first = had ? had->first : m->head.sched;
    if (had && !is_better(had, m)) {
        had->last = m->head.sched;
        return;
    }
    struct dump_thread *d = had ? had : dump_thread_add(dump, thread);
    const struct profile_thread *t = profile_see_thread(dump->profile, thread);
    if (had)
        dump_thread_release(had);
    *d = (struct dump_thread){
        .thread = thread,
        .pid = profile_see_process(dump->profile, t->process)->pid,
        .tid = m->head.tid,
        .sampled = !(m->head.flags & SAMPLE_NO_STACK),
        .shot = m->head.shot,
        .born = m->head.born,
        .first = first,
        .last = m->head.sched,
        .state = m->snapshot.state,
        .gil = s->gil,
        .complete = s->complete,
        .at = s->at,
        .time_out_ns = s->times_out_ns ? max_i64(s->times_out_ns - m->head.time_ns, 1) : 0,
    };
    memcpy(d->python_threads, s->python_threads, sizeof d->python_threads);
    describe_call(d, m);
    d->asks = blocked_call_of(m, &d->call);
    if (s->locals)
        d->locals = py_locals_take(s->locals);
}

/* Threads that could not be captured in time are in the dump too, with what /proc says of threads
 * without a stack.  An io_uring worker's registers are copies. */
static void add_missing(struct dump *dump)
{
    uint32_t threads = profile_thread_count(dump->profile);
    struct task_stat stat;
    for (uint32_t i = 1; i <= threads; i++) {
        const struct profile_thread *t = profile_see_thread(dump->profile, (thread_id){i});
        struct dump_thread *d = find_thread(dump, (thread_id){i});
        if (!d) {
            d = dump_thread_add(dump, (thread_id){i});
            *d = (struct dump_thread){.thread = {i},
                                      .pid = profile_see_process(dump->profile, t->process)->pid,
                                      .tid = t->tid,
                                      .gil = {.gil = PY_GIL_ABSENT}};
        }
        if (!d->sampled && !dump_thread_is_of_kind(dump, d, WAIT_IO_WORKER))
            (void)dump_proc_read(d, &stat);
    }
}

static int by_process_and_tid(const void *a, const void *b)
{
    const struct dump_thread *x = a;
    const struct dump_thread *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if ((x->tid == x->pid) != (y->tid == y->pid))
        return x->tid == x->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

void dump_hear(struct dump *d, struct recording *r)
{
    d->profile = recording_profile(r);
    d->live_waits = recording_waits(r);
    recording_on_sample(r, on_sample, d);
}

void dump_list_threads(struct dump *d)
{
    add_missing(d);
    if (d->n) /* qsort(3) takes no NULL */
        qsort(d->threads, d->n, sizeof *d->threads, by_process_and_tid);
}

/* Each look comes when what it compares with has settled. */
void dump_read_rest(struct dump *d, const struct process_set *processes,
                    const struct view_options *stacks, const struct view_options *places)
{
    if (!stacks->no_python)
        dump_tasks_read(d, processes);
    dump_tasks_link(d);
    for (size_t i = 0; i < d->n; i++)
        dump_thread_read_wchan(&d->threads[i]);
    dump_look_settle(d);
    dump_look_end(d);
    d->view = view_new(d->profile, stacks);
    if (places)
        d->places = dump_places_new(d->profile, places);
    dump_waits_find(d, processes);
}

void dump_release(struct dump *d)
{
    for (size_t i = 0; i < d->n; i++)
        dump_thread_release(&d->threads[i]);
    free(d->threads);
    map_release(&d->by_thread);
    free(d->deadlocks);
    dump_tasks_release(d);
    wait_graph_release(&d->waits);
    d->places = dump_places_free(d->places);
    view_free(d->view);
}
