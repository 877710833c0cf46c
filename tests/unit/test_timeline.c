#include "worker/timeline.h"

#include "base/clock.h"
#include "tests/support/check_main.h"

enum { ORIGIN = 1000 };
static const int64_t MS = NS_PER_MS;

static struct profile *profile;
static struct thread_timeline timeline;
static struct spot spot;

static void set_up(void)
{
    profile = profile_new(0);
    process_id process = profile_process(profile, &(struct profile_process){.pid = 1});
    timeline = (struct thread_timeline){
        .thread = profile_thread(profile, process, 1, profile_string(profile, "t"), 0)};
    spot = spot_of_stack(profile_push(profile, (stack_id){0}, profile_mark(profile, "f", NULL)));
}

static struct spot in_wait(const struct wait *wait)
{
    return (struct spot){spot.stack, profile_wait(profile, wait)};
}

static struct message at(int64_t ms, int64_t until_ms, uint64_t run_ms, uint64_t wait_ms)
{
    return (struct message){.kind = MESSAGE_SAMPLE,
                            .time_ns = ORIGIN + ms * MS,
                            .until_ns = ORIGIN + until_ms * MS,
                            .interval_ns = 10 * MS,
                            .sched = {run_ms * NS_PER_MS, wait_ms * NS_PER_MS, 5}};
}

static const struct run *run_at(size_t i, size_t n)
{
    const struct profile_thread *t = profile_see_thread(profile, timeline.thread);
    ck_assert_uint_eq(t->n_runs, n);
    return &t->runs[i];
}

static int64_t counted(enum counted kind)
{
    return profile_see_thread(profile, timeline.thread)->counts.ns[kind];
}

START_TEST(samples_share_the_gap_between_them)
{
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message second = at(12, 0, 107, 12);
    struct message end = at(20, 12, 107, 12);
    end.kind = MESSAGE_THREAD_END;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    const struct run *run = run_at(0, 1);
    ck_assert_int_eq(run->weights.wall_ns, 6 * MS);
    ck_assert_int_eq(run->state, RUN_RUNNING);
    ck_assert_int_eq(counted(COUNTED_CPU), 7 * MS);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), 2 * MS);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 3 * MS);
    thread_timeline_open(&timeline, &second, spot, spot, RUN_BLOCKED, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(run_at(1, 2)->start_ns, 6 * MS);
    ck_assert_int_eq(run_at(1, 2)->weights.wall_ns, (6 + 8) * MS);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), (3 + 8) * MS);
}
END_TEST

/* Put on a CPU five times, twice of that by wallspy's stops. */
START_TEST(events_come_without_those_of_stops)
{
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message second = at(12, 0, 107, 12);
    first.near_faults = 7;
    first.around_faults = 9;
    first.own_switches = 1;
    second.sched.runs += 5;
    second.own_switches = 3;
    thread_timeline_close(&timeline, profile, &first, ORIGIN);
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_uint_eq(run_at(0, 1)->weights.events.near_faults, 7);
    ck_assert_uint_eq(run_at(0, 1)->weights.events.around_faults, 9);
    ck_assert_uint_eq(run_at(0, 1)->weights.events.put_on_cpu, 3);
    ck_assert_uint_eq(timeline.own_unlooked, 3);
    ck_assert_uint_eq(profile_see_thread(profile, timeline.thread)->own_switches, 0);
}
END_TEST

START_TEST(gap_without_proof_is_missed)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(100, 0, 190, 0);
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 2)->weights.wall_ns, 10 * MS);
    ck_assert_int_eq(counted(COUNTED_CPU), 90 * MS);
    ck_assert_int_eq(run_at(1, 2)->state, RUN_MISSED);
    ck_assert_int_eq(run_at(1, 2)->weights.wall_ns, 80 * MS);
    ck_assert_int_eq(run_at(1, 2)->start_ns, 10 * MS);
    struct message end = at(130, 0, 190, 0);
    end.kind = MESSAGE_THREAD_END;
    thread_timeline_open(&timeline, &second, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(run_at(2, 4)->start_ns, 90 * MS);
    ck_assert_int_eq(run_at(2, 4)->weights.wall_ns, (10 + 20) * MS);
    ck_assert_int_eq(run_at(3, 4)->state, RUN_MISSED);
    ck_assert_int_eq(run_at(3, 4)->weights.wall_ns, 10 * MS);
}
END_TEST

