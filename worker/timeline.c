#include "worker/timeline.h"

#include "base/minmax.h"
#include "worker/leaf.h"

enum {
    MISSED_AFTER_INTERVALS = 2,
    /* Waits that no sample found are held against later samples for so long, and samples of a woken thread against
     * later waits: enough to even out chance, and no more. */
    REMEMBERED_INTERVALS = 16,
};

/* What the kernel counted from the open sample to the next message. */
struct counted_since {
    bool known;
    int64_t cpu_ns, runqueue_ns;
    uint64_t runs;
};

enum run_state run_state_of(enum thread_state state)
{
    static const enum run_state states[] = {
        [THREAD_RUNNING] = RUN_RUNNING,
        [THREAD_RUNNABLE] = RUN_RUNNABLE,
        [THREAD_BLOCKED] = RUN_BLOCKED,
        [THREAD_STOPPED] = RUN_STOPPED,
        [THREAD_RUNNING_OR_RUNNABLE] = RUN_RUNNING_OR_RUNNABLE,
    };
    return states[state];
}

static bool is_running(enum run_state state)
{
    return state == RUN_RUNNING || state == RUN_RUNNING_OR_RUNNABLE;
}

static bool is_off_cpu(enum run_state state)
{
    return state == RUN_BLOCKED || state == RUN_STOPPED;
}

/* The counts of a thread that has ended are gone: it shows those last read. */
static struct counted_since count_since(const struct lane *lane, const struct message *m)
{
    struct counted_since since = {0};
    bool ended = m->kind == MESSAGE_TASK_END && !(m->flags & TASK_STILL_ALIVE);
    since.known = !lane->by_state && lane->sched.runs > 0 && m->sched.runs >= lane->sched.runs &&
                  !(ended && m->sched.run_ns == lane->sched.run_ns);
    if (!since.known)
        return since;
    since.cpu_ns = (int64_t)(m->sched.run_ns - lane->sched.run_ns);
    since.runqueue_ns = (int64_t)(m->sched.wait_ns - lane->sched.wait_ns);
    since.runs = m->sched.runs - lane->sched.runs;
    /* The kernel counts a wait for a CPU when it is over.  Nobody will count this one. */
    bool waits_still = m->kind == MESSAGE_TASK_END && lane->state == RUN_RUNNABLE;
    if (waits_still && m->until_ns == m->time_ns)
        since.runqueue_ns = m->time_ns - lane->start_ns - since.cpu_ns;
    return since;
}

/* Without the kernel's counts the state that was seen stands for all of the sample's time. */
static struct counted_since count_by_state(const struct run *run)
{
    int64_t wall_ns = run->weights.wall_ns;
    return (struct counted_since){.cpu_ns = is_running(run->state) ? wall_ns : 0,
                                  .runqueue_ns = run->state == RUN_RUNNABLE ? wall_ns : 0};
}

/* Adds to the thread's totals what was counted in ALL_NS.  HELD_NS of it wallspy held the thread. */
static void add_counts(struct profile_thread *t, const struct counted_since *since, int64_t all_ns,
                       int64_t held_ns)
{
    t->counts.ns[COUNTED_CPU] += since->cpu_ns;
    t->counts.ns[COUNTED_RUNQUEUE] += since->runqueue_ns;
    t->counts.ns[COUNTED_OFF_CPU] += all_ns - since->cpu_ns - since->runqueue_ns - held_ns;
}

static void add_run(struct profile *p, thread_id thread, const struct run *run)
{
    if (run->weights.wall_ns > 0)
        profile_add_run(p, thread, run);
}

/* Whenever the sampler wakes it takes a CPU from somebody: on a busy machine, one of the threads that it
 * finds waiting was running until then.  Which one cannot be seen, but how long each has waited is counted
 * by the kernel when the wait is over: no more than that is shown as waiting.  Those at the end of a call that waits come
 * first: they were just woken, and what is too many of them slept until the sampler took the CPU.  A wait that lasted for
 * several ticks is not in doubt. */
static void settle_state(struct lane *lane, struct run *run, int64_t runqueue_ns,
                         int64_t interval_ns)
{
    lane->waited_ns = min_i64(lane->waited_ns, REMEMBERED_INTERVALS * interval_ns) + runqueue_ns;
    if (run->state != RUN_RUNNABLE)
        return;
    int64_t least_ns = run->weights.wall_ns / 2;
    if (lane->was_woken)
        least_ns = -REMEMBERED_INTERVALS * interval_ns;
    if (run->samples > 1 || lane->waited_ns >= least_ns) {
        lane->waited_ns -= run->weights.wall_ns;
    } else {
        run->state = lane->was_woken ? RUN_BLOCKED : RUN_RUNNING;
        run->stack = lane->frames;
    }
}

