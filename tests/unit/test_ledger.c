/* The account of the leading thread: each nanosecond once, where it ends. */
#include "summary/ledger.h"

#include <string.h>

#include "base/clock.h"
#include "base/share.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { PID = 10, WORKER = 11, THIRD = 12, CHILD = 20, END_MS = 4000 };

static struct profile_builder b;
static struct groups groups;
static struct holders holders;
static struct ledger ledger;
static thread_id lead;

static void setup(void)
{
    b = builder_start(PID, "python3");
    lead = builder_thread(&b, PID, NULL);
}

static void account_until(int64_t end_ms)
{
    struct view_options options = {0};
    profile_end(b.p, end_ms * NS_PER_MS);
    groups_init(&groups, b.p, &options);
    holders_init(&holders, b.p, groups.v);
    ledger_init(&ledger, &groups, &holders);
}

static void account(void)
{
    account_until(END_MS);
}

static void teardown(void)
{
    ledger_release(&ledger);
    holders_release(&holders);
    groups_release(&groups);
    profile_free(b.p);
}

static int ms(int64_t ns)
{
    return (int)((ns + NS_PER_MS / 2) / NS_PER_MS);
}

/* "2000 worker device: run > ask > [ioctl /dev/x]; …", and the sum of all is the leader's time. */
static void assert_rows(const char *expected)
{
    struct text rows = {0};
    int64_t sum_ns = ledger.unseen_ns + ledger.idle_ns + ledger.rest_ns;
    text_add(&rows, "");
    for (size_t i = 0; i < ledger.n; i++) {
        const struct ledger_row *row = &ledger.rows[i];
        const char *parts[CALL_PATH_MAX_PARTS];
        size_t n = call_path_parts(&row->place, parts);
        text_addf(&rows, "%s%d %s%s %s:", i ? "; " : "", ms(row->ns), row->group->noun,
                  row->way == LEDGER_MEANWHILE ? " meanwhile" : "", cause_name(row->cause));
        for (size_t k = 0; k < n; k++)
            text_addf(&rows, "%s%s", k ? " > " : " ", parts[k]);
        sum_ns += row->ns;
    }
    ck_assert_str_eq(rows.s, expected);
    ck_assert_int_eq(ms(sum_ns), ms(ledger.wall_ns));
    text_release(&rows);
}

#define COMPUTES "f@/src/a.py:1:5"
#define LOCKS    "f@/src/a.py:1:3 > take!/src/w.so > pthread_mutex_lock!libc.so.6 > futex [blocked]"

static void hold(thread_id waiter, pid_t holder, int64_t wall_ms)
{
    const struct wait_side side = {.thing = THING_MUTEX,
                                   .addr = 0x1000,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = holder}};
    builder_held(&b, waiter, "f@/src/a.py:1:3 > take!/src/w.so > pthread_mutex_lock!libc.so.6",
                 &side, wall_ms);
}

/* Main waits for the worker's lock while that asks a device and then computes. */
START_TEST(a_wait_ends_where_the_holder_is_then)
{
    setup();
    thread_id worker = builder_thread(&b, WORKER, "worker");
    builder_run(&b, lead, COMPUTES, 1000, 1000);
    hold(lead, WORKER, 3000);
    builder_run(&b, worker, "run!/src/w.so > idle!/src/w.so", 1000, 1000);
    builder_run(&b, worker, "run!/src/w.so > ask!/src/w.so > ioctl /dev/x [blocked]", 2000, 0);
    builder_run(&b, worker, "run!/src/w.so > sum!/src/w.so", 1000, 1000);
    account();
    assert_rows("2000 worker device: run > ask > [ioctl /dev/x]; 1000 main computes: f a.py:5; "
                "1000 worker computes: run > sum");
    teardown();
}
END_TEST