/* The worker may lag, and the rate have changed since. */
START_TEST(gap_is_measured_by_the_rate_of_its_time)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(100, 0, 190, 0);
    second.interval_ns = 30 * MS;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 2)->weights.wall_ns, 30 * MS);
    ck_assert_int_eq(run_at(1, 2)->weights.wall_ns, 40 * MS);
}
END_TEST

START_TEST(state_counts_where_the_kernel_does_not)
{
    set_up();
    struct message m = {.time_ns = ORIGIN, .interval_ns = 10 * MS};
    const enum run_state states[] = {RUN_RUNNING_OR_RUNNABLE, RUN_BLOCKED, RUN_RUNNABLE,
                                     RUN_RUNNING};
    for (int i = 0; i < 4; i++) {
        thread_timeline_open(&timeline, &m, spot, spot, states[i], false);
        m.time_ns += (i + 1) * MS;
        m.kind = i == 3 ? MESSAGE_THREAD_END : MESSAGE_SAMPLE;
        thread_timeline_close(&timeline, profile, &m, ORIGIN);
    }
    thread_timeline_end(&timeline, profile, &m, ORIGIN);
    ck_assert_int_eq(2 * counted(COUNTED_CPU), (1 + 3 + 8) * MS);
    ck_assert_int_eq(2 * counted(COUNTED_RUNQUEUE), (2 + 3) * MS);
    ck_assert_int_eq(2 * counted(COUNTED_OFF_CPU), (1 + 2) * MS);
}
END_TEST

/* A thread's counts are gone when it has ended: else all of one that lives for less than an
 * interval were a wait. */
START_TEST(state_counts_from_the_last_sample_to_the_end)
{
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message second = at(10, 0, 107, 12);
    struct message end = at(16, 0, 107, 12);
    end.kind = MESSAGE_THREAD_END;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    thread_timeline_open(&timeline, &second, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_CPU), (7 + 6) * MS);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), 2 * MS);
    thread_timeline_open(&timeline, &second, spot, spot, RUN_BLOCKED, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_CPU), (7 + 6) * MS);
    thread_timeline_open(&timeline, &second, spot, spot, RUN_RUNNABLE, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_CPU), (7 + 6) * MS);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), (2 + 6) * MS);
    end.flags = THREAD_STILL_ALIVE; /* they were read just now */
    thread_timeline_open(&timeline, &second, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_CPU), (7 + 6) * MS);
}
END_TEST

/* Of a thread that began during the recording all counts are of it, those before its first sample,
 * too; of another they are what it did before. */
START_TEST(counts_of_a_birth_begin_at_0)
{
    for (int born = 0; born < 2; born++) {
        set_up();
        struct message first = at(0, 0, 3, 1);
        struct message end = at(9, 0, 3, 1);
        end.kind = MESSAGE_THREAD_END;
        first.born = end.born = born;
        thread_timeline_close(&timeline, profile, &first, ORIGIN);
        thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
        thread_timeline_close(&timeline, profile, &end, ORIGIN);
        /* It was found after 4 ms: as likely it had lived for another 4 then. */
        ck_assert_int_eq(counted(COUNTED_CPU), (born ? 3 + 4 : 9) * MS);
        ck_assert_int_eq(counted(COUNTED_RUNQUEUE), (born ? 1 : 0) * MS);
        profile_free(profile);
    }
}
END_TEST

