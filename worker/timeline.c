#include "worker/timeline.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"

enum {
    MISSED_AFTER_INTERVALS = 2, /* half before a sample, half after it */
    /* For so long waits that no sample found count against later samples, and samples of a woken
     * thread against later waits: enough to even out chance, and no more. */
    REMEMBERED_INTERVALS = 16,
};

/* The kernel's counts from the open sample to the next message. */
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
static struct counted_since count_since(const struct thread_timeline *timeline,
                                        const struct message *m)
{
    struct counted_since since = {0};
    bool ended = m->kind == MESSAGE_THREAD_END && !(m->flags & THREAD_STILL_ALIVE);
    since.known = !timeline->by_state && !timeline->skipped && timeline->sched.runs > 0 &&
                  m->sched.runs >= timeline->sched.runs &&
                  !(ended && m->sched.run_ns == timeline->sched.run_ns);
    if (!since.known)
        return since;
    since.cpu_ns = (int64_t)(m->sched.run_ns - timeline->sched.run_ns);
    since.runqueue_ns = (int64_t)(m->sched.wait_ns - timeline->sched.wait_ns);
    since.runs = m->sched.runs - timeline->sched.runs;
    /* The kernel counts a wait for a CPU when it is over.  Nobody will count this one. */
    bool waits_still = m->kind == MESSAGE_THREAD_END && timeline->state == RUN_RUNNABLE;
    if (waits_still && m->until_ns == m->time_ns)
        since.runqueue_ns = m->time_ns - timeline->seen_ns - since.cpu_ns;
    return since;
}

/* Without the kernel's counts the state that was seen stands for all of the sample's time. */
static struct counted_since count_by_state(enum run_state state, int64_t wall_ns)
{
    return (struct counted_since){.cpu_ns = is_running(state) ? wall_ns : 0,
                                  .runqueue_ns = state == RUN_RUNNABLE ? wall_ns : 0};
}

/* Adds to the thread's totals what was counted in ALL_NS.  HELD_NS of it wallspy held the
 * thread. */
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

/* Whenever the sampler wakes it takes a CPU from somebody: on a busy machine, one of the threads
 * that it finds waiting was running until then.  Which one is unknown, but the kernel counts how
 * long each has waited when the wait is over: no more than that is shown as waiting.  Those at the
 * end of a call that waits come first: they were just woken, and the excess of them slept until the
 * sampler took the CPU.  A wait that lasted for several ticks is not in doubt. */
static void settle_state(struct thread_timeline *timeline, struct run *run, int64_t runqueue_ns,
                         int64_t interval_ns)
{
    timeline->waited_ns =
        min_i64(timeline->waited_ns, REMEMBERED_INTERVALS * interval_ns) + runqueue_ns;
    if (run->state != RUN_RUNNABLE)
        return;
    int64_t least_ns = run->weights.wall_ns / 2;
    if (timeline->was_woken)
        least_ns = -REMEMBERED_INTERVALS * interval_ns;
    if (run->samples > 1 || timeline->surely_waits || timeline->waited_ns >= least_ns) {
        timeline->waited_ns -= run->weights.wall_ns;
    } else {
        run->state = timeline->was_woken ? RUN_BLOCKED : RUN_RUNNING;
        run->at = timeline->settled;
    }
}

/* How long a thread that was found off the CPU has waited for one at the end of that time.  While
 * it is woken but does not run yet its run count stays, and so it seems to be blocked.  If it has
 * been put on a CPU just once since, the kernel's count is this one wait. */
static int64_t wait_after_wake_up(const struct run *run, const struct counted_since *since)
{
    if (!is_off_cpu(run->state) || since->runs != 1)
        return 0;
    return min_i64(since->runqueue_ns, run->weights.wall_ns);
}

/* How often the thread was put on a CPU, but for the OWN times because of wallspy's stops. */
static uint64_t put_on_cpu_since(const struct counted_since *since, uint64_t own)
{
    return since->known && since->runs > own ? since->runs - own : 0;
}

