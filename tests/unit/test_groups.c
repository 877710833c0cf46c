#include "summary/groups.h"
#include "summary/process_name.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile_builder b;
static struct groups g;
static struct text labels;

/* The groups' labels after END_MS, in order: "main 10; 3 x worker-*". */
static const char *grouped(int64_t end_ms)
{
    profile_end(b.p, end_ms * NS_PER_MS);
    groups_init(&g, b.p, &(struct view_options){0});
    text_clear(&labels);
    text_add(&labels, "");
    for (size_t i = 0; i < g.n; i++)
        text_addf(&labels, "%s%s", i ? "; " : "", g.items[i].label);
    return labels.s;
}

static void teardown(void)
{
    groups_release(&g);
    profile_free(b.p);
}

/* A thread that runs RUN_PERCENT of a second in STACK, and sleeps at its caller in the rest. */
static void worker(pid_t tid, const char *name, const char *stack, int run_percent)
{
    thread_id t = builder_thread(&b, tid, name);
    builder_run(&b, t, stack, 10 * run_percent, 10 * run_percent);
    builder_run(&b, t, "run!app > clock_nanosleep [blocked]", 1000 - 10 * run_percent, 0);
}

START_TEST(alike_threads_are_one_group)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    worker(11, "worker-1", "run!app > f!app", 50);
    worker(12, "worker-2", "run!app > f!app", 60); /* within 15 points */
    ck_assert_str_eq(grouped(1000), "main 10; 2 x worker-*");
    ck_assert_int_eq(g.items[1].cpu_ns, INT64_C(1100) * NS_PER_MS);
    ck_assert_int_eq(tally_total(&g.items[1].tally, 0), INT64_C(2000) * NS_PER_MS);
    ck_assert_str_eq(g.items[1].noun, "worker-1 and worker-2");
    ck_assert(g.items[1].plural && g.items[0].leads && !g.items[0].plural);
    teardown();
}
END_TEST

/* A thread that waits for a CPU 100 times, F times in one place and else in another. */
static void waiter(pid_t tid, int f, bool looked_at)
{
    thread_id t = builder_thread(&b, tid, "worker");
    for (int i = 0; i < 100; i++)
        builder_runnable(&b, t, i * f / 100 < (i + 1) * f / 100 ? "f!app" : "g!app", 10);
    if (looked_at)
        profile_get_thread(b.p, t)->usage =
            (struct profile_usage){.over_ns = NS_PER_S, .voluntary = 60, .involuntary = 40};
}

/* Three in four waits have the stack of another one: so few differ by chance. */
START_TEST(threads_that_are_seldom_asked_are_told_apart_by_little)
{
    for (int unasked = 0; unasked <= 300; unasked += 300) {
        b = builder_start(10, "app");
        builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
        waiter(11, 80, true);
        waiter(12, 30, unasked > 0);
        profile_set_number(b.p, METRIC_WAITS_ASKED, 100);
        profile_set_number(b.p, METRIC_WAITS_UNASKED, unasked);
        (void)grouped(1000);
        ck_assert_msg(g.n == (unasked ? 2 : 3), "%s", labels.s);
        teardown();
    }
}
END_TEST

/* The first of them is one by chance. */
START_TEST(a_group_is_what_its_members_are_together)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    waiter(11, 30, true);
    waiter(12, 50, true);
    waiter(13, 60, false); /* it ended before its counts were read again */
    waiter(14, 72, true);
    ck_assert_str_eq(grouped(1000), "main 10; 4 x worker");
    teardown();
}
END_TEST

/* One with hardly a sample may by chance be like any: it is of the group that it is most like. */
START_TEST(a_short_thread_is_of_the_group_that_it_is_most_like)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    thread_id t = builder_thread(&b, 11, "worker-1");
    builder_run(&b, t, "run!app > f!app", 500, 500);
    builder_run(&b, t, "run!app > g!app", 500, 500);
    worker(12, "worker-2", "run!app > g!app", 95);
    t = builder_thread(&b, 13, "worker-3");
    builder_run(&b, t, "run!app > g!app", 10, 10);
    profile_end_thread(b.p, t, INT64_C(10) * NS_PER_MS);
    ck_assert_str_eq(grouped(1000), "main 10; worker-1 11; 2 x worker-*");
    teardown();
}
END_TEST

static const struct {
    const char *name, *stack;
    int run_percent;
} not_alike[] = {
    {"worker-2", "run!app > f!app", 90}, /* another state */
    {"worker-2", "run!app > g!app", 50}, /* another place */
    {"loader", "run!app > f!app", 50},   /* another name */
};