/* After execve a thread has another number, and its counts go on. */
START_TEST(counts_of_a_birth_are_added_once)
{
    set_up();
    struct message first = at(0, 0, 3, 1);
    struct message exec = at(10, 0, 13, 1);
    first.born = exec.born = true;
    exec.sched.runs++;
    thread_timeline_close(&timeline, profile, &first, ORIGIN);
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &exec, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_CPU), 13 * MS);
    timeline = (struct thread_timeline){.thread = timeline.thread};
    thread_timeline_close(&timeline, profile, &exec, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_CPU), 13 * MS);
}
END_TEST

/* With --gil the thread did other things between two samples, and the kernel's counts are of
 * all. */
START_TEST(state_counts_where_samples_are_left_out)
{
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message second = at(12, 0, 103, 12);
    timeline.by_state = true;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->weights.wall_ns, 6 * MS);
    ck_assert_int_eq(counted(COUNTED_CPU), 6 * MS);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), 0);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 0);
    struct message third = at(22, 0, 103, 12);
    struct message end = at(32, 0, 103, 12);
    end.kind = MESSAGE_THREAD_END;
    thread_timeline_close(&timeline, profile, &third, ORIGIN); /* the second was left out */
    thread_timeline_open(&timeline, &third, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(run_at(1, 2)->start_ns, 17 * MS);
    ck_assert_int_eq(run_at(1, 2)->weights.wall_ns, (5 + 10) * MS);
    ck_assert_int_eq(counted(COUNTED_CPU), (6 + 5 + 10) * MS);
}
END_TEST

START_TEST(proof_covers_any_gap)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(100, 95, 102, 0);
    second.repeats = 9;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_BLOCKED, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->weights.wall_ns, 97 * MS + MS / 2);
    ck_assert_uint_eq(run_at(0, 1)->samples, 10);
    ck_assert_int_eq(counted(COUNTED_CPU), 2 * MS);
}
END_TEST

/* schedstat lags by up to a tick: more than all of the interval, after none. */
START_TEST(counts_that_lag_add_up)
{
    set_up();
    struct message times[] = {at(0, 0, 100, 0), at(10, 0, 100, 0), at(20, 0, 118, 0)};
    for (int i = 0; i < 2; i++) {
        thread_timeline_open(&timeline, &times[i], spot, spot, RUN_RUNNING, false);
        thread_timeline_close(&timeline, profile, &times[i + 1], ORIGIN);
    }
    ck_assert_int_eq(counted(COUNTED_CPU), 18 * MS);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 2 * MS);
}
END_TEST

START_TEST(holds_are_not_counted_as_time_off_the_cpu)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(10, 0, 108, 0);
    first.held_ns = 5 * NS_PER_MS;
    second.held_ns = 7 * NS_PER_MS;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 0);
}
END_TEST

/* Until it runs, a thread that was woken has the run count of its sleep. */
START_TEST(wait_after_a_sleep_ends_its_stretch)
{
    set_up();
    struct spot asleep = in_wait(&(struct wait){.kind = WAIT_CALL});
    struct message first = at(0, 0, 100, 10);
    struct message second = at(100, 95, 101, 40);
    second.repeats = 9;
    second.sched.runs = first.sched.runs + 1;
    thread_timeline_open(&timeline, &first, asleep, spot, RUN_BLOCKED, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 2)->state, RUN_BLOCKED);
    ck_assert_int_eq(run_at(0, 2)->weights.wall_ns, 67 * MS + MS / 2);
    ck_assert_int_eq(run_at(1, 2)->state, RUN_RUNNABLE);
    ck_assert_int_eq(run_at(1, 2)->weights.wall_ns, 30 * MS);
    ck_assert_int_eq(run_at(1, 2)->start_ns, 67 * MS + MS / 2);
    ck_assert_int_eq(profile_see_wait(profile, run_at(1, 2)->at.wait)->kind, WAIT_CPU);
    ck_assert_uint_eq(run_at(1, 2)->at.stack.ix, spot.stack.ix);
}
END_TEST

/* Put on a CPU several times since: the waits lie anywhere between. */
START_TEST(waits_of_several_runs_are_not_placed)
{
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message second = at(10, 0, 101, 14);
    second.sched.runs = first.sched.runs + 2;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_BLOCKED, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->state, RUN_BLOCKED);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), 4 * MS);
}
END_TEST