/* The worker, which has the lock, waits for the third thread's in turn. */
START_TEST(a_chain_of_waits_ends_at_its_last)
{
    setup();
    thread_id worker = builder_thread(&b, WORKER, "worker");
    thread_id third = builder_thread(&b, THIRD, "third");
    hold(lead, WORKER, 4000);
    builder_run(&b, worker, "run!/src/w.so > sum!/src/w.so", 1000, 1000);
    hold(worker, THIRD, 3000);
    builder_run(&b, third, "save!/src/w.so > fsync /data/x [blocked]", 3500, 0);
    builder_run(&b, third, "save!/src/w.so", 500, 500);
    account();
    assert_rows("2500 third file: save > [fsync /data/x]; 1000 worker computes: run > sum; "
                "500 third computes: save");
    teardown();
}
END_TEST

/* Two that wait for each other: the account ends at the second. */
START_TEST(a_circle_is_followed_once)
{
    setup();
    thread_id worker = builder_thread(&b, WORKER, "worker");
    hold(lead, WORKER, 4000);
    hold(worker, PID, 4000);
    account();
    assert_rows("4000 worker lock: f a.py:3 > take > [mutex]");
    teardown();
}
END_TEST

/* What nobody saw of the holder stays a wait of main's. */
START_TEST(a_holder_that_was_not_seen_leaves_the_wait)
{
    setup();
    thread_id worker = builder_thread(&b, WORKER, "worker");
    hold(lead, WORKER, 3000);
    builder_missed(&b, lead, 1000);
    builder_run(&b, worker, "run!/src/w.so > sum!/src/w.so", 1000, 1000);
    builder_missed(&b, worker, 3000);
    account();
    assert_rows("2000 main lock: f a.py:3 > take > [mutex]; 1000 worker computes: run > sum");
    ck_assert_int_eq(ms(ledger.unseen_ns), 1000);
    teardown();
}
END_TEST

/* Nobody is known to end main's wait, and one other thread is busy then. */
START_TEST(who_is_busy_meanwhile_stands_for_whoever_ends_the_wait)
{
    for (int others = 1; others <= 2; others++) {
        setup();
        thread_id worker = builder_thread(&b, WORKER, "worker");
        builder_run(&b, lead, COMPUTES, 1000, 1000);
        builder_run(&b, lead, "f@/src/a.py:1:3 > wait_for!/src/w.so > futex [blocked]", 3000, 0);
        builder_run(&b, worker, "run!/src/w.so > pop!/src/w.so > futex [blocked]", 1300, 0);
        builder_run(&b, worker, "run!/src/w.so > ask!/src/w.so > ioctl /dev/x [blocked]", 2700, 0);
        if (others == 2) {
            thread_id third = builder_thread(&b, THIRD, "third");
            builder_run(&b, third, "save!/src/s.so", 4000, 4000);
        }
        account();
        assert_rows(others == 1 ? "2700 worker meanwhile device: run > ask > [ioctl /dev/x]; "
                                  "1000 main computes: f a.py:5; "
                                  "300 worker meanwhile condition: run > pop > [futex]"
                                : "3000 main condition: f a.py:3 > wait_for > [futex]; "
                                  "1000 main computes: f a.py:5");
        teardown();
    }
}
END_TEST