START_TEST(threads_that_differ_are_groups_of_their_own)
{
    for (size_t i = 0; i < sizeof not_alike / sizeof *not_alike; i++) {
        b = builder_start(10, "app");
        worker(10, NULL, "run!app > f!app", 50); /* a main thread is no worker */
        worker(11, "worker-1", "run!app > f!app", 50);
        worker(12, not_alike[i].name, not_alike[i].stack, not_alike[i].run_percent);
        grouped(1000);
        ck_assert_msg(g.n == 3, "%s", labels.s);
        teardown();
    }
}
END_TEST

/* A tenth of the time is too little to tell threads apart by. */
START_TEST(small_places_do_not_count)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    worker(11, "worker-1", "run!app > f!app", 9);
    worker(12, "worker-2", "run!app > g!app", 9);
    ck_assert_str_eq(grouped(1000), "main 10; 2 x worker-*");
    teardown();
}
END_TEST

START_TEST(idle_threads_need_only_the_same_pool)
{
    static const char pool[] = "gomp_team_barrier_wait!libgomp.so.1 > futex [blocked]";
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    for (pid_t tid = 11; tid < 15; tid++)
        builder_run(&b, builder_thread(&b, tid, NULL), pool, 1000, 0);
    builder_run(&b, builder_thread(&b, 20, "never"), "run!app > futex [blocked]", 1000, 0);
    ck_assert_str_eq(grouped(1000), "main 10; never 20; 4 x omp worker");
    ck_assert(g.items[2].idle && !g.items[1].idle); /* which shows where it waits */
    ck_assert_str_eq(g.items[2].noun, "4 omp worker threads");
    teardown();
}
END_TEST

START_TEST(threads_of_one_name_are_counted_not_listed)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    for (pid_t tid = 11; tid < 13; tid++)
        builder_run(&b, builder_thread(&b, tid, "loader"), "run!app > f!app", 1000, 1000);
    ck_assert_str_eq(grouped(1000), "main 10; 2 x loader");
    ck_assert_str_eq(g.items[1].noun, "2 loader threads");
    teardown();
}
END_TEST

static void rank(pid_t pid, const char *environment, const char *stack)
{
    if (pid != 10)
        builder_process(&b, pid, "python", environment);
    else
        profile_get_process(b.p, b.process)->environment = profile_string(b.p, environment);
    builder_run(&b, builder_thread(&b, pid, NULL), stack, 1000, 0);
}

START_TEST(ranks_are_grouped_and_named)
{
    b = builder_start(10, "python");
    rank(10, "RANK=0 WORLD_SIZE=3", "all_reduce@/a.py:1:2 > futex [blocked]");
    rank(20, "RANK=1 WORLD_SIZE=3", "load@/a.py:1:2 > read /mnt//x [blocked]");
    rank(30, "RANK=2 WORLD_SIZE=3", "all_reduce@/a.py:1:2 > futex [blocked]");
    ck_assert_str_eq(grouped(1000), "rank1 main; rank0, rank2 main");
    ck_assert_str_eq(g.items[1].noun, "rank0 and rank2");
    ck_assert(g.items[1].leads && g.items[0].odd && !g.items[1].odd);
    size_t len = 0;
    const char *size = process_variable(b.p, b.process, "WORLD_SIZE", &len);
    ck_assert(size && len == 1 && *size == '3');
    ck_assert_ptr_null(process_variable(b.p, b.process, "SIZE", &len));
    teardown();
}
END_TEST