/* The kernel counts a wait for a CPU when it is over. */
START_TEST(wait_that_does_not_end_is_counted)
{
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message end = at(500, 500, 100, 10);
    end.kind = MESSAGE_THREAD_END;
    end.flags = THREAD_STILL_ALIVE;
    end.repeats = 49;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNABLE, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), 500 * MS);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 0);
}
END_TEST

/* Found waiting at each tick, but the kernel counted half of that: the sampler itself was in the
 * way at the other half. */
START_TEST(waiting_is_shown_as_counted)
{
    set_up();
    struct spot waiting = in_wait(&(struct wait){.kind = WAIT_CPU});
    const struct message before = at(-10, -10, 100, 0);
    const struct message begin = at(0, -10, 100, 0);
    thread_timeline_open(&timeline, &before, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &begin, ORIGIN);
    for (int64_t i = 0; i < 100; i++) {
        struct message now = at(10 * i, 0, 100, 5 * (uint64_t)i);
        struct message next = at(10 * i + 10, 0, 100, 5 * (uint64_t)i + 5);
        thread_timeline_open(&timeline, &now, waiting, spot, RUN_RUNNABLE, false);
        thread_timeline_close(&timeline, profile, &next, ORIGIN);
    }
    const struct profile_thread *t = profile_see_thread(profile, timeline.thread);
    int64_t waited_ns = 0;
    for (size_t i = 0; i < t->n_runs; i++) {
        bool waits = t->runs[i].state == RUN_RUNNABLE;
        ck_assert(spots_are_same(t->runs[i].at, waits ? waiting : spot));
        waited_ns += waits ? t->runs[i].weights.wall_ns : 0;
    }
    ck_assert_int_eq(waited_ns, 500 * MS);
}
END_TEST

/* One that was woken most likely waits, one that was not most likely ran until the sampler took its
 * CPU. */
START_TEST(wait_of_a_thread_that_was_woken_is_less_in_doubt)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(10, 0, 105, 1);
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNABLE, true);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->state, RUN_RUNNABLE);
    struct message third = at(20, 0, 105, 2);
    timeline.waited_ns = -200 * MS;
    thread_timeline_open(&timeline, &second, spot, spot, RUN_RUNNABLE, true);
    thread_timeline_close(&timeline, profile, &third, ORIGIN);
    ck_assert_int_eq(run_at(1, 2)->state, RUN_BLOCKED); /* the kernel counted less than one */
}
END_TEST

START_TEST(long_wait_is_not_in_doubt)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(50, 45, 100, 0);
    second.repeats = 4;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNABLE, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->state, RUN_RUNNABLE);
}
END_TEST

START_TEST(sample_held_so_far_is_there_once)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message still = at(50, 50, 100, 0);
    still.repeats = 5;
    struct message second = at(100, 95, 102, 0);
    second.repeats = 4;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_BLOCKED, false);
    thread_timeline_hold(&timeline, profile, &still, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->weights.wall_ns, 50 * MS);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->weights.wall_ns, 97 * MS + MS / 2);
    ck_assert_uint_eq(run_at(0, 1)->samples, 10);
    ck_assert_int_eq(counted(COUNTED_CPU), 2 * MS);
}
END_TEST

/* A stop breaks a wait off and puts the thread on a CPU twice: it is the same wait. */
START_TEST(stops_end_no_wait)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message still = at(50, 50, 100, 0);
    still.repeats = 5;
    still.sched.runs += 2;
    still.own_switches = 2;
    struct message second = at(100, 95, 102, 0);
    second.repeats = 4;
    second.sched.runs += 3;
    second.own_switches = 2;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_BLOCKED, false);
    thread_timeline_hold(&timeline, profile, &still, ORIGIN);
    ck_assert_uint_eq(run_at(0, 1)->waits, 0);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_uint_eq(run_at(0, 1)->waits, 1);
}
END_TEST