/* As over hours: only some windows are still in order, and tell for all. */
START_TEST(of_a_coarsened_recording_the_exact_time_stands_for_all)
{
    enum { LIMIT = 1 << 22, ROUNDS = 20000 };
    b = builder_start_within(LIMIT, PID, "python3");
    lead = builder_thread(&b, PID, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    for (int i = 0; i < ROUNDS; i++) {
        builder_run(&b, lead, COMPUTES, 60, 60);
        builder_run(&b, lead, "f@/src/a.py:1:3 > wait_for!/src/w.so > futex [blocked]", 40, 0);
        builder_run(&b, worker, "run!/src/w.so > pop!/src/w.so > futex [blocked]", 60, 0);
        builder_run(&b, worker, "run!/src/w.so > ask!/src/w.so > ioctl /dev/x [blocked]", 40, 0);
    }
    account_until((int64_t)ROUNDS * 100);
    ck_assert_int_gt(profile_time_step_ns(b.p), 0);
    ck_assert_int_eq(ledger.wall_ns, (int64_t)ROUNDS * 100 * NS_PER_MS);
    ck_assert_uint_eq(ledger.n, 2);
    ck_assert_str_eq(ledger.rows[1].group->noun, "worker");
    ck_assert_int_eq(ledger.rows[1].cause, CAUSE_DEVICE);
    ck_assert_int_eq(percent_of(ledger.rows[0].ns, ledger.wall_ns), 60);
    ck_assert_int_eq(percent_of(ledger.rows[1].ns, ledger.wall_ns), 40);
    teardown();
}
END_TEST

/* Nobody is busy: of those who wait, one waits for somebody outside. */
START_TEST(who_waits_for_others_outside_comes_next)
{
    setup();
    thread_id worker = builder_thread(&b, WORKER, "worker");
    thread_id third = builder_thread(&b, THIRD, "third");
    builder_run(&b, lead, "f@/src/a.py:1:3 > wait_for!/src/w.so > futex [blocked]", END_MS, 0);
    builder_run(&b, worker, "run!/src/w.so > recvfrom 10.0.0.7:5432 [blocked]", END_MS, 0);
    builder_run(&b, third, "rest!/src/w.so > wait_for!/src/w.so > futex [blocked]", END_MS, 0);
    account();
    assert_rows("4000 worker meanwhile peer: run > [recvfrom 10.0.0.7:5432]");
    ck_assert_str_eq(ledger.rows[0].waits.caller, "f a.py:3");
    ck_assert_str_eq(cause_name(ledger.rows[0].waits_cause), "condition");
    teardown();
}
END_TEST

/* Whoever answers is on another machine, and no thread here; at an address of this one it may
 * be. */
START_TEST(who_waits_for_another_machine_waits_for_nobody_here)
{
    for (int here = 0; here <= 1; here++) {
        struct wait_side side = {.thing = THING_SOCKET,
                                 .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 5432}};
        setup();
        side.blocker.host = profile_string(b.p, here ? "127.0.0.1" : "10.0.0.7");
        builder_polls(&b, lead, "f@/src/a.py:1:3", &side, END_MS);
        builder_run(&b, builder_thread(&b, WORKER, "worker"), "count!/src/w.so", END_MS, END_MS);
        account();
        assert_rows(here ? "4000 worker meanwhile computes: count"
                         : "4000 main peer: f a.py:3 > [epoll_wait]");
        teardown();
    }
}
END_TEST

/* Two alike threads take the GIL from each other while main waits for their result; main's own wait
 * for another process they cannot end. */
START_TEST(who_is_kept_from_work_meanwhile_comes_next_too)
{
    for (int outside = 0; outside <= 1; outside++) {
        setup();
        builder_run(&b, lead,
                    outside ? "f@/src/a.py:1:3 > recvfrom 10.0.0.7:5432 [blocked]"
                            : "f@/src/a.py:1:3 > wait_for!/src/w.so > futex [blocked]",
                    END_MS, 0);
        for (int i = 0; i < 2; i++) {
            thread_id parser = builder_thread(&b, WORKER + i, i ? "parser-1" : "parser-0");
            builder_run(&b, parser, "parse@/src/a.py:7:9", 1000, 1000);
            builder_run(&b, parser, "parse@/src/a.py:7:9 > [waiting for GIL]", 3000, 0);
        }
        account();
        assert_rows(outside ? "4000 main peer: f a.py:3 > [recvfrom 10.0.0.7:5432]"
                            : "3000 parser-0 and parser-1 meanwhile gil: parse a.py:9 > "
                              "[waiting for GIL]; "
                              "1000 parser-0 and parser-1 meanwhile computes: parse a.py:9");
        teardown();
    }
}
END_TEST

/* A thread that waits for whoever connects is kept from nothing. */
START_TEST(who_waits_for_clients_ends_no_wait)
{
    setup();
    struct wait_side side = {.thing = THING_SOCKET, .blocker = {.kind = BLOCKER_LISTENER}};
    builder_run(&b, lead, "f@/src/a.py:1:3 > wait_for!/src/w.so > futex [blocked]", END_MS, 0);
    builder_polls(&b, builder_thread(&b, WORKER, "door"), "open@/src/a.py:5:6", &side, END_MS);
    account();
    assert_rows("4000 main condition: f a.py:3 > wait_for > [futex]");
    teardown();
}
END_TEST

