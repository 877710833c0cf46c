#include "profile/profile.h"

#include "base/clock.h"
#include "tests/support/check_main.h"

static const int64_t MS = NS_PER_MS;
static struct profile *profile;
static process_id process;
static stack_id compute, sleeps;

static void set_up(void)
{
    profile = profile_new(0);
    process = profile_process(profile, &(struct profile_process){.pid = 1});
    compute = profile_push(profile, (stack_id){0}, profile_mark(profile, "compute", NULL));
    sleeps = profile_push(profile, (stack_id){0}, profile_mark(profile, "sleep [blocked]", NULL));
}

static thread_id add_thread(pid_t tid, int64_t cpu_ms, int64_t off_cpu_ms)
{
    thread_id t = profile_thread(profile, process, tid, (string_id){0}, 0);
    profile_get_thread(profile, t)->counts =
        (struct counts){.ns = {[COUNTED_CPU] = cpu_ms * MS, [COUNTED_OFF_CPU] = off_cpu_ms * MS}};
    return t;
}

/* Appends N runs of 10 ms, a sample each, with gaps so that they are not joined. */
static void add_runs(thread_id t, stack_id stack, enum run_state state, int n)
{
    const struct profile_thread *thread = profile_see_thread(profile, t);
    for (int i = 0; i < n; i++) {
        int64_t at_ns = 0;
        if (thread->n_runs)
            at_ns = thread->runs[thread->n_runs - 1].start_ns + 11 * MS;
        profile_add_run(profile, t,
                        &(struct run){.at.stack = stack,
                                      .state = state,
                                      .samples = 1,
                                      .start_ns = at_ns,
                                      .weights.wall_ns = 10 * MS});
    }
}

static int64_t counted_in(thread_id t, size_t first, size_t last, stack_id stack)
{
    const struct profile_thread *thread = profile_see_thread(profile, t);
    int64_t ns = 0;
    for (size_t i = first; i < last && i < thread->n_runs; i++)
        if (thread->runs[i].at.stack.ix == stack.ix)
            ns += thread->runs[i].weights.counted_ns;
    return ns;
}

static void assert_near(int64_t ns, int64_t wanted_ms)
{
    ck_assert_int_le(ns, wanted_ms * MS + 1000);
    ck_assert_int_ge(ns, wanted_ms * MS - 1000);
}

/* Sleeps found at 60 of 100 ticks that were 50 % of the time: each total goes to the samples of its
 * own state. */
START_TEST(each_state_shares_its_own_total)
{
    set_up();
    thread_id t = add_thread(1, 500, 500);
    add_runs(t, compute, RUN_RUNNING, 40);
    add_runs(t, sleeps, RUN_BLOCKED, 60);
    profile_end(profile, 1100 * MS);
    assert_near(counted_in(t, 0, SIZE_MAX, compute), 500);
    assert_near(counted_in(t, 0, SIZE_MAX, sleeps), 500);
    profile_free(profile);
}
END_TEST

/* In the first half every sample was taken, in the second each third: both weigh what was counted
 * in them. */
START_TEST(each_window_has_its_own_factor)
{
    set_up();
    thread_id t = add_thread(1, 3000, 0);
    add_runs(t, compute, RUN_RUNNING, 300);
    profile_mark_counts(profile, t, profile_see_thread(profile, t)->runs[299].start_ns + 10 * MS);
    add_runs(t, compute, RUN_RUNNING, 100);
    profile_get_thread(profile, t)->counts.ns[COUNTED_CPU] = 6000 * MS;
    profile_end(profile, 6000 * MS);
    assert_near(counted_in(t, 0, 300, compute), 3000);
    assert_near(counted_in(t, 300, 400, compute), 3000);
    profile_free(profile);
}
END_TEST

/* Too small a last window joins the one before it; one too small before joins the next. */
START_TEST(small_windows_are_joined)
{
    set_up();
    thread_id t = add_thread(1, 900, 0);
    add_runs(t, compute, RUN_RUNNING, 50);
    profile_mark_counts(profile, t, profile_see_thread(profile, t)->runs[49].start_ns + 10 * MS);
    add_runs(t, compute, RUN_RUNNING, 50);
    profile_mark_counts(profile, t, profile_see_thread(profile, t)->runs[99].start_ns + 10 * MS);
    add_runs(t, compute, RUN_RUNNING, 50);
    profile_get_thread(profile, t)->counts.ns[COUNTED_CPU] = 1800 * MS;
    profile_end(profile, 2000 * MS);
    assert_near(counted_in(t, 0, 50, compute), 600);
    assert_near(counted_in(t, 100, 150, compute), 600);
    profile_free(profile);
}
END_TEST

