#include "cli/timeline.h"

enum { MISSED_AFTER_INTERVALS = 2 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Takes what fits into ROOM of what was counted and what was carried; carries the rest. */
static int64_t take(int64_t *carry, int64_t counted, int64_t room)
{
    int64_t all = *carry + counted;
    int64_t taken = least(all, room);
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

void lane_close(struct lane *lane, struct profile *p, const struct message *m, int64_t origin_ns,
                int64_t interval_ns)
{
    if (!lane->open)
        return;
    lane->open = false;
    int64_t proven_ns = m->until_ns > lane->start_ns ? m->until_ns - lane->start_ns : 0;
    int64_t all_ns = m->time_ns - lane->start_ns;
    int64_t wall_ns = least(all_ns, proven_ns + MISSED_AFTER_INTERVALS * interval_ns);
    bool counted = m->sched.runs >= lane->sched.runs && lane->sched.runs > 0;
    struct run run = {
        .stack = lane->stack,
        .state = lane->stack.ix ? lane->state : RUN_MISSED,
        .samples = 1 + m->repeats,
        .start_ns = lane->start_ns - origin_ns,
        .wall_ns = wall_ns,
        .cpu_ns = counted ? (int64_t)(m->sched.run_ns - lane->sched.run_ns) : 0,
        .runqueue_ns = counted ? (int64_t)(m->sched.wait_ns - lane->sched.wait_ns) : 0,
    };
    add_run(lane, p, run);
    if (wall_ns < all_ns)
        add_run(lane, p,
                (struct run){.state = RUN_MISSED,
                             .samples = 0,
                             .start_ns = run.start_ns + wall_ns,
                             .wall_ns = all_ns - wall_ns});
}

void lane_open(struct lane *lane, const struct message *m, stack_id stack, enum run_state state)
{
    lane->open = true;
    lane->stack = stack;
    lane->state = state;
    lane->start_ns = m->time_ns;
    lane->sched = m->sched;
    if (!lane->counted) {
        lane->counted = true;
        lane->first = m->sched;
    }
}

void lane_end(const struct lane *lane, struct profile *p, const struct message *m,
              int64_t origin_ns)
{
    struct profile_thread *t = profile_get_thread(p, lane->thread);
    t->ended = !(m->flags & TASK_STILL_ALIVE);
    t->end_ns = m->time_ns - origin_ns;
    if (!lane->counted || m->sched.runs < lane->first.runs)
        return;
    t->cpu_ns += (int64_t)(m->sched.run_ns - lane->first.run_ns);
    t->runqueue_ns += (int64_t)(m->sched.wait_ns - lane->first.wait_ns);
}