/* A main thread that sleeps looks after others: its sleep ends no wait of theirs. */
START_TEST(a_main_thread_that_sleeps_ends_no_wait)
{
    setup();
    builder_run(&b, lead, "main!app > clock_nanosleep [blocked]", END_MS, 0);
    thread_id clerk = builder_thread(&b, WORKER, "clerk");
    builder_run(&b, clerk, "serve!app > sell!app", 1000, 1000);
    builder_run(&b, clerk, "serve!app > pthread_mutex_lock!libc.so.6 > futex [blocked]", 3000, 0);
    account();
    assert_rows("3000 clerk lock: serve > [mutex]; 1000 clerk computes: serve > sell");
    teardown();
}
END_TEST

/* Main waits for any of its children, which are alike: whatever they do is what takes so long. */
START_TEST(a_wait_for_children_ends_in_what_they_do)
{
    for (int alike = 1; alike >= 0; alike--) {
        setup();
        process_id parent = b.process;
        builder_run(&b, lead, "f@/src/a.py:1:5 > wait4 [blocked]", END_MS, 0);
        for (int i = 0; i < 2; i++) {
            builder_process(&b, CHILD + i, alike || !i ? "cc1" : "as", NULL);
            profile_get_process(b.p, b.process)->parent = parent;
            thread_id child = builder_thread(&b, CHILD + i, NULL);
            builder_run(&b, child, "take!/bin/cc1 > rest!/bin/cc1 > futex [blocked]", END_MS, 0);
        }
        account();
        assert_rows(alike ? "4000 20 (cc1) and 21 (cc1) meanwhile condition: take > rest > [futex]"
                          : "4000 10 (python3) child: f a.py:5 > [wait4]");
        teardown();
    }
}
END_TEST

/* Commands, one after the other, of two kinds: each has the part of the waits that it lives for. */
START_TEST(a_wait_for_commands_in_turn_ends_in_each)
{
    setup();
    process_id parent = b.process;
    builder_run(&b, lead, "f@/src/a.py:1:5 > wait4 [blocked]", END_MS, 0);
    for (int i = 0; i < 8; i++) {
        builder_process(&b, CHILD + i, i % 4 ? "cc1" : "as", NULL);
        profile_get_process(b.p, b.process)->parent = parent;
        thread_id child = builder_thread(&b, CHILD + i, NULL);
        profile_get_thread(b.p, child)->start_ns = (int64_t)(1 + 400 * i) * NS_PER_MS;
        builder_run(&b, child, i % 4 ? "compile!/bin/cc1" : "assemble!/bin/as", 400, 400);
        profile_end_thread(b.p, child, (int64_t)(401 + 400 * i) * NS_PER_MS);
        profile_get_thread(b.p, child)->ended = true;
    }
    account();
    assert_rows("3000 6 cc1 processes meanwhile computes: compile; "
                "1000 20 (as) and 24 (as) meanwhile computes: assemble");
    teardown();
}
END_TEST

/* Main waits for a child, whose main thread waits for its own threads. */
START_TEST(who_works_for_one_on_the_way_comes_next)
{
    const struct wait_side side = {.thing = THING_CHILD,
                                   .blocker = {.kind = BLOCKER_PROCESS, .pid = CHILD}};
    setup();
    builder_polls(&b, lead, "f@/src/a.py:1:3", &side, 4000);
    builder_process(&b, CHILD, "encode", NULL);
    builder_run(&b, builder_thread(&b, CHILD, NULL),
                "main!encode > pthread_cond_wait!libc.so.6 > futex [blocked]", 4000, 0);
    for (int i = 1; i <= 2; i++)
        builder_run(&b, builder_thread(&b, CHILD + i, "coder"), "transform!encode", 4000, 4000);
    account();
    assert_rows("4000 2 coder threads of 20 (encode) meanwhile computes: transform");
    ck_assert_int_eq(ledger.rows[0].bound_ns, 0);
    teardown();
}
END_TEST