/* How long a thread that was found off the CPU has waited for one at the end of that time.  While it is woken but does
 * not run yet its run count stays, and so it seems to be blocked.  If it has been put on a CPU just once since, all
 * that the kernel counted is this one wait. */
static int64_t wait_after_wake_up(const struct run *run, const struct counted_since *since)
{
    if (!is_off_cpu(run->state) || since->runs != 1)
        return 0;
    return min_i64(since->runqueue_ns, run->weights.wall_ns);
}

/* Moves the last NS of RUN into a run of their own, at the same place but waiting for a CPU. */
static struct run split_off_wait(struct profile *p, const struct lane *lane, struct run *run,
                                 int64_t ns)
{
    run->weights.wall_ns -= ns;
    return (struct run){.stack = profile_push(p, lane->frames, leaf_waiting_for_cpu(p)),
                        .state = RUN_RUNNABLE,
                        .start_ns = run->start_ns + run->weights.wall_ns,
                        .weights.wall_ns = ns};
}

static void mark_counts(struct lane *lane, struct profile *p, const struct run *last)
{
    lane->unmarked_samples += last->samples;
    if (lane->unmarked_samples < WEIGHTS_WINDOW)
        return;
    profile_mark_counts(p, lane->thread, last->start_ns + last->weights.wall_ns);
    lane->unmarked_samples = 0;
}

void lane_close(struct lane *lane, struct profile *p, const struct message *m, int64_t origin_ns)
{
    if (!lane->open)
        return;
    lane->open = false;
    int64_t proven_ns = m->until_ns > lane->start_ns ? m->until_ns - lane->start_ns : 0;
    int64_t all_ns = m->time_ns - lane->start_ns;
    int64_t wall_ns = min_i64(all_ns, proven_ns + MISSED_AFTER_INTERVALS * m->interval_ns);
    struct run run = {
        .stack = lane->stack,
        .state = lane->stack.ix ? lane->state : RUN_MISSED,
        .samples = !lane->resumed + m->repeats,
        .start_ns = lane->start_ns - origin_ns,
        .weights.wall_ns = wall_ns,
    };
    struct run missed = {.state = RUN_MISSED,
                         .start_ns = run.start_ns + wall_ns,
                         .weights.wall_ns = all_ns - wall_ns};
    struct counted_since since = count_since(lane, m);
    int64_t wait_ns = since.known ? wait_after_wake_up(&run, &since) : 0;
    if (since.known)
        settle_state(lane, &run, since.runqueue_ns - wait_ns, m->interval_ns);
    else
        since = count_by_state(&run);
    add_counts(profile_get_thread(p, lane->thread), &since, lane->by_state ? wall_ns : all_ns,
               (int64_t)(m->held_ns - lane->held_ns));
    struct run waiting = {0};
    if (wait_ns > 0)
        waiting = split_off_wait(p, lane, &run, wait_ns);
    add_run(p, lane->thread, &run);
    add_run(p, lane->thread, &waiting);
    add_run(p, lane->thread, &missed);
    mark_counts(lane, p, &run);
}

void lane_open(struct lane *lane, const struct message *m, stack_id stack, stack_id frames,
               enum run_state state, bool was_woken)
{
    lane->open = true;
    lane->stack = stack;
    lane->frames = frames;
    lane->state = state;
    lane->was_woken = was_woken;
    lane->start_ns = m->time_ns;
    lane->sched = m->sched;
    lane->held_ns = m->held_ns;
    lane->resumed = false;
    lane->samples++;
}

void lane_hold(struct lane *lane, struct profile *p, const struct message *m, int64_t origin_ns)
{
    if (!lane->open)
        return;
    lane_close(lane, p, m, origin_ns);
    lane->open = lane->resumed = true;
    lane->start_ns = m->time_ns;
    lane->sched = m->sched;
    lane->held_ns = m->held_ns;
}

void lane_end(const struct lane *lane, struct profile *p, const struct message *m,
              int64_t origin_ns)
{
    profile_get_thread(p, lane->thread)->ended = !(m->flags & TASK_STILL_ALIVE);
    profile_end_thread(p, lane->thread, m->time_ns - origin_ns);
}