/* A wait that more than one tick found counts as one, if the thread was PUT on a CPU since.  The
 * time from its end to the next sample is unknown: maybe a burst of other waits. */
static uint64_t count_waits(const struct message *m, uint64_t put)
{
    return m->repeats && put ? 1 : put;
}

/* Moves the last NS of RUN into a run of their own, at the same place but waiting for a CPU. */
static struct run split_off_wait(struct profile *p, const struct thread_timeline *timeline,
                                 struct run *run, int64_t ns)
{
    run->weights.wall_ns -= ns;
    wait_id cpu = profile_wait(p, &(struct wait){.kind = WAIT_CPU});
    return (struct run){.at = {timeline->settled.stack, cpu},
                        .state = RUN_RUNNABLE,
                        .start_ns = run_end_ns(run),
                        .weights.wall_ns = ns};
}

/* Adds what of RUN lies before CHANGE, and leaves the rest, with the wait's end and what comes with
 * it. */
static void add_until(struct profile *p, struct thread_timeline *timeline, struct run *run,
                      const struct side_change *change, int64_t origin_ns)
{
    int64_t before_ns = change->at_ns - origin_ns - run->start_ns;
    if (before_ns > 0) {
        struct run before = *run;
        before.weights.wall_ns = min_i64(before_ns, run->weights.wall_ns);
        if (before.weights.wall_ns < run->weights.wall_ns) {
            before.waits = 0;
            before.weights.events = (struct events){0};
        }
        add_run(p, timeline->thread, &before);
        run->samples = 0; /* those are BEFORE's */
        run->start_ns += before.weights.wall_ns;
        run->weights.wall_ns -= before.weights.wall_ns;
    }
    run->at.wait = timeline->at.wait = change->wait;
}

/* Adds what of RUN lies before the lock that it waits for changed hands, each time. */
static void add_until_changes(struct profile *p, struct thread_timeline *timeline, struct run *run,
                              int64_t origin_ns)
{
    for (size_t i = 0; i < timeline->n_changes && run->state == RUN_BLOCKED; i++)
        add_until(p, timeline, run, &timeline->changes[i], origin_ns);
    timeline->n_changes = 0;
}

/* The open sample's events; the thread was PUT on a CPU so often. */
static struct events events_of(const struct thread_timeline *timeline, uint64_t put)
{
    return (struct events){.near_faults = timeline->near_faults,
                           .around_faults = timeline->around_faults,
                           .put_on_cpu = put < UINT32_MAX ? (uint32_t)put : UINT32_MAX};
}

static void mark_counts(struct thread_timeline *timeline, struct profile *p, const struct run *last)
{
    timeline->unmarked_samples += last->samples;
    if (timeline->unmarked_samples < WEIGHTS_WINDOW)
        return;
    profile_mark_counts(p, timeline->thread, run_end_ns(last));
    timeline->unmarked_samples = 0;
}

/* Where the time of TIMELINE's open sample ends, and that of the next begins. */
struct bounds {
    int64_t proven_ns; /* the last moment at which the sample is known to hold */
    int64_t end_ns, next_ns;
};

/* Between two samples each has half of the gap: a tick comes at a random moment, and one that comes
 * early is as often far from the one before it as near to the next.  With all of the time to the
 * next tick an early one would weigh more, and a loop in step with the interval has the same place
 * early each time. */
static struct bounds bounds_of(const struct thread_timeline *timeline, const struct message *m)
{
    int64_t known_ns = max_i64(timeline->seen_ns, m->until_ns);
    int64_t proven_ns = timeline->seen_ns ? min_i64(known_ns, m->time_ns) : m->time_ns;
    int64_t gap_ns = m->time_ns - proven_ns;
    int64_t most_ns = MISSED_AFTER_INTERVALS * max_i64(m->look_ns, m->interval_ns);
    if (m->kind == MESSAGE_THREAD_END)
        return (struct bounds){proven_ns, proven_ns + min_i64(gap_ns, most_ns), m->time_ns};
    return (struct bounds){proven_ns, proven_ns + min_i64(gap_ns / 2, most_ns / 2),
                           m->time_ns - min_i64(gap_ns - gap_ns / 2, most_ns / 2)};
}