/* A recorded child's main thread, which main waits for. */
START_TEST(a_wait_for_a_process_ends_in_its_main_thread)
{
    const struct wait_side side = {.thing = THING_CHILD,
                                   .blocker = {.kind = BLOCKER_PROCESS, .pid = CHILD}};
    setup();
    builder_polls(&b, lead, "f@/src/a.py:1:3", &side, 4000);
    builder_process(&b, CHILD, "cc1", NULL);
    thread_id child = builder_thread(&b, CHILD, NULL);
    builder_run(&b, child, "compile!/bin/cc1", 4000, 4000);
    account();
    assert_rows("4000 20 (cc1) computes: compile");
    teardown();
}
END_TEST

/* The kernel names the process at the other end of a socket, and none of its threads: the one that
 * works is chosen, and what removing its work saves is not known. */
START_TEST(which_thread_of_a_process_works_is_not_read)
{
    const struct wait_side side = {
        .thing = THING_SOCKET,
        .blocker = {.kind = BLOCKER_PEER, .net = NET_TCP, .port = 80, .pid = CHILD}};
    setup();
    builder_polls(&b, lead, "f@/src/a.py:1:3", &side, 4000);
    builder_process(&b, CHILD, "server", NULL);
    builder_run(&b, builder_thread(&b, CHILD, NULL), "main!server > accept [blocked]", 4000, 0);
    builder_run(&b, builder_thread(&b, CHILD + 1, "serve"), "answer!server", 4000, 4000);
    account();
    assert_rows("4000 20's serve meanwhile computes: answer");
    ck_assert_int_eq(ledger.rows[0].bound_ns, 0);
    teardown();
}
END_TEST

/* Whoever of that process ends the wait, its main thread does not: the wait stays one. */
START_TEST(who_has_nothing_to_do_ends_no_wait)
{
    const struct wait_side side = {.thing = THING_CHILD,
                                   .blocker = {.kind = BLOCKER_PROCESS, .pid = CHILD}};
    setup();
    builder_polls(&b, lead, "f@/src/a.py:1:3", &side, 4000);
    builder_process(&b, CHILD, "server", NULL);
    builder_run(&b, builder_thread(&b, CHILD, NULL),
                "_worker@/usr/lib/python3.11/concurrent/futures/thread.py:66:81 > futex [blocked]",
                4000, 0);
    account();
    assert_rows("4000 10 (python3) peer: f a.py:3 > [epoll_wait]");
    ck_assert_int_eq(ledger.idle_ns, 0);
    teardown();
}
END_TEST

/* One place, half of it computing, and half of that without a CPU. */
START_TEST(a_place_has_a_row_for_each_cause)
{
    setup();
    builder_run(&b, lead, COMPUTES, 500, 500);
    builder_runnable(&b, lead, COMPUTES, 1500);
    builder_run(&b, lead, COMPUTES " > [page fault]", 1800, 0);
    builder_run(&b, lead, COMPUTES " > [gc]", 200, 200);
    account();
    ck_assert_uint_eq(ledger.n, 2);
    ck_assert_str_eq(cause_name(ledger.rows[0].cause), "cpu");
    ck_assert_str_eq(cause_name(ledger.rows[1].cause), "page");
    ck_assert_int_eq(ms(ledger.rows[0].ns + ledger.rows[1].ns), 4000);
    teardown();
}
END_TEST

/* Each row has the other side of its own waits: what it computes has none, and a wait for a CPU
 * hides nobody. */
START_TEST(the_other_side_is_that_of_the_rows_cause)
{
#define TAKES "f@/src/a.py:1:3 > take!/src/w.so"
    const struct wait_side side = {
        .thing = THING_FILE_LOCK,
        .blocker = {.kind = BLOCKER_PROCESS, .pid = 7012},
    };
    setup();
    builder_held(&b, lead, TAKES, &side, 1500);
    builder_runnable(&b, lead, TAKES " > [waiting for cpu]", 2500);
    account();
    assert_rows("2500 main cpu: f a.py:3 > take; 1500 main condition: f a.py:3 > take");
    ck_assert_int_eq(ms(ledger.rows[0].other_ns), 0);
    ck_assert_int_eq(ms(ledger.rows[1].other_ns), 1500);
    ck_assert_int_eq(ledger.rows[1].other.blocker.pid, 7012);
    teardown();
}
END_TEST