/* Found waiting for a CPU, but the kernel counted no wait; a mark that stands for the whole stack
 * stays. */
START_TEST(mark_of_no_stack_stays)
{
    set_up();
    struct message first = at(0, 0, 100, 0);
    struct message second = at(10, 0, 110, 0);
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNABLE, false);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
    ck_assert_int_eq(run_at(0, 1)->state, RUN_RUNNING);
    ck_assert(spots_are_same(run_at(0, 1)->at, spot));
}
END_TEST

/* The run at I waits for a lock of this thread's; 0: nobody's that is known. */
static pid_t holder_at(size_t i, size_t n)
{
    return profile_see_wait(profile, run_at(i, n)->at.wait)->side.blocker.tid;
}

enum { HELD_MS = 4, WAIT_MS = HELD_MS * (MOST_SIDE_CHANGES + 3) };

/* A wait of WAIT_MS for a lock that has another holder CHANGES times, each for HELD_MS. */
static void wait_through(int changes)
{
    set_up();
    struct wait wait = {
        .kind = WAIT_CALL,
        .side = {.thing = THING_MUTEX, .blocker = {.kind = BLOCKER_THREAD, .tid = 2}}};
    struct spot waits = in_wait(&wait);
    struct message first = at(0, 0, 100, 0);
    struct message held = at(WAIT_MS - 2, WAIT_MS - 2, 100, 0);
    struct message second = at(WAIT_MS, WAIT_MS, 100, 0);
    second.sched.runs++;
    thread_timeline_open(&timeline, &first, waits, spot, RUN_BLOCKED, false);
    for (int64_t i = 1; i <= changes; i++) {
        wait.side.blocker.tid = (pid_t)(2 + i);
        thread_timeline_change_side(&timeline, profile, &wait.side, ORIGIN + i * HELD_MS * MS);
    }
    thread_timeline_hold(&timeline, profile, &held, ORIGIN);
    thread_timeline_close(&timeline, profile, &second, ORIGIN);
}

START_TEST(a_lock_changes_hands_while_a_thread_waits)
{
    for (int i = 0; i < 5; i++) {
        const int all[] = {0, 1, 10, MOST_SIDE_CHANGES, MOST_SIDE_CHANGES + 1};
        int changes = all[i];
        wait_through(changes);
        bool too_many = changes > MOST_SIDE_CHANGES;
        size_t last = (size_t)(too_many ? MOST_SIDE_CHANGES : changes);
        for (size_t k = 0; k < last; k++) {
            ck_assert_int_eq(holder_at(k, last + 1), 2 + (int)k);
            ck_assert_int_eq(run_at(k, last + 1)->weights.wall_ns, HELD_MS * MS);
            ck_assert_int_eq(run_at(k, last + 1)->state, RUN_BLOCKED);
            ck_assert_uint_eq(run_at(k, last + 1)->waits, 0);
            ck_assert_uint_eq(run_at(k, last + 1)->weights.events.put_on_cpu, 0);
        }
        ck_assert_uint_eq(run_at(last, last + 1)->waits, 1); /* it was one wait */
        ck_assert_uint_eq(run_at(last, last + 1)->weights.events.put_on_cpu, 1);
        ck_assert_int_eq(holder_at(last, last + 1), too_many ? 0 : 2 + (int)last);
        ck_assert_int_eq(run_at(last, last + 1)->weights.wall_ns,
                         (WAIT_MS - (int64_t)last * HELD_MS) * MS);
        ck_assert_int_eq(counted(COUNTED_OFF_CPU), WAIT_MS * MS);
        ck_assert_int_eq(profile_see_thread(profile, timeline.thread)->still_since_ns, 0);
        thread_timeline_release(&timeline);
        profile_free(profile);
    }
}
END_TEST