/* Did the time-out of TIMELINE's open sample end its wait?  The thread was PUT on a CPU so
 * often since, and was woken WOKEN_NS before it ran.  The call began up to two looks at it
 * before the sample, so a wait that something else ended looks the same if that came in the
 * last few of them: of waits as long as these, one in five at most. */
static bool timed_out(const struct thread_timeline *timeline, const struct message *m, uint64_t put,
                      int64_t woken_ns)
{
    enum { LEAST_LOOKS = 16, LATE_NS = 2 * NS_PER_MS };
    int64_t look_ns = max_i64(m->look_ns, m->interval_ns);
    int64_t ends_ns = timeline->times_out_ns;
    int64_t lasted_ns = m->time_ns - timeline->sampled_ns;
    return ends_ns && put && m->kind == MESSAGE_SAMPLE && lasted_ns >= LEAST_LOOKS * look_ns &&
           ends_ns >= bounds_of(timeline, m).proven_ns - woken_ns - LATE_NS &&
           ends_ns - 2 * look_ns <= m->time_ns;
}

static wait_id expired(struct profile *p, wait_id id)
{
    const struct wait *wait = profile_see_wait(p, id);
    if (!wait)
        return id;
    struct wait ret = *wait;
    ret.side.timed = ret.side.expired = true;
    return profile_wait(p, &ret);
}

/* The longest that the thread of TIMELINE, which has ended, is taken to have lived on after its
 * last sample.  One that lived for less than an interval was as likely found early as late. */
static int64_t left_ns(const struct thread_timeline *timeline)
{
    return timeline->born ? (int64_t)(timeline->sched.run_ns + timeline->sched.wait_ns) : INT64_MAX;
}

/* A thread that began during the recording: what it did before its first sample counts, too. */
static void count_from_birth(struct thread_timeline *timeline, struct profile_thread *t,
                             const struct message *m)
{
    timeline->born = m->born && m->sched.runs > 0 && !timeline->skipped;
    if (!timeline->born || timeline->by_state || t->n_runs)
        return;
    t->counts.ns[COUNTED_CPU] += (int64_t)m->sched.run_ns;
    t->counts.ns[COUNTED_RUNQUEUE] += (int64_t)m->sched.wait_ns;
}

/* Adds to the thread's totals what the kernel counted until M since the last sample, or else what
 * RUN's state says, and returns it.  MISSED_NS: what lies between RUN and the next sample. */
static struct counted_since add_counts_until(const struct thread_timeline *timeline,
                                             struct profile_thread *t, const struct message *m,
                                             const struct run *run, int64_t missed_ns)
{
    struct counted_since since = count_since(timeline, m);
    int64_t wall_ns = run->weights.wall_ns;
    int64_t all_ns = m->time_ns - timeline->seen_ns;
    if (timeline->by_state) {
        since = count_by_state(run->state, wall_ns);
        all_ns = wall_ns;
    } else if (!timeline->sched.runs || timeline->skipped) {
        since = count_by_state(run->state, wall_ns);
        all_ns = wall_ns + missed_ns;
    } else if (!since.known) {
        since = count_by_state(run->state, min_i64(all_ns - missed_ns, left_ns(timeline)));
    }
    add_counts(t, &since, all_ns, (int64_t)(m->held_ns - timeline->held_ns));
    return since;
}