/* Main joins threads for nearly all of its time: they are what the user waits for. */
START_TEST(whoever_only_looks_after_others_does_not_lead)
{
    for (int works_ms = 200; works_ms <= 800; works_ms += 600) {
        setup();
        builder_run(&b, lead, COMPUTES, works_ms, works_ms);
        builder_run(&b, lead, "f@/src/a.py:1:3 > pthread_join!libc.so.6 > futex [blocked]",
                    END_MS - works_ms, 0);
        for (pid_t tid = WORKER; tid < WORKER + 3; tid++) {
            thread_id t = builder_thread(&b, tid, "miner");
            builder_run(&b, t, "dig!/src/w.so > hash!/src/w.so", 3000, 3000);
            builder_run(&b, t, "dig!/src/w.so > clock_nanosleep [blocked]", 1000, 0);
        }
        account();
        ck_assert_str_eq(ledger.leader->noun, works_ms < 400 ? "3 miner threads" : "main");
        teardown();
    }
}
END_TEST

START_TEST(causes_are_told_by_where_the_stack_ends)
{
    static const struct {
        const char *stack;
        enum cause cause;
    } cases[] = {
        {"f@/src/a.py:1:5", CAUSE_COMPUTES},
        {"f@/src/a.py:1:5 > [gc]", CAUSE_GC},
        {LOCKS, CAUSE_LOCK},
        {"f@/src/a.py:1:5 > malloc!libc.so.6 > futex [blocked]", CAUSE_LOCK},
        {"f@/src/a.py:1:5 > flock /x/y [blocked]", CAUSE_LOCK},
        {"f@/src/a.py:1:5 > read /x/y [blocked]", CAUSE_FILE},
        {"f@/src/a.py:1:5 > ioctl /dev/nvidia0 [blocked]", CAUSE_DEVICE},
        {"f@/src/a.py:1:5 > wait4 [blocked]", CAUSE_CHILD},
        {"f@/src/a.py:1:5 > read pipe [blocked]", CAUSE_PEER},
        {"f@/src/a.py:1:5 > recvfrom 10.0.0.7:5432 [blocked]", CAUSE_PEER},
        {"f@/src/a.py:1:5 > clock_nanosleep [blocked]", CAUSE_TIMER},
        {"f@/src/a.py:1:5 > [waiting for GIL]", CAUSE_GIL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        builder_run(&b, lead, cases[i].stack, 4000, 0);
        account();
        ck_assert_uint_eq(ledger.n, 1);
        ck_assert_str_eq(cause_name(ledger.rows[0].cause), cause_name(cases[i].cause));
        teardown();
    }
}
END_TEST

/* What the kernel's clock has for a thread is its faults' as far as each may take that long. */
START_TEST(the_kernels_work_for_faults_is_a_cause)
{
    static const struct {
        uint64_t faults, numa_faults;
        const char *rows;
    } cases[] = {
        {3000000, 0, "3000 main faults: f a.py:5; 1000 main computes: f a.py:5"},
        {3000000, 2500000, "3000 main numa: f a.py:5; 1000 main computes: f a.py:5"},
        {200000, 0, "3400 main computes: f a.py:5; 600 main faults: f a.py:5"},
        {20000, 0, "4000 main computes: f a.py:5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup();
        profile_get_host(b.p)->machine = (struct profile_machine){
            .numa_known = true, .numa_balancing = 1, .numa_faults = cases[i].numa_faults};
        builder_run(&b, lead, COMPUTES, END_MS, END_MS);
        profile_get_thread(b.p, lead)->usage =
            (struct profile_usage){.over_ns = INT64_C(1) * END_MS * NS_PER_MS,
                                   .user_ns = INT64_C(1000) * NS_PER_MS,
                                   .system_ns = INT64_C(3000) * NS_PER_MS,
                                   .minor_faults = cases[i].faults};
        account();
        assert_rows(cases[i].rows);
        teardown();
    }
}
END_TEST

/* The worker asks the device also while main computes: more is saved than ends there, but not more
 * than main's waits. */
START_TEST(what_removing_a_place_saves_is_bounded_where_all_was_read)
{
    static const struct {
        int64_t worker_starts_ms;
        double gil_share;
        int bound_ms;
    } cases[] = {{0, 0, 2500}, {1000, 0, 2000}, {0, 0.2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t asks_ms = 2500 - cases[i].worker_starts_ms / 2;
        const int64_t gil_ms = (int64_t)(cases[i].gil_share * END_MS);
        setup();
        thread_id worker = builder_thread(&b, WORKER, "worker");
        builder_run(&b, lead, COMPUTES, 1000, 1000);
        hold(lead, WORKER, 3000);
        builder_run(&b, worker, "run!/src/w.so > idle!/src/w.so", cases[i].worker_starts_ms,
                    cases[i].worker_starts_ms);
        builder_run(&b, worker, "run!/src/w.so > ask!/src/w.so > ioctl /dev/x [blocked]", asks_ms,
                    0);
        builder_run(&b, worker, "run!/src/w.so > [waiting for GIL]", gil_ms, 0);
        builder_run(&b, worker, "run!/src/w.so > sum!/src/w.so",
                    END_MS - asks_ms - gil_ms - cases[i].worker_starts_ms,
                    END_MS - asks_ms - gil_ms - cases[i].worker_starts_ms);
        account();
        const struct ledger_row *row = &ledger.rows[0];
        while (row->cause != CAUSE_DEVICE)
            row++;
        ck_assert_int_eq(ms(row->bound_ns), cases[i].bound_ms);
        teardown();
    }
}
END_TEST

/* Each of two leading threads may wait for the place all the time that anybody is there; they are
 * there themselves in the second case. */
START_TEST(what_several_leading_threads_save_is_bounded)
{
    static const char device[] = "serve!app > ask!app > ioctl /dev/x [blocked]";
    for (int own = 0; own < 2; own++) {
        setup();
        builder_run(&b, lead, "main!app > clock_nanosleep [blocked]", END_MS, 0);
        thread_id first = builder_thread(&b, WORKER, "conn");
        thread_id second = builder_thread(&b, THIRD, "conn");
        for (int i = 0; i < 2; i++) {
            thread_id t = i ? second : first;
            if (own && !i)
                builder_run(&b, t, device, 1000, 0);
            hold(t, !own ? THIRD + 1 : i ? WORKER : THIRD, own ? 1000 : 3000);
            if (own && i)
                builder_run(&b, t, device, 1000, 0);
            builder_run(&b, t, "serve!app", own ? 2000 : 1000, own ? 2000 : 1000);
        }
        thread_id worker = builder_thread(&b, THIRD + 1, "worker");
        builder_run(&b, worker, own ? "run!app > clock_nanosleep [blocked]" : device, 2500, 0);
        builder_run(&b, worker, "run!app > clock_nanosleep [blocked]", 1500, 0);
        account();
        ck_assert_uint_eq(ledger.leader->n_threads, 2);
        const struct ledger_row *row = &ledger.rows[0];
        while (row->cause != CAUSE_DEVICE || row->way != LEDGER_READ)
            row++;
        ck_assert_int_eq(ms(row->ns), own ? 2000 : 5000);
        ck_assert_int_eq(ms(row->bound_ns), own ? 4000 : 5000);
        teardown();
    }
}
END_TEST

/* Waits for work are no part of the place that they are below. */
START_TEST(waits_for_work_are_in_no_row)
{
#define LOOP "run@/src/a.py:1:2 > _run_once@/usr/lib/python3.11/asyncio/base_events.py:1:9"
    setup();
    builder_run(&b, lead, LOOP " > epoll_wait eventpoll [blocked]", 3800, 0);
    builder_run(&b, lead, LOOP, 200, 200);
    account();
    assert_rows("200 main computes: run a.py:2 > _run_once");
    ck_assert_int_eq(ms(ledger.idle_ns), 3800);
    ck_assert_int_eq(ms(ledger.rest_ns), 0);
    teardown();
}
END_TEST

/* Who sleeps in a library's loop until something is so waits for that; any other sleep is one. */
START_TEST(a_sleep_of_a_library_that_polls_is_a_wait)
{
    setup();
    builder_run(&b, lead,
                "f@/src/a.py:1:3 > Popen._wait@/usr/lib/python3.11/subprocess.py:1:2 > "
                "clock_nanosleep [blocked]",
                2400, 0);
    builder_run(&b, lead, "f@/src/a.py:1:5 > clock_nanosleep [blocked]", 1600, 0);
    account();
    assert_rows("2400 main child: f a.py:3 > Popen._wait > [clock_nanosleep]; "
                "1600 main timer: f a.py:5 > [clock_nanosleep]");
    teardown();
}
END_TEST

/* Main asks a manager's process for 3 s.  If each answer takes as long as a message does, nothing
 * but passing it takes that time. */
START_TEST(waits_as_short_as_a_message_are_its_price)
{
    static const struct {
        const char *in;
        uint64_t waits;
        const char *rows;
    } cases[] = {
        {"/multiprocessing/connection.py", 75000,
         "3000 main pickles: f a.py:3 > [read socket]; 1000 main computes: f a.py:5"},
        {"/multiprocessing/connection.py", 3000,
         "3000 main peer: f a.py:3 > [read socket]; 1000 main computes: f a.py:5"},
        {"/socket.py", 75000,
         "3000 main peer: f a.py:3 > recv > [read socket]; 1000 main computes: f a.py:5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text stack = {0};
        text_addf(&stack,
                  "f@/src/a.py:1:3 > recv@/usr/lib/python3.11%s:1:2 > read socket [blocked]",
                  cases[i].in);
        setup();
        builder_run(&b, lead, stack.s, 3000, 0);
        builder_run(&b, lead, COMPUTES, 1000, 1000);
        profile_get_thread(b.p, lead)->usage = (struct profile_usage){
            .over_ns = INT64_C(1) * END_MS * NS_PER_MS, .voluntary = cases[i].waits};
        account();
        assert_rows(cases[i].rows);
        teardown();
        text_release(&stack);
    }
}
END_TEST

CHECK_MAIN("ledger", 20, what_several_leading_threads_save_is_bounded, waits_for_work_are_in_no_row,
           a_sleep_of_a_library_that_polls_is_a_wait,
           what_removing_a_place_saves_is_bounded_where_all_was_read,
           a_wait_ends_where_the_holder_is_then, a_chain_of_waits_ends_at_its_last,
           a_circle_is_followed_once, the_kernels_work_for_faults_is_a_cause,
           a_holder_that_was_not_seen_leaves_the_wait,
           who_is_busy_meanwhile_stands_for_whoever_ends_the_wait,
           of_a_coarsened_recording_the_exact_time_stands_for_all,
           who_waits_for_others_outside_comes_next, who_has_nothing_to_do_ends_no_wait,
           a_wait_for_a_process_ends_in_its_main_thread,
           which_thread_of_a_process_works_is_not_read,
           who_is_kept_from_work_meanwhile_comes_next_too, who_waits_for_clients_ends_no_wait,
           a_wait_for_children_ends_in_what_they_do, a_place_has_a_row_for_each_cause,
           the_other_side_is_that_of_the_rows_cause, whoever_only_looks_after_others_does_not_lead,
           causes_are_told_by_where_the_stack_ends, a_main_thread_that_sleeps_ends_no_wait,
           a_wait_for_commands_in_turn_ends_in_each, who_works_for_one_on_the_way_comes_next,
           waits_as_short_as_a_message_are_its_price,
           who_waits_for_another_machine_waits_for_nobody_here)