/* Whose main thread would else lead; as any that works does. */
START_TEST(launchers_come_last)
{
    static const struct profile_child children[] = {{.pid = 20, .recorded = true},
                                                    {.pid = 21, .recorded = false}};
    static const struct {
        int64_t cpu_ms;
        size_t first; /* of its children */
        const char *labels;
    } cases[] = {{0, 0, "python 20; torchrun 10"},
                 {500, 0, "torchrun 10; python 20"},
                 {0, 1, "torchrun 10; python 20"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        b = builder_start(10, "torchrun");
        builder_run(&b, builder_thread(&b, 10, NULL), "f@/a.py:1:2 > wait4 [blocked]", 1000,
                    cases[i].cpu_ms);
        profile_set_children(b.p, b.process, &children[cases[i].first], 1);
        rank(20, "", "g@/a.py:1:2 > read /mnt//x [blocked]");
        ck_assert_str_eq(grouped(1000), cases[i].labels);
        teardown();
    }
}
END_TEST

/* A child that waits for its parent's next question is asked, and the parent does the asking.  Its
 * end is what a launcher waits for; a child's helper thread may wait for whatever it likes. */
START_TEST(who_asks_its_child_launches_nobody)
{
    static const struct profile_child children[] = {{.pid = 20, .recorded = true}};
    static const struct {
        enum wait_thing thing;
        pid_t tid, whom;
        int64_t asked_ms;
        bool launches;
    } cases[] = {
        {THING_SOCKET, 20, 10, 250, false}, {THING_PIPE, 20, 10, 250, false},
        {THING_SOCKET, 20, 10, 50, true},   {THING_SOCKET, 20, 30, 250, true},
        {THING_CHILD, 20, 10, 250, true},   {THING_PIPE, 21, 10, 250, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct wait_side side = {
            .thing = cases[i].thing,
            .blocker = {.kind = BLOCKER_PROCESS, .pid = cases[i].whom},
        };
        b = builder_start(10, "scan");
        builder_run(&b, builder_thread(&b, 10, NULL), "f@/a.py:1:2 > epoll_wait [blocked]", 1000,
                    0);
        profile_set_children(b.p, b.process, children, 1);
        process_id parent = b.process;
        builder_process(&b, 20, "gateway", "");
        profile_get_process(b.p, b.process)->parent = parent;
        thread_id main = builder_thread(&b, 20, NULL);
        builder_run(&b, main, "g@/a.py:1:2 > clock_nanosleep [blocked]", 1000 - cases[i].asked_ms,
                    0);
        thread_id asked = cases[i].tid == 20 ? main : builder_thread(&b, cases[i].tid, "helper");
        builder_polls(&b, asked, "next@/a.py:5:6", &side, cases[i].asked_ms);
        const char *all = grouped(1000);
        ck_assert_msg((strstr(all, "scan 10") == all) != cases[i].launches, "%zu: %s", i, all);
        teardown();
    }
}
END_TEST

/* They wait all the time, for a lock; a library's helpers, and who reads what a child writes, make
 * no worker. */
START_TEST(who_works_with_threads_launches_nobody)
{
    static const struct profile_child children[] = {{.pid = 20, .recorded = true}};
    static const char *const stacks[] = {
        "log@/a.py:5:6 > pthread_mutex_lock!libc.so.6 > futex [blocked]",
        "log@/usr/lib/python3.11/a.py:5:6 > pthread_mutex_lock!libc.so.6 > futex [blocked]",
        "pump@/a.py:5:6 > read pipe [blocked]",
    };
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        b = builder_start(10, "web");
        builder_run(&b, builder_thread(&b, 10, NULL), "f@/a.py:1:2 > futex [blocked]", 1000, 0);
        builder_run(&b, builder_thread(&b, 11, "web"), stacks[i], 1000, 0);
        profile_set_children(b.p, b.process, children, 1);
        rank(20, "", "g@/a.py:1:2 > read /mnt//x [blocked]");
        const char *all = grouped(1000);
        ck_assert_msg((strstr(all, "web 10") == all) == (i == 0), "%s", all);
        teardown();
    }
}
END_TEST

/* A pool's threads wait for each other's results; two threads read what a child writes. */
START_TEST(who_has_a_pool_launches_nobody)
{
    static const struct profile_child children[] = {{.pid = 20, .recorded = true}};
    for (int pool = 0; pool <= 1; pool++) {
        b = builder_start(10, "web");
        builder_run(&b, builder_thread(&b, 10, NULL), "f@/a.py:1:2 > futex [blocked]", 1000, 0);
        for (int i = 0; i < 2; i++)
            builder_run(&b, builder_thread(&b, 11 + i, "pool"),
                        pool ? "run!/src/web > task!/src/web > futex [blocked]"
                             : "pump@/a.py:5:6 > read pipe [blocked]",
                        1000, 0);
        profile_set_children(b.p, b.process, children, 1);
        rank(20, "", "g@/a.py:1:2 > read /mnt//x [blocked]");
        const char *all = grouped(1000);
        ck_assert_msg((strstr(all, "web 10") == all) == pool, "%s", all);
        teardown();
    }
}
END_TEST

/* An event loop that waits for its child in a callback, for KEPT_MS of 1 s; one that idles. */
START_TEST(who_keeps_a_loop_launches_nobody)
{
    static const struct profile_child children[] = {{.pid = 20, .recorded = true}};
    for (int64_t kept_ms = 0; kept_ms <= 700; kept_ms += 700) {
        b = builder_start(10, "web");
        thread_id loop = builder_thread(&b, 10, NULL);
        builder_run(&b, loop,
                    "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
                    "EpollSelector.select@/usr/lib/python3.11/selectors.py:4:9 > "
                    "epoll_wait [blocked]",
                    1000 - kept_ms, 0);
        builder_run(&b, loop,
                    "_run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > "
                    "shrink@/a.py:1:2 > read pipe [blocked]",
                    kept_ms, 0);
        profile_set_children(b.p, b.process, children, 1);
        rank(20, "", "g@/a.py:1:2 > clock_nanosleep [blocked]");
        ck_assert_str_eq(grouped(1000), kept_ms ? "web 10; python 20" : "python 20; web 10");
        teardown();
    }
}
END_TEST

START_TEST(processes_without_a_rank_are_called_by_their_pids)
{
    b = builder_start(10, "python");
    rank(10, "OMP_NUM_THREADS=1", "f@/a.py:1:2 > futex [blocked]");
    rank(20, "", "g@/a.py:1:2 > read /mnt//x [blocked]");
    builder_run(&b, builder_thread(&b, 21, "loader"), "h@/a.py:1:2", 1000, 1000);
    ck_assert_str_eq(grouped(1000), "python 10; python 20; 20 loader 21");
    teardown();
}
END_TEST

/* As rank() does, of process PARENT's child. */
static process_id child(process_id parent, pid_t pid, const char *title, const char *environment,
                        bool python)
{
    builder_process(&b, pid, title, environment);
    builder_run(&b, builder_thread(&b, pid, NULL), "f@/a.py:1:2", 1000, 1000);
    struct profile_process *process = profile_get_process(b.p, b.process);
    process->parent = parent;
    process->python_version = python ? profile_string(b.p, "3.12") : (string_id){0};
    return b.process;
}

static void assert_label(process_id id, const char *label)
{
    char *found = label_of_process(b.p, id);
    ck_assert_str_eq(found, label);
    free(found);
}

/* The environment is inherited, by DataLoader workers and in Slurm jobs. */
START_TEST(a_rank_is_who_has_it_from_its_launcher)
{
    b = builder_start(10, "torchrun");
    process_id launcher = b.process;
    profile_get_process(b.p, launcher)->environment = profile_string(b.p, "SLURM_PROCID=0");
    process_id shell = child(launcher, 20, "sh", "RANK=0 SLURM_PROCID=0", false);
    process_id rank = child(shell, 21, "python", "RANK=0 SLURM_PROCID=0", true);
    process_id worker = child(rank, 22, "pt_data_worker", "RANK=0 SLURM_PROCID=0", true);
    process_id other = child(launcher, 30, "python", "RANK=1 SLURM_PROCID=0", true);
    assert_label(launcher, "torchrun 10");
    assert_label(shell, "sh 20");
    assert_label(rank, "rank0");
    assert_label(worker, "pt_data_worker 22");
    assert_label(other, "rank1");
    profile_free(b.p);
}
END_TEST

/* Who sets the variable anew for each child has the last one's in the end; who is a rank itself
 * and starts the others does not. */
START_TEST(a_parent_hands_ranks_on)
{
    b = builder_start(10, "python");
    process_id parent = b.process;
    struct profile_process *process = profile_get_process(b.p, parent);
    process->environment = profile_string(b.p, "RANK=1");
    process->python_version = profile_string(b.p, "3.12");
    process_id first = child(parent, 20, "python", "RANK=0", true);
    assert_label(parent, "rank1"); /* it may be one itself */
    process_id second = child(parent, 21, "python", "RANK=1", true);
    process_id worker = child(second, 22, "python", "RANK=1", true);
    assert_label(parent, "python 10");
    assert_label(first, "rank0");
    assert_label(second, "rank1");
    assert_label(worker, "python 22");
    profile_free(b.p);

    b = builder_start(10, "torchrun");
    parent = b.process; /* the second of several machines */
    profile_get_process(b.p, parent)->environment = profile_string(b.p, "RANK=1");
    profile_get_process(b.p, parent)->python_version = profile_string(b.p, "3.12");
    first = child(parent, 20, "python", "RANK=2 LOCAL_RANK=0", true);
    assert_label(parent, "torchrun 10");
    assert_label(first, "rank2");
    profile_free(b.p);
}
END_TEST

START_TEST(alike_processes_are_one_group)
{
    b = builder_start(10, "make");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!make > wait4 [blocked]", 1000, 0);
    process_id make = b.process;
    for (pid_t pid = 20; pid < 24; pid++)
        (void)child(make, pid, "cc1", NULL, false);
    (void)child(make, 30, "ld", NULL, false);
    (void)child(make, 31, "ld", NULL, false);
    ck_assert_str_eq(grouped(1000), "make 10; 4 x cc1; ld 30, 31");
    teardown();
    b = builder_start(10, "torchrun");
    for (pid_t pid = 20; pid < 24; pid++)
        (void)child(make, pid, "python", pid == 20 ? "RANK=0" : "RANK=1", true);
    ck_assert_str_eq(grouped(1000), "4 ranks main");
    ck_assert_str_eq(g.items[0].noun, "4 ranks");
    teardown();
}
END_TEST

/* A group has sums of all places: 100,000 threads with a name each must not take all memory. */
/* The kids end after a sample or two, each in a place of its own: by chance their parent's. */
START_TEST(a_parent_is_not_alike_its_short_lived_children)
{
    enum { KIDS = 20 };
    for (int kin = 0; kin < 2; kin++) {
        b = builder_start(10, "python3");
        process_id parent = b.process;
        thread_id t = builder_thread(&b, 10, NULL);
        for (int i = 0; i < 50; i++) {
            builder_run(&b, t, "main!app > read pipe [blocked]", 18, 0);
            builder_run(&b, t, "main!app > fork!app", 2, 2);
        }
        for (pid_t pid = 11; pid < 11 + KIDS; pid++) {
            builder_process(&b, pid, "python3", NULL);
            profile_get_process(b.p, b.process)->parent = kin ? parent : (process_id){0};
            t = builder_thread(&b, pid, NULL);
            builder_run(&b, t, pid % 2 ? "main!app > close!app" : "main!app > detach!app", 10, 10);
        }
        (void)grouped(1000);
        ck_assert_uint_eq(g.items[0].n, kin ? 1U : 1U + KIDS);
        teardown();
    }
}
END_TEST

START_TEST(threads_beyond_the_last_group_are_one)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    for (int i = 0; i < 150; i++) {
        const char name[] = {'j', (char)('a' + i / 26), (char)('a' + i % 26), 0};
        worker(11 + i, name, "run!app > f!app", 50);
    }
    (void)grouped(1000);
    ck_assert_uint_eq(g.n, 101);
    size_t mixed = 0;
    while (!g.items[mixed].mixed)
        mixed++;
    ck_assert_str_eq(g.items[mixed].label, "51 other threads");
    ck_assert_int_eq(g.items[mixed].wall_ns, INT64_C(51000) * NS_PER_MS);
    teardown();
}
END_TEST