/* Adds the open sample, as RUN; the time between it and the next is MISSED. */
static void add_sample(struct thread_timeline *timeline, struct profile *p, const struct message *m,
                       struct run *run, const struct run *missed, uint64_t own, int64_t origin_ns)
{
    struct profile_thread *thread = profile_get_thread(p, timeline->thread);
    thread->still_since_ns = timeline->sampled_ns - origin_ns;
    struct counted_since since =
        add_counts_until(timeline, thread, m, run, missed->weights.wall_ns);
    int64_t wait_ns = since.known ? wait_after_wake_up(run, &since) : 0;
    if (since.known)
        settle_state(timeline, run, since.runqueue_ns - wait_ns, m->interval_ns);
    uint64_t put = put_on_cpu_since(&since, own);
    run->weights.events = events_of(timeline, put);
    if (run->state == RUN_RUNNABLE)
        cpu_waits_took(&timeline->cpu_waits, run->weights.wall_ns);
    if (run->state == RUN_BLOCKED)
        run->waits = (uint32_t)min_u64(count_waits(m, put), UINT32_MAX);
    struct run waiting = {0};
    if (wait_ns > 0)
        waiting = split_off_wait(p, timeline, run, wait_ns);
    add_until_changes(p, timeline, run, origin_ns);
    if (run->state == RUN_BLOCKED && timed_out(timeline, m, put, wait_ns))
        run->at.wait = expired(p, run->at.wait);
    add_run(p, timeline->thread, run);
    add_run(p, timeline->thread, &waiting);
    add_run(p, timeline->thread, missed);
    mark_counts(timeline, p, run);
}

void thread_timeline_close(struct thread_timeline *timeline, struct profile *p,
                           const struct message *m, int64_t origin_ns)
{
    uint64_t own = m->own_switches - timeline->own_switches;
    timeline->own_switches = m->own_switches;
    timeline->own_unlooked += own;
    struct bounds bounds = bounds_of(timeline, m);
    if (!timeline->seen_ns)
        count_from_birth(timeline, profile_get_thread(p, timeline->thread), m);
    if (timeline->open) {
        bounds.end_ns = max_i64(bounds.end_ns, timeline->start_ns);
        bounds.next_ns = max_i64(bounds.next_ns, bounds.end_ns);
        struct run run = {
            .at = timeline->at,
            .state = spot_is_known(timeline->at) ? timeline->state : RUN_MISSED,
            .samples = !timeline->resumed + m->repeats,
            .start_ns = timeline->start_ns - origin_ns,
            .weights.wall_ns = bounds.end_ns - timeline->start_ns,
        };
        const struct run missed = {.state = RUN_MISSED,
                                   .start_ns = bounds.end_ns - origin_ns,
                                   .weights.wall_ns = bounds.next_ns - bounds.end_ns};
        add_sample(timeline, p, m, &run, &missed, own, origin_ns);
    }
    timeline->open = false;
    timeline->seen_ns = m->time_ns;
    timeline->start_ns = bounds.next_ns;
}

void thread_timeline_skip(struct thread_timeline *timeline, int64_t ns)
{
    timeline->skipped = true;
    if (!timeline->seen_ns) /* no sample of it has come */
        return;
    timeline->start_ns += ns;
    timeline->seen_ns += ns;
    timeline->sampled_ns += ns;
    timeline->resumed_ns = timeline->seen_ns;
    for (size_t i = 0; i < timeline->n_changes; i++)
        timeline->changes[i].at_ns += ns;
}

void thread_timeline_open(struct thread_timeline *timeline, const struct message *m, struct spot at,
                          struct spot settled, enum run_state state, bool was_woken)
{
    timeline->open = true;
    timeline->at = at;
    timeline->n_changes = 0;
    timeline->settled = settled;
    timeline->state = state;
    timeline->times_out_ns = 0;
    timeline->was_woken = was_woken;
    timeline->surely_waits = m->flags & SAMPLE_WAITS_UNASKED;
    timeline->seen_ns = timeline->taken_ns = timeline->sampled_ns = m->time_ns;
    timeline->resumed_ns = 0;
    if (!timeline->start_ns || timeline->start_ns > m->time_ns)
        timeline->start_ns = m->time_ns;
    timeline->sched = m->sched;
    timeline->skipped = false;
    timeline->held_ns = m->held_ns;
    timeline->near_faults = m->near_faults;
    timeline->around_faults = m->around_faults;
    timeline->resumed = false;
    timeline->samples++;
}

