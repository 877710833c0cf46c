#include "profile/events.h"

#include "base/clock.h"
#include "profile/profile.h"
#include "tests/support/check_main.h"

static const int64_t MS = NS_PER_MS;
static struct profile *profile;
static thread_id thread;

static void set_up(void)
{
    profile = profile_new(0);
    process_id process = profile_process(profile, &(struct profile_process){.pid = 1});
    thread = profile_thread(profile, process, 1, (string_id){0}, 0);
}

/* A run of 10 ms at a place of its own. */
static void add_around(const char *place, enum run_state state, uint32_t near_faults,
                       uint32_t around_faults, uint32_t put_on_cpu)
{
    const struct profile_thread *t = profile_see_thread(profile, thread);
    stack_id stack = profile_push(profile, (stack_id){0}, profile_mark(profile, place, NULL));
    profile_add_run(
        profile, thread,
        &(struct run){.at.stack = stack,
                      .state = state,
                      .samples = 1,
                      .start_ns = (int64_t)t->n_runs * 20 * MS,
                      .weights.wall_ns = 10 * MS,
                      .weights.events = {near_faults, around_faults, put_on_cpu, 0, 0}});
}

static void add(const char *place, enum run_state state, uint32_t near_faults, uint32_t put_on_cpu)
{
    add_around(place, state, near_faults, 0, put_on_cpu);
}

static void settle(struct profile_usage usage, uint64_t own_switches)
{
    struct profile_thread *t = profile_get_thread(profile, thread);
    t->usage = usage;
    t->own_switches = own_switches;
    profile_end(profile, 1000 * MS);
    profile_end(profile, 1000 * MS); /* as after a snapshot */
}

static uint32_t faults_at(size_t run)
{
    return profile_see_thread(profile, thread)->runs[run].weights.events.faults;
}

static uint32_t switches_at(size_t run)
{
    return profile_see_thread(profile, thread)->runs[run].weights.events.switches;
}

/* A tenth of the time, and nearly all of the faults. */
START_TEST(faults_are_of_the_stacks_around_whose_stops_they_came)
{
    set_up();
    add("copy", RUN_RUNNING, 97, 0);
    for (int i = 0; i < 9; i++)
        add("compute", RUN_RUNNING, i == 0 ? 3 : 0, 0);
    settle((struct profile_usage){.minor_faults = 70000, .major_faults = 3}, 0);
    ck_assert_uint_eq(faults_at(0), 67903);
    uint64_t sum = 0;
    for (size_t i = 0; i < 10; i++)
        sum += faults_at(i);
    ck_assert_uint_eq(sum, 70003);
    profile_free(profile);
}
END_TEST

/* Other programs take the CPUs: what is seen up to 1 ms around stops says more than the time. */
START_TEST(faults_a_little_away_from_stops_count_where_none_are_near)
{
    set_up();
    add_around("copy", RUN_RUNNING, 4, 450, 0);
    add_around("compute", RUN_RUNNING, 0, 50, 0);
    settle((struct profile_usage){.minor_faults = 100}, 0);
    ck_assert_uint_eq(faults_at(0), 90);
    ck_assert_uint_eq(faults_at(1), 10);
    ck_assert(!profile_see_thread(profile, thread)->faults_by_time);
    profile_free(profile);
}
END_TEST

/* Four may be chance. */
START_TEST(few_faults_are_shared_by_time)
{
    set_up();
    add_around("copy", RUN_RUNNING, 4, 49, 0);
    add("compute", RUN_RUNNING, 0, 0);
    add("sleep", RUN_BLOCKED, 0, 0);
    settle((struct profile_usage){.minor_faults = 101}, 0);
    ck_assert_uint_eq(faults_at(0) + faults_at(1), 101);
    ck_assert_uint_le(faults_at(0), 51);
    ck_assert_uint_eq(faults_at(2), 0);
    ck_assert(profile_see_thread(profile, thread)->faults_by_time);
    profile_free(profile);
}
END_TEST

START_TEST(switches_are_of_the_waits_and_without_wallspys)
{
    set_up();
    add("read", RUN_BLOCKED, 0, 300);
    add("sleep", RUN_BLOCKED, 0, 1);
    add("compute", RUN_RUNNING, 0, 40);
    add("wait", RUN_RUNNABLE, 0, 10);
    settle((struct profile_usage){.voluntary = 3110, .involuntary = 100}, 100);
    ck_assert_uint_eq(switches_at(0), 3000);
    ck_assert_uint_eq(switches_at(1), 10);
    ck_assert_uint_eq(switches_at(2), 80);
    ck_assert_uint_eq(switches_at(3), 20);
    ck_assert_uint_eq(events_switches(profile_see_thread(profile, thread)), 3110);
    profile_free(profile);
}
END_TEST

/* A thread waits in one place 9 of 10 times, for a tenth of the time: which waits came between two
 * samples nobody knows. */
START_TEST(switches_of_many_short_waits_follow_the_time)
{
    set_up();
    add("long", RUN_BLOCKED, 0, 20);
    add("short", RUN_BLOCKED, 0, 20);
    settle((struct profile_usage){.voluntary = 40}, 0);
    ck_assert(profile_see_thread(profile, thread)->switches_by_time);
    profile_free(profile);
    set_up();
    add("long", RUN_BLOCKED, 0, 1);
    add("short", RUN_BLOCKED, 0, 2);
    settle((struct profile_usage){.voluntary = 3}, 0);
    ck_assert(!profile_see_thread(profile, thread)->switches_by_time);
    profile_free(profile);
}
END_TEST

/* Nothing is lost where nothing was sampled, and nothing is below 0. */
START_TEST(what_no_sample_saw_is_kept_apart)
{
    set_up();
    profile_add_run(profile, thread,
                    &(struct run){.state = RUN_MISSED, .weights.wall_ns = 10 * MS});
    settle((struct profile_usage){.minor_faults = 7, .voluntary = 3, .involuntary = 2}, 5);
    const struct profile_thread *t = profile_see_thread(profile, thread);
    ck_assert_uint_eq(t->faults_not_sampled, 7);
    ck_assert_uint_eq(t->switches_not_sampled, 2);
    ck_assert_uint_eq(faults_at(0), 0);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("events", 20, faults_are_of_the_stacks_around_whose_stops_they_came,
           faults_a_little_away_from_stops_count_where_none_are_near, few_faults_are_shared_by_time,
           switches_are_of_the_waits_and_without_wallspys,
           switches_of_many_short_waits_follow_the_time, what_no_sample_saw_is_kept_apart)