START_TEST(a_thread_by_itself_has_its_own_times)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    worker(11, "worker-1", "run!app > f!app", 50);
    worker(12, "worker-2", "run!app > f!app", 60);
    (void)grouped(1000);
    struct thread_group one = groups_one_of(&g, &g.items[1], 1);
    ck_assert_int_eq(g.items[1].class_ns[CLASS_SLEEP], INT64_C(900) * NS_PER_MS);
    ck_assert_int_eq(one.class_ns[CLASS_SLEEP], INT64_C(400) * NS_PER_MS);
    ck_assert_int_eq(one.class_ns[CLASS_NONE], INT64_C(600) * NS_PER_MS);
    groups_release_one(&one);
    teardown();
}
END_TEST

CHECK_MAIN("groups", 20, a_thread_by_itself_has_its_own_times, alike_threads_are_one_group,
           threads_that_differ_are_groups_of_their_own,
           a_short_thread_is_of_the_group_that_it_is_most_like,
           threads_that_are_seldom_asked_are_told_apart_by_little,
           a_group_is_what_its_members_are_together, small_places_do_not_count,
           threads_of_one_name_are_counted_not_listed, idle_threads_need_only_the_same_pool,
           launchers_come_last, who_works_with_threads_launches_nobody,
           who_has_a_pool_launches_nobody, who_keeps_a_loop_launches_nobody,
           who_asks_its_child_launches_nobody, ranks_are_grouped_and_named,
           processes_without_a_rank_are_called_by_their_pids,
           a_rank_is_who_has_it_from_its_launcher, a_parent_hands_ranks_on,
           alike_processes_are_one_group, a_parent_is_not_alike_its_short_lived_children,
           threads_beyond_the_last_group_are_one)