bool thread_timeline_open_sample(const struct thread_timeline *timeline, struct open_sample *ret)
{
    if (timeline->open)
        *ret = (struct open_sample){timeline->taken_ns, timeline->sched.runs, timeline->at.wait};
    return timeline->open;
}

/* What others know from before a pause has the time of then; the open sample has been moved. */
static int64_t moved_by_pauses(const struct thread_timeline *timeline, int64_t at_ns)
{
    if (at_ns >= timeline->resumed_ns)
        return at_ns;
    return min_i64(at_ns + timeline->sampled_ns - timeline->taken_ns, timeline->resumed_ns);
}

void thread_timeline_change_side(struct thread_timeline *timeline, struct profile *p,
                                 const struct wait_side *side, int64_t at_ns)
{
    const struct wait *now = profile_see_wait(p, timeline->at.wait);
    if (!timeline->open || !now || at_ns < timeline->taken_ns)
        return;
    at_ns = moved_by_pauses(timeline, at_ns);
    struct wait wait = *now;
    wait.side = *side;
    if (timeline->n_changes == MOST_SIDE_CHANGES) {
        wait.side.blocker = (struct blocker){.kind = BLOCKER_UNKNOWN};
        at_ns = timeline->changes[--timeline->n_changes].at_ns;
    }
    timeline->changes = array_reserve(timeline->changes, &timeline->changes_capacity,
                                      timeline->n_changes + 1, sizeof *timeline->changes);
    size_t place = timeline->n_changes++;
    for (; place && timeline->changes[place - 1].at_ns > at_ns; place--)
        timeline->changes[place] = timeline->changes[place - 1];
    timeline->changes[place] = (struct side_change){profile_wait(p, &wait), at_ns};
}

void thread_timeline_release(struct thread_timeline *timeline)
{
    free(timeline->changes);
    timeline->changes = NULL;
    timeline->n_changes = timeline->changes_capacity = 0;
}

void thread_timeline_exec(struct thread_timeline *timeline, struct profile *p,
                          const struct message *m, int64_t execed_ns, int64_t origin_ns)
{
    struct profile_thread *t = profile_get_thread(p, timeline->thread);
    int64_t end_ns = execed_ns - origin_ns;
    timeline->start_ns = m->time_ns;
    if (!t->n_runs)
        return;
    const struct run *last = &t->runs[t->n_runs - 1];
    if (end_ns < run_end_ns(last))
        end_ns = run_end_ns(last);
    frame_id mark = profile_mark(p, "[execve]", NULL);
    struct run run = {.at.stack = profile_push(p, (stack_id){0}, mark),
                      .state = RUN_RUNNING,
                      .start_ns = end_ns,
                      .weights.wall_ns = m->time_ns - origin_ns - end_ns};
    if (run.weights.wall_ns > 0)
        profile_add_run(p, timeline->thread, &run);
}

void thread_timeline_hold(struct thread_timeline *timeline, struct profile *p,
                          const struct message *m, int64_t origin_ns)
{
    if (!timeline->open)
        return;
    thread_timeline_close(timeline, p, m, origin_ns);
    timeline->open = timeline->resumed = true;
    timeline->sched = m->sched;
    timeline->skipped = false;
    timeline->held_ns = m->held_ns;
    timeline->near_faults = timeline->around_faults = 0;
}

void thread_timeline_end(const struct thread_timeline *timeline, struct profile *p,
                         const struct message *m, int64_t origin_ns)
{
    profile_get_thread(p, timeline->thread)->ended = !(m->flags & THREAD_STILL_ALIVE);
    profile_end_thread(p, timeline->thread, m->time_ns - origin_ns);
}
