#include "cli/timeline.h"

#include "base/minmax.h"

enum {
    MISSED_AFTER_INTERVALS = 2,
    /* Waits that no sample found are held against later samples for so long: enough to even out chance,
     * and no more. */
    REMEMBERED_INTERVALS = 16,
};

/* Takes what fits into ROOM of what was counted and what was carried; carries the rest. */
static int64_t take(int64_t *carry, int64_t counted, int64_t room)
{
    int64_t all = *carry + counted;
    int64_t taken = min_i64(all, room);
    *carry = all - taken;
    return taken;
}

static void add_run(struct lane *lane, struct profile *p, struct run run)
{
    run.cpu_ns = take(&lane->carry_cpu_ns, run.cpu_ns, run.wall_ns);
    run.runqueue_ns = take(&lane->carry_runqueue_ns, run.runqueue_ns, run.wall_ns - run.cpu_ns);
    if (run.wall_ns > 0)
        profile_add_run(p, lane->thread, &run);
}

/* Whenever the sampler wakes it takes a CPU from somebody: on a busy machine, one of the threads that it
 * finds waiting was running until then.  Which one cannot be seen, but how long each has waited is counted
 * by the kernel when the wait is over: no more than that is shown as waiting.  A wait that lasted for
 * several ticks is not in doubt. */
static void settle_state(struct lane *lane, struct run *run, int64_t interval_ns)
{
    lane->waited_ns =
        min_i64(lane->waited_ns, REMEMBERED_INTERVALS * interval_ns) + run->runqueue_ns;
    if (run->state != RUN_RUNNABLE)
        return;
    if (run->samples > 1 || lane->waited_ns >= run->wall_ns / 2) {
        lane->waited_ns -= run->wall_ns;
    } else {
        run->state = RUN_RUNNING;
        run->stack = lane->frames;
    }
}

/* Does nobody know what was counted since the sample?  The counts of a thread that has ended are gone. */
static bool is_uncounted(const struct lane *lane, const struct message *m)
{
    bool ended = m->kind == MESSAGE_TASK_END && !(m->flags & TASK_STILL_ALIVE);
    return (!m->sched.runs && !lane->sched.runs) ||
           (ended && m->sched.run_ns == lane->sched.run_ns);
}

/* Without the kernel's counts the state that was seen stands for all of the sample's time. */
static void count_by_state(struct run *run)
{
    bool runs = run->state == RUN_RUNNING || run->state == RUN_RUNNING_OR_RUNNABLE;
    run->cpu_ns = runs ? run->wall_ns : 0;
    run->runqueue_ns = run->state == RUN_RUNNABLE ? run->wall_ns : 0;
}

void lane_close(struct lane *lane, struct profile *p, const struct message *m, int64_t origin_ns)
{
    if (!lane->open)
        return;
    lane->open = false;
    int64_t proven_ns = m->until_ns > lane->start_ns ? m->until_ns - lane->start_ns : 0;
    int64_t all_ns = m->time_ns - lane->start_ns;
    int64_t wall_ns = min_i64(all_ns, proven_ns + MISSED_AFTER_INTERVALS * m->interval_ns);
    bool uncounted = is_uncounted(lane, m);
    bool counted = !uncounted && m->sched.runs >= lane->sched.runs && lane->sched.runs > 0;
    struct run run = {
        .stack = lane->stack,
        .state = lane->stack.ix ? lane->state : RUN_MISSED,
        .samples = !lane->resumed + m->repeats,
        .start_ns = lane->start_ns - origin_ns,
        .wall_ns = wall_ns,
        .cpu_ns = counted ? (int64_t)(m->sched.run_ns - lane->sched.run_ns) : 0,
        .runqueue_ns = counted ? (int64_t)(m->sched.wait_ns - lane->sched.wait_ns) : 0,
    };
    if (counted)
        settle_state(lane, &run, m->interval_ns);
    if (lane->by_state || uncounted)
        count_by_state(&run);
    struct profile_thread *t = profile_get_thread(p, lane->thread);
    t->cpu_ns += run.cpu_ns;
    t->runqueue_ns += run.runqueue_ns;
    add_run(lane, p, run);
    if (wall_ns < all_ns)
        add_run(lane, p,
                (struct run){.state = RUN_MISSED,
                             .samples = 0,
                             .start_ns = run.start_ns + wall_ns,
                             .wall_ns = all_ns - wall_ns});
}

void lane_open(struct lane *lane, const struct message *m, stack_id stack, stack_id frames,
               enum run_state state)
{
    lane->open = true;
    lane->stack = stack;
    lane->frames = frames;
    lane->state = state;
    lane->start_ns = m->time_ns;
    lane->sched = m->sched;
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
}

void lane_end(const struct lane *lane, struct profile *p, const struct message *m,
              int64_t origin_ns)
{
    profile_get_thread(p, lane->thread)->ended = !(m->flags & TASK_STILL_ALIVE);
    profile_end_thread(p, lane->thread, m->time_ns - origin_ns);
}