/* A pause of 100 ms between 12 and 112: the profile's time stood still. */
START_TEST(a_pause_takes_no_time)
{
    enum { PAUSE_MS = 100 };
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message next = at(10 + PAUSE_MS + 10, 10, 190, 12); /* it ran in the pause, too */
    struct message end = at(20 + PAUSE_MS + 10, 10 + PAUSE_MS + 20, 200, 12);
    end.kind = MESSAGE_THREAD_END;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_RUNNING, false);
    thread_timeline_skip(&timeline, PAUSE_MS * MS);
    thread_timeline_close(&timeline, profile, &next, ORIGIN + PAUSE_MS * MS);
    const struct run *run = run_at(0, 1);
    ck_assert_int_eq(run->start_ns, 0);
    ck_assert_int_eq(run->weights.wall_ns, 10 * MS);
    ck_assert_int_eq(counted(COUNTED_CPU), 10 * MS);
    ck_assert_int_eq(counted(COUNTED_RUNQUEUE), 0);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 0);
    thread_timeline_open(&timeline, &next, spot, spot, RUN_RUNNING, false);
    thread_timeline_close(&timeline, profile, &end, ORIGIN + PAUSE_MS * MS);
    ck_assert_int_eq(run_end_ns(run_at(0, 1)), 30 * MS);
    ck_assert_int_eq(counted(COUNTED_CPU), 20 * MS); /* counted exactly again */
    ck_assert_uint_eq(run_at(0, 1)->samples, 2);
}
END_TEST

/* One that sleeps all the while: what is known of it before and after the pause is no gap. */
START_TEST(a_sleep_goes_on_through_a_pause)
{
    enum { PAUSE_MS = 100 };
    set_up();
    struct message first = at(0, 0, 100, 10);
    struct message still = at(50, 50, 100, 10);
    struct message end = at(60 + PAUSE_MS, 60 + PAUSE_MS, 100, 10);
    end.kind = MESSAGE_THREAD_END;
    end.flags = THREAD_STILL_ALIVE;
    thread_timeline_open(&timeline, &first, spot, spot, RUN_BLOCKED, false);
    thread_timeline_hold(&timeline, profile, &still, ORIGIN);
    thread_timeline_skip(&timeline, PAUSE_MS * MS);
    thread_timeline_close(&timeline, profile, &end, ORIGIN + PAUSE_MS * MS);
    const struct run *run = run_at(0, 1);
    ck_assert_int_eq(run->weights.wall_ns, 60 * MS);
    ck_assert_int_eq(run->state, RUN_BLOCKED);
    ck_assert_int_eq(counted(COUNTED_OFF_CPU), 60 * MS);
    ck_assert_int_eq(counted(COUNTED_CPU), 0);
}
END_TEST

/* Whoever looks for what a thread waits for knows its sample by when it was taken, and tells of
 * changes in the time of then: a pause of 100 ms from 50 ms on changes neither. */
START_TEST(an_open_sample_is_known_again_after_a_pause)
{
    enum { PAUSE_MS = 100 };
    set_up();
    struct wait wait = {.kind = WAIT_CALL, .side.blocker = {.kind = BLOCKER_THREAD, .tid = 2}};
    struct message first = at(1, 1, 100, 10);
    struct message still = at(50, 50, 100, 10);
    struct message end = at(100 + PAUSE_MS, 100 + PAUSE_MS, 100, 10);
    struct open_sample open;
    thread_timeline_open(&timeline, &first, in_wait(&wait), spot, RUN_BLOCKED, false);
    thread_timeline_hold(&timeline, profile, &still, ORIGIN);
    thread_timeline_skip(&timeline, PAUSE_MS * MS);
    ck_assert(thread_timeline_open_sample(&timeline, &open));
    ck_assert_int_eq(open.since_ns, first.time_ns);
    static const int64_t at_ms[] = {0, 49, 60 + PAUSE_MS}; /* the sample is of 1 ms */
    for (int i = 0; i < 3; i++) {
        wait.side.blocker.tid = 3 + i;
        thread_timeline_change_side(&timeline, profile, &wait.side, ORIGIN + at_ms[i] * MS);
    }
    thread_timeline_close(&timeline, profile, &end, ORIGIN + PAUSE_MS * MS);
    ck_assert(!thread_timeline_open_sample(&timeline, &open));
    ck_assert_int_eq(holder_at(0, 3), 2);
    ck_assert_int_eq(holder_at(1, 3), 4);
    ck_assert_int_eq(run_at(1, 3)->start_ns, 50 * MS); /* what came before that is in the profile */
    ck_assert_int_eq(holder_at(2, 3), 5);
    ck_assert_int_eq(run_at(2, 3)->start_ns, 60 * MS);
    thread_timeline_release(&timeline);
}
END_TEST