/* A minute in one call, which is one run, and then a minute of others: no mark within that run
 * parts what it stands for. */
START_TEST(window_does_not_end_within_a_run)
{
    set_up();
    stack_id other = profile_push(profile, compute, profile_mark(profile, "other", NULL));
    thread_id t = add_thread(1, 0, 0);
    for (int i = 0; i < 12000; i++) {
        profile_add_run(profile, t,
                        &(struct run){.at.stack = i < 6000 ? compute : other,
                                      .state = RUN_RUNNING,
                                      .samples = 1,
                                      .start_ns = i * 10 * MS,
                                      .weights.wall_ns = 10 * MS});
        profile_get_thread(profile, t)->counts.ns[COUNTED_CPU] += 10 * MS;
        if (i % 100 == 99)
            profile_mark_counts(profile, t, (i + 1) * 10 * MS);
    }
    profile_end(profile, 120000 * MS);
    assert_near(counted_in(t, 0, SIZE_MAX, compute), 60000);
    assert_near(counted_in(t, 0, SIZE_MAX, other), 60000);
    profile_free(profile);
}
END_TEST

/* 1000 threads of 5 ms CPU time each, of which 500 had one running sample. */
START_TEST(threads_with_few_samples_share_a_factor)
{
    set_up();
    int64_t sum_ns = 0;
    for (pid_t tid = 1; tid <= 1000; tid++) {
        thread_id t = add_thread(tid, 5, 995);
        add_runs(t, sleeps, RUN_BLOCKED, 10);
        if (tid % 2)
            add_runs(t, compute, RUN_RUNNING, 1);
    }
    profile_end(profile, 1000 * MS);
    for (uint32_t i = 1; i <= 1000; i++) {
        sum_ns += counted_in((thread_id){i}, 0, SIZE_MAX, compute);
        ck_assert_int_eq(profile_see_thread(profile, (thread_id){i})->not_sampled_ns[COUNTED_CPU],
                         0);
    }
    assert_near(sum_ns, 5000);
    profile_free(profile);
}
END_TEST

START_TEST(cpu_time_without_a_sample_is_kept)
{
    set_up();
    thread_id t = add_thread(1, 4, 96);
    add_runs(t, sleeps, RUN_BLOCKED, 10);
    profile_end(profile, 110 * MS);
    ck_assert_int_eq(profile_see_thread(profile, t)->not_sampled_ns[COUNTED_CPU], 4 * MS);
    assert_near(counted_in(t, 0, SIZE_MAX, sleeps), 96);
    profile_free(profile);
}
END_TEST

/* A snapshot settles, and then time goes on. */
START_TEST(it_can_be_settled_again)
{
    set_up();
    thread_id t = add_thread(1, 150, 0);
    add_runs(t, compute, RUN_RUNNING, 20);
    profile_end(profile, 220 * MS);
    add_runs(t, compute, RUN_RUNNING, 20);
    profile_get_thread(profile, t)->counts.ns[COUNTED_CPU] = 400 * MS;
    profile_end(profile, 440 * MS);
    assert_near(counted_in(t, 0, 20, compute), 200);
    assert_near(counted_in(t, 20, 40, compute), 200);
    profile_free(profile);
}
END_TEST

/* Whoever makes a recording chooses how many there are. */
START_TEST(many_processes_take_little_time)
{
    enum { MANY = 100000 };
    profile = profile_new(0);
    for (pid_t pid = 1; pid <= MANY; pid++) {
        process = profile_process(profile, &(struct profile_process){.pid = pid});
        (void)add_thread(pid, pid, 0);
    }
    int64_t began_ns = clock_cpu_ns();
    profile_end(profile, MANY * MS);
    ck_assert_int_lt(clock_cpu_ns() - began_ns, 2 * NS_PER_S);
    for (uint32_t i = 1; i <= MANY; i += MANY / 10)
        ck_assert_int_eq(profile_see_thread(profile, (thread_id){i})->not_sampled_ns[COUNTED_CPU],
                         i * MS);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("weights", 20, many_processes_take_little_time, each_state_shares_its_own_total,
           each_window_has_its_own_factor, small_windows_are_joined,
           threads_with_few_samples_share_a_factor, cpu_time_without_a_sample_is_kept,
           it_can_be_settled_again, window_does_not_end_within_a_run)