/* Looked at every LOOK_MS, blocked from 0 ms on with a time-out at DUE_MS, found last at UNTIL_MS,
 * and running at 510 ms, when it has been put on a CPU RUNS times after it waited for that for
 * WOKEN_MS. */
static bool expires_of(int64_t look_ms, int64_t due_ms, int64_t until_ms, uint64_t runs,
                       uint64_t woken_ms)
{
    set_up();
    struct spot asleep = in_wait(&(struct wait){.kind = WAIT_CALL});
    struct message first = at(0, 0, 100, 10);
    struct message next = at(510, until_ms, 100, 10 + woken_ms);
    next.sched.runs += runs;
    next.repeats = 50;
    next.look_ns = look_ms * MS;
    thread_timeline_open(&timeline, &first, asleep, asleep, RUN_BLOCKED, false);
    timeline.times_out_ns = due_ms ? ORIGIN + due_ms * MS : 0;
    thread_timeline_close(&timeline, profile, &next, ORIGIN);
    const struct profile_thread *t = profile_see_thread(profile, timeline.thread);
    ck_assert_uint_gt(t->n_runs, 0);
    return profile_see_wait(profile, t->runs[0].at.wait)->side.expired;
}

static bool expires(int64_t due_ms, int64_t until_ms, uint64_t runs, uint64_t woken_ms)
{
    return expires_of(10, due_ms, until_ms, runs, woken_ms);
}

START_TEST(a_wait_that_ends_with_its_time_out_is_marked)
{
    ck_assert(expires(505, 500, 1, 0));
    ck_assert(expires(515, 500, 1, 0));  /* it began up to two ticks before it was found */
    ck_assert(!expires(495, 500, 1, 0)); /* it went on behind that */
    ck_assert(!expires(540, 500, 1, 0)); /* something else ended it */
    ck_assert(!expires(0, 500, 1, 0));
    ck_assert(!expires(505, 500, 0, 0));        /* it goes on */
    ck_assert(expires(480, 500, 1, 30));        /* woken by it, and then it waited for a CPU */
    ck_assert(expires_of(30, 550, 500, 1, 0));  /* the call began up to two looks earlier */
    ck_assert(!expires_of(40, 505, 500, 1, 0)); /* so few of them end anywhere */
}
END_TEST

CHECK_MAIN("timeline", 20, a_wait_that_ends_with_its_time_out_is_marked, a_pause_takes_no_time,
           a_sleep_goes_on_through_a_pause, an_open_sample_is_known_again_after_a_pause,
           mark_of_no_stack_stays, sample_held_so_far_is_there_once, stops_end_no_wait,
           waiting_is_shown_as_counted, long_wait_is_not_in_doubt,
           samples_share_the_gap_between_them, events_come_without_those_of_stops,
           gap_without_proof_is_missed, gap_is_measured_by_the_rate_of_its_time,
           state_counts_where_the_kernel_does_not, state_counts_from_the_last_sample_to_the_end,
           state_counts_where_samples_are_left_out, counts_of_a_birth_begin_at_0,
           counts_of_a_birth_are_added_once, proof_covers_any_gap, counts_that_lag_add_up,
           holds_are_not_counted_as_time_off_the_cpu, wait_after_a_sleep_ends_its_stretch,
           waits_of_several_runs_are_not_placed, wait_that_does_not_end_is_counted,
           wait_of_a_thread_that_was_woken_is_less_in_doubt,
           a_lock_changes_hands_while_a_thread_waits)
