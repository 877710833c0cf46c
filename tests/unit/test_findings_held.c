/* Findings that rest on who holds what others wait for. */
#include <string.h>

#include "base/clock.h"
#include "summary/findings.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { PID = 10, REFRESH = 11, LOADER = 12 };

static thread_id lead, refresh, loader;

static void setup(void)
{
    b = builder_start(PID, "server");
    lead = builder_thread(&b, PID, NULL);
    refresh = builder_thread(&b, REFRESH, "refresh");
    loader = builder_thread(&b, LOADER, "loader");
}

static void assert_said(const char *words)
{
    for (size_t i = 0; i < found.n_printed; i++)
        if (strstr(found.printed[i]->words, words))
            return;
    ck_abort_msg("\"%s\" is not said, but \"%s\"", words, found.printed[0]->words);
}

static const char query[] = "store!server > query!server > clock_nanosleep [blocked]";
static const char look_up[] = "serve!server > look_up!server > pthread_mutex_lock!libc.so.6";
static const char joins[] = "serve!server > pthread_join!libc.so.6";
static const char computes[] = "serve!server > hash!server";

static struct wait_side held_by(pid_t tid)
{
    return (struct wait_side){.thing = THING_MUTEX,
                              .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = tid},
                              .addr = 4096};
}

static void waits_for(thread_id t, pid_t holder, int64_t ms)
{
    struct wait_side side = held_by(holder);
    builder_held(&b, t, look_up, &side, ms);
}

/* With a lower priority than those that have all CPUs. */
START_TEST(a_holder_without_a_cpu_is_told)
{
    setup();
    waits_for(lead, REFRESH, 3800);
    builder_run(&b, lead, computes, 200, 200);
    builder_run(&b, refresh, computes, 400, 400);
    builder_runnable(&b, refresh, computes, 3600);
    judge(4000);
    assert_said("refresh has no CPU for 89% of that time: fewer busy threads");
    teardown();
}
END_TEST

START_TEST(who_holds_a_lock_is_named_with_what_it_does)
{
    setup();
    waits_for(lead, REFRESH, 3200);
    builder_run(&b, lead, computes, 800, 800);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, computes, 4000, 4000);
    judge(4000);
    assert_told(0, "waits_for",
                "main waits 80% of its time in look_up, called from serve, for a mutex "
                "held by refresh, which is then 100% in store > query > clock_nanosleep.");
    assert_not_told("waits_meanwhile");
    teardown();
}
END_TEST

/* The holder is there also while main waits for a file: more may be saved than ends there. */
START_TEST(what_can_be_saved_at_most_is_told_where_that_is_more)
{
    setup();
    waits_for(lead, REFRESH, 2000);
    builder_run(&b, lead, "serve!server > load!server > read /x [blocked]", 800, 0);
    builder_run(&b, lead, computes, 1200, 1200);
    builder_run(&b, refresh, "store!server > sum_up!server", 4000, 4000);
    judge(4000);
    assert_said("which is then 100% in store > sum_up. If store > sum_up took no time, main would "
                "save at most 70% of its time.");
    teardown();
}
END_TEST

/* The holder waits for a recorded process in turn. */
START_TEST(what_a_process_does_that_the_holder_waits_for_is_told)
{
    const struct wait_side child = {.thing = THING_CHILD,
                                    .blocker = {.kind = BLOCKER_PROCESS, .pid = 20}};
    setup();
    waits_for(lead, REFRESH, 4000);
    builder_polls(&b, refresh, "store!server > convert!server", &child, 4000);
    builder_process(&b, 20, "squeeze", "");
    builder_run(&b, builder_thread(&b, 20, NULL), "code!squeeze", 4000, 4000);
    judge(4000);
    assert_told(0, "waits_for", "which is then 100% in store > convert");
    assert_told(0, "waits_for", "Meanwhile 20 (squeeze) is 100% in code.");
    teardown();
}
END_TEST

/* Who syncs a file sleeps and runs in one call: it is there for all of that. */
START_TEST(the_holders_call_has_all_that_goes_on_in_it)
{
    static const char syncs[] = "store!server > flush!server > fdatasync!libc.so.6";
    struct text asleep = {0};
    text_addf(&asleep, "%s > fdatasync /data/x [blocked]", syncs);
    setup();
    waits_for(lead, REFRESH, 4000);
    builder_run(&b, refresh, asleep.s, 2000, 0);
    builder_run(&b, refresh, syncs, 1800, 1800);
    builder_run(&b, refresh, "store!server > flush!server", 200, 200);
    judge(4000);
    assert_told(1, "waits_for", "which is then 95% in store > flush > fdatasync");
    teardown();
    text_release(&asleep);
}
END_TEST

/* Two alike threads have it in turn: while one has it the other one waits. */
START_TEST(of_alike_holders_the_one_counts_that_has_it)
{
    setup();
    pid_t first = REFRESH + 10;
    pid_t second = REFRESH + 11;
    thread_id a = builder_thread(&b, first, "worker-1");
    thread_id c = builder_thread(&b, second, "worker-2");
    for (int i = 0; i < 10; i++) {
        waits_for(lead, first, 200);
        builder_run(&b, a, query, 200, 0);
        waits_for(c, first, 200);
        waits_for(lead, second, 200);
        builder_run(&b, c, query, 200, 0);
        waits_for(a, second, 200);
    }
    judge(4000);
    assert_said("held by worker-1 and worker-2, which are then 100% in store > query > "
                "clock_nanosleep");
    teardown();
}
END_TEST

/* Readers leave no name: one of the others has the lock. */
START_TEST(of_a_lock_without_a_holder_the_others_are_told)
{
    static const char writes[] =
        "publish!server > pthread_rwlock_wrlock!libc.so.6 > futex [blocked]";
    setup();
    builder_run(&b, lead, writes, 4000, 0);
    builder_run(&b, refresh, query, 3900, 0);
    builder_run(&b, refresh, computes, 100, 100);
    judge(4000);
    assert_said("main waits 100% of its time in publish > rwlock. The lock's holder is unknown: "
                "readers leave no name in an rwlock. refresh is 98% in store > query > "
                "clock_nanosleep.");
    teardown();
}
END_TEST

/* A part of all of the time, also where a half of it was not seen. */
START_TEST(a_wait_is_a_part_of_the_whole_time)
{
    setup();
    waits_for(lead, REFRESH, 1800);
    builder_run(&b, lead, computes, 200, 200);
    builder_missed(&b, lead, 2000);
    builder_run(&b, refresh, query, 4000, 0);
    judge(4000);
    assert_told(0, "waits_for", "main waits 45% of its time in look_up, called from serve,");
    teardown();
}
END_TEST

START_TEST(a_holder_that_was_read_too_seldom_is_not_named)
{
    setup();
    waits_for(lead, REFRESH, 2400);
    struct wait_side unknown = {.thing = THING_MUTEX};
    builder_held(&b, lead, look_up, &unknown, 800);
    builder_run(&b, lead, computes, 800, 800);
    builder_run(&b, refresh, query, 4000, 0);
    judge(4000);
    assert_not_told("waits_for");
    teardown();
}
END_TEST

/* T waits for each of the two for MS, for the lock at ADDR and the one STEP behind it. */
static void waits_in_turn(thread_id t, uint64_t addr, uint64_t step, int64_t ms)
{
    struct wait_side side = held_by(REFRESH);
    side.addr = addr;
    builder_held(&b, t, look_up, &side, ms);
    side.blocker.tid = LOADER;
    side.addr = addr + step;
    builder_held(&b, t, look_up, &side, ms);
}

START_TEST(a_lock_that_threads_hold_in_turn_is_named)
{
    setup();
    waits_in_turn(lead, 4096, 0, 1200);
    builder_run(&b, lead, computes, 1600, 1600);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 3900, 0);
    builder_run(&b, loader, computes, 100, 100);
    judge(4000);
    assert_not_told("waits_for");
    assert_told(0, "contention",
                "main waits 60% of its time for a mutex, in look_up, called from serve. 2 threads "
                "hold it in turn, 100% of that time in store > query > "
                "clock_nanosleep.");
    teardown();
    setup(); /* each holds a lock of its own */
    waits_in_turn(lead, 4096, 64, 1200);
    builder_run(&b, lead, computes, 1600, 1600);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 4000, 0);
    judge(4000);
    assert_not_told("contention");
    assert_said("Several threads hold that lock in turn.");
    teardown();
    setup(); /* the wait is short */
    waits_in_turn(lead, 4096, 0, 150);
    builder_run(&b, lead, computes, 3700, 3700);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 4000, 0);
    judge(4000);
    assert_not_told("contention");
    teardown();
}
END_TEST

/* T waits three times for the lock, whose holder cannot be read, each time for MS. */
static void waits_unread(thread_id t, int64_t ms)
{
    struct wait_side unread = {.thing = THING_MUTEX, .addr = 4096};
    for (int i = 0; i < 3; i++) {
        builder_held(&b, t, look_up, &unread, ms);
        builder_run(&b, t, query, 1000 - ms, 0);
    }
}

START_TEST(threads_that_get_a_lock_in_turn_need_no_holder_that_was_read)
{
    setup();
    builder_run(&b, lead, computes, 3000, 3000);
    waits_unread(refresh, 900);
    thread_id other = builder_thread(&b, REFRESH + 10, "refresh");
    waits_unread(other, 700);
    judge(3000);
    assert_told(1, "contention", /* behind what those do whom the user waits for */
                "2 refresh threads wait 80% of their time for a mutex, in look_up, called from "
                "serve. At least 2 threads hold it in turn");
    teardown();
    setup(); /* one thread waits, and another was read as the holder once: it has it always */
    waits_unread(lead, 900);
    waits_for(lead, REFRESH, 100);
    builder_run(&b, refresh, computes, 3100, 3100);
    judge(3100);
    assert_not_told("contention");
    teardown();
    setup(); /* none of them gets it */
    builder_run(&b, lead, computes, 3000, 3000);
    struct wait_side unread = {.thing = THING_MUTEX, .addr = 4096};
    builder_held(&b, refresh, look_up, &unread, 3000);
    builder_held(&b, builder_thread(&b, REFRESH + 10, "refresh"), look_up, &unread, 3000);
    judge(3000);
    assert_not_told("contention");
    teardown();
}
END_TEST

/* N threads wait for a lock one after the other.  The holder of READ of them was read: the one
 * before. */
static void wait_one_after_the_other(int n, int read)
{
    for (int i = 0; i < n; i++) {
        thread_id t = builder_thread(&b, REFRESH + 10 + i, "worker");
        struct wait_side side = {.thing = THING_MUTEX, .addr = 4096};
        if (i < read) {
            side = held_by(REFRESH + 10 + (i + 1) % n);
            side.addr = 4096;
        }
        builder_run(&b, t, computes, 10 + i, 10 + i);
        builder_held(&b, t, look_up, &side, 900);
        builder_run(&b, t, query, 90 - i, 0);
    }
}

START_TEST(who_got_a_lock_holds_it_in_turn_though_it_was_not_read)
{
    setup();
    builder_run(&b, lead, computes, 1000, 1000);
    wait_one_after_the_other(7, 6);
    judge(1000);
    assert_said("At least 7 threads hold it in turn");
    teardown();
    setup();
    builder_run(&b, lead, computes, 1000, 1000);
    wait_one_after_the_other(7, 7);
    judge(1000);
    assert_said(". 7 threads hold it in turn");
    teardown();
}
END_TEST

START_TEST(who_is_joined_is_said_with_what_it_does)
{
    setup();
    builder_run(&b, lead, "serve!server > pthread_join!libc.so.6 > futex [blocked]", 4000, 0);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 3900, 0);
    builder_run(&b, loader, computes, 100, 100);
    judge(4000);
    assert_not_told("waits_meanwhile");
    assert_said("loader is 98% in store > query > clock_nanosleep. refresh is 100% in ");
    teardown();
    setup(); /* there are three kinds of them */
    builder_run(&b, lead, "serve!server > pthread_join!libc.so.6 > futex [blocked]", 4000, 0);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 4000, 0);
    builder_run(&b, builder_thread(&b, LOADER + 10, "reader"), query, 4000, 0);
    judge(4000);
    ck_assert_ptr_null(strstr(found.printed[0]->words, "query"));
    teardown();
    setup(); /* the other two are alike */
    profile_get_thread(b.p, refresh)->name = profile_string(b.p, "till-1");
    profile_get_thread(b.p, loader)->name = profile_string(b.p, "till-2");
    builder_run(&b, lead, "serve!server > pthread_join!libc.so.6 > futex [blocked]", 4000, 0);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 3900, 0);
    builder_run(&b, loader, computes, 100, 100);
    judge(4000);
    assert_said("till-1 and till-2 are 99% in store > query > clock_nanosleep.");
    teardown();
}
END_TEST

START_TEST(a_chain_is_followed_to_who_waits_for_nobody)
{
    setup();
    waits_for(lead, REFRESH, 3200);
    builder_run(&b, lead, computes, 800, 800);
    waits_for(refresh, LOADER, 4000);
    builder_run(&b, loader, query, 4000, 0);
    judge(4000);
    assert_said("for a mutex held by refresh, which waits for a mutex held by loader, which is "
                "then 100% in store > query > clock_nanosleep.");
    teardown();
}
END_TEST

/* It waits for the loader, too, but not while it keeps main. */
START_TEST(what_a_holder_waits_for_at_other_times_is_no_link_of_the_chain)
{
    setup();
    waits_for(lead, REFRESH, 1600);
    builder_run(&b, lead, computes, 2400, 2400);
    builder_run(&b, refresh, "store!server > sum_up!server", 1600, 1600);
    waits_for(refresh, LOADER, 2400);
    builder_run(&b, loader, query, 4000, 0);
    judge(4000);
    assert_said("main waits 40% of its time in look_up, called from serve, for a mutex held by "
                "refresh, which is then 100% in store > sum_up.");
    teardown();
}
END_TEST

/* Ten handlers lock it. */
START_TEST(of_many_places_that_wait_for_a_lock_the_heaviest_has_its_own_share)
{
    setup();
    for (int i = 0; i < 10; i++) {
        struct text stack = {0};
        const struct wait_side side = held_by(REFRESH);
        text_addf(&stack, "serve!server > handle_%d!server > pthread_mutex_lock!libc.so.6", i);
        builder_held(&b, lead, stack.s, &side, i ? 300 : 500);
        text_release(&stack);
    }
    builder_run(&b, lead, computes, 800, 800);
    builder_run(&b, refresh, query, 4000, 0);
    judge(4000);
    assert_said("main waits 80% of its time, 13% in handle_0, called from serve, for a mutex held "
                "by refresh, which");
    teardown();
}
END_TEST

/* A quarter of its time, and less than half of its waits. */
START_TEST(the_holder_of_a_lock_is_known_beside_other_waits)
{
    setup();
    waits_for(lead, REFRESH, 1000);
    builder_run(&b, lead, "serve!server > recv!libc.so.6 > recvfrom socket [blocked]", 640, 0);
    builder_run(&b, lead, "serve!server > pthread_cond_wait!libc.so.6 > futex [blocked]", 560, 0);
    builder_run(&b, lead, computes, 1800, 1800);
    builder_run(&b, refresh, query, 4000, 0);
    builder_run(&b, loader, query, 4000, 0);
    judge(4000);
    assert_told(0, "waits_for",
                "main waits 25% of its time in look_up, called from serve, for a mutex held by "
                "refresh, which is then 100% in store > query > clock_nanosleep.");
    teardown();
}
END_TEST

/* The first of six waits for another one: what the five others wait for is asked of them. */
START_TEST(what_a_holder_does_is_asked_of_all_who_wait)
{
    enum { WAITERS = 6 };
    setup();
    builder_run(&b, lead, computes, 4000, 40);
    for (int i = 0; i < WAITERS; i++) {
        thread_id t = builder_thread(&b, 20 + i, "worker");
        builder_run(&b, t, computes, 2400, 2400);
        waits_for(t, i ? REFRESH : LOADER, 1600);
    }
    builder_run(&b, refresh, computes, 2400, 2400);
    builder_run(&b, refresh, query, 1600, 0);
    builder_run(&b, loader, computes, 4000, 4000);
    judge(4000);
    assert_said("6 worker threads wait 40% of their time in look_up, called from serve, for a "
                "mutex held by refresh, which is then 100% in store > query > clock_nanosleep.");
    teardown();
}
END_TEST

START_TEST(a_lock_of_no_thread_of_the_process_is_told_as_such)
{
    setup();
    struct wait_side side = {.thing = THING_MUTEX, .blocker = {.kind = BLOCKER_GONE, .tid = 2104}};
    builder_held(&b, lead, look_up, &side, 4000);
    judge(4000);
    assert_told(0, "waits_for",
                "for a mutex held by 2104, which is not a thread of this process: it "
                "has ended, or the lock was inherited by fork.");
    teardown();
}
END_TEST

START_TEST(what_is_held_is_the_holders_and_no_other_thing)
{
    setup();
    struct wait_side gone = {.thing = THING_MUTEX, .blocker = {.kind = BLOCKER_GONE, .tid = 2104}};
    struct wait_side side = held_by(REFRESH);
    side.thing = THING_RWLOCK;
    builder_held(&b, lead, "serve!server > look_up!server > pthread_rwlock_wrlock!libc.so.6", &side,
                 3800);
    builder_held(&b, lead, look_up, &gone, 200);
    builder_run(&b, refresh, query, 4000, 0);
    judge(4000);
    assert_said("for an rwlock held by refresh");
    teardown();
}
END_TEST

/* A tid is given to one thread after the other. */
START_TEST(the_holder_is_the_thread_that_lived_then)
{
    setup();
    thread_id later = builder_thread(&b, REFRESH, "later");
    waits_for(lead, REFRESH, 3800);
    builder_run(&b, lead, computes, 200, 200);
    builder_run(&b, refresh, query, 3900, 0);
    profile_get_thread(b.p, refresh)->ended = true;
    profile_get_thread(b.p, refresh)->end_ns = (int64_t)3900 * NS_PER_MS;
    profile_get_thread(b.p, later)->start_ns = (int64_t)3950 * NS_PER_MS;
    builder_run(&b, later, computes, 50, 50);
    judge(4000);
    assert_said("for a mutex held by refresh");
    teardown();
}
END_TEST

START_TEST(who_is_joined_is_news_only_where_it_waits_itself)
{
    static const char sends[] = "store!app > write pipe [blocked]";
    const char *const stacks[] = {query, sends, computes};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct wait_side side = held_by(REFRESH);
        setup();
        side.thing = THING_THREAD;
        builder_held(&b, lead, joins, &side, 4000);
        builder_run(&b, refresh, stacks[i], 4000, stacks[i] == computes ? 4000 : 0);
        judge(4000);
        if (stacks[i] == computes)
            assert_not_told("waits_for");
        else
            assert_told(0, "waits_for", "for refresh to end, which is then 100% in store");
        ck_assert(stacks[i] == computes || found.n_printed == 1); /* not twice */
        teardown();
    }
}
END_TEST

/* Whoever releases a mutex runs, and may have it again before a waiter does. */
START_TEST(a_mutex_that_is_taken_again_at_once_is_told)
{
    static const struct {
        uint32_t its, others; /* wakes in waits for it, and for another one */
    } wakes[] = {{0, 0}, {1, 0}, {4, 0}, {1, 4}};
    for (size_t i = 0; i < sizeof wakes / sizeof *wakes; i++) {
        struct wait_side side = held_by(REFRESH), other = {.thing = THING_MUTEX};
        setup();
        for (int k = 0; k < 40; k++) {
            struct profile_thread *t = profile_get_thread(b.p, loader);
            builder_held(&b, loader, look_up, &side, 90);
            t->runs[t->n_runs - 1].waits = wakes[i].its;
            builder_held(&b, loader, look_up, &other, 5);
            t->runs[t->n_runs - 1].waits = wakes[i].others;
            builder_run(&b, loader, "load!server", 5, 5);
        }
        builder_run(&b, refresh, computes, 4000, 4000);
        judge(4000);
        assert_told(0, "waits_for",
                    wakes[i].its == 4
                        ? "hash. loader is woken 44 times a second in that wait: refresh "
                          "gives the mutex up as often, and may take it again before"
                        : "for a mutex");
        ck_assert(wakes[i].its == 4 || !strstr(found.printed[0]->words, "woken"));
        teardown();
    }
}
END_TEST

/* The main thread is met first, and with it its wait. */
START_TEST(a_holder_may_be_met_after_who_waits_for_it)
{
    for (int later = 0; later < 2; later++) {
        struct wait_side side = held_by(REFRESH);
        setup();
        profile_get_thread(b.p, refresh)->start_ns = later ? INT64_C(4001) * NS_PER_MS : NS_PER_MS;
        side.thing = THING_THREAD;
        builder_held(&b, lead, joins, &side, 4000);
        builder_run(&b, refresh, query, 4000, 0);
        judge(4000);
        if (later) /* it cannot be meant */
            assert_not_told("waits_for");
        else
            assert_told(0, "waits_for", "for refresh to end");
        teardown();
    }
}
END_TEST

static void circle(pid_t first_holder, pid_t second_holder, bool timed, int64_t last_ms)
{
    struct wait_side side = held_by(first_holder);
    setup();
    builder_run(&b, lead, computes, 4000, 4000);
    builder_run(&b, refresh, computes, 4000 - last_ms, 4000 - last_ms);
    builder_held(&b, refresh, look_up, &side, last_ms);
    builder_run(&b, loader, computes, 1000, 1000);
    side = held_by(second_holder);
    side.timed = timed;
    builder_held(&b, loader, look_up, &side, 3000);
    judge(4000);
}

START_TEST(a_circle_without_an_end_is_a_deadlock)
{
    circle(LOADER, REFRESH, false, 2000);
    assert_told(0, "deadlock", "Deadlock for 2.0 s: ");
    assert_told(0, "deadlock",
                "refresh 11 waits in look_up, called from serve, for a mutex held by "
                "loader 12");
    assert_told(0, "deadlock",
                "loader 12 waits in look_up, called from serve, for a mutex held by "
                "refresh 11");
    assert_not_told("waits_for");
    teardown();
    circle(REFRESH, LOADER, false, 2000); /* each waits for itself */
    assert_told(0, "deadlock", "for a mutex held by itself");
    teardown();
}
END_TEST

START_TEST(a_circle_that_may_end_is_no_deadlock)
{
    circle(LOADER, REFRESH, true, 2000);
    assert_not_told("deadlock");
    teardown();
    circle(LOADER, REFRESH, false, 300); /* it is too new */
    assert_not_told("deadlock");
    teardown();
    circle(LOADER, PID, false, 2000); /* main computes */
    assert_not_told("deadlock");
    teardown();
    setup(); /* they ran in between */
    waits_for(refresh, LOADER, 4000);
    waits_for(loader, REFRESH, 4000);
    profile_get_thread(b.p, refresh)->still_since_ns = INT64_C(3800) * NS_PER_MS;
    builder_run(&b, lead, computes, 4000, 4000);
    judge(4000);
    assert_not_told("deadlock");
    teardown();
}
END_TEST

/* T takes turns with the GIL, and waits for HOLDER to give it up at the end. */
static void takes_turns(thread_id t, pid_t holder, int turns)
{
    struct wait_side side = {.thing = THING_GIL,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = holder},
                             .timed = true};
    for (int i = 0; i < turns; i++) {
        builder_run(&b, t, computes, 2000 / turns, 2000 / turns);
        builder_held(&b, t, computes, &side, 2000 / turns);
    }
}

START_TEST(who_takes_turns_with_the_gil_is_in_no_deadlock)
{
    setup();
    takes_turns(refresh, LOADER, 200);
    takes_turns(loader, REFRESH, 200);
    judge(4000);
    assert_not_told("deadlock");
    assert_not_told("circular_wait");
    teardown();
    setup(); /* REFRESH had the GIL once, and now waits for what LOADER has, which computes */
    struct wait_side side = {.thing = THING_GIL,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = REFRESH},
                             .timed = true};
    builder_run(&b, refresh, computes, 1000, 1000);
    waits_for(refresh, LOADER, 3000);
    builder_held(&b, loader, computes, &side, 1000);
    builder_run(&b, loader, computes, 3000, 3000);
    judge(4000);
    assert_not_told("deadlock");
    teardown();
}
END_TEST

START_TEST(who_waits_for_the_gil_of_one_that_waits_for_it_is_in_a_deadlock)
{
    setup();
    struct wait_side side = {.thing = THING_GIL,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = PID, .tid = LOADER}};
    waits_for(loader, REFRESH, 4000);
    for (int i = 0; i < 10; i++) { /* it asks for it again */
        builder_held(&b, refresh, computes, &side, 390);
        builder_run(&b, refresh, computes, 10, 10);
    }
    judge(4000);
    assert_told(0, "deadlock", "for the GIL held by loader 12");
    teardown();
}
END_TEST

START_TEST(who_waits_behind_a_deadlock_is_listed)
{
    setup();
    struct wait_side side = held_by(REFRESH);
    side.thing = THING_THREAD;
    builder_held(&b, lead, joins, &side, 4000);
    waits_for(refresh, LOADER, 4000);
    waits_for(loader, REFRESH, 4000);
    judge(4000);
    assert_told(0, "deadlock", "Behind it: main 10.");
    assert_not_told("none_ran");
    assert_not_told("waits_for");
    teardown();
}
END_TEST

CHECK_MAIN("findings_held", 20, of_alike_holders_the_one_counts_that_has_it,
           the_holders_call_has_all_that_goes_on_in_it,
           what_a_process_does_that_the_holder_waits_for_is_told,
           of_a_lock_without_a_holder_the_others_are_told,
           who_holds_a_lock_is_named_with_what_it_does, a_holder_without_a_cpu_is_told,
           what_can_be_saved_at_most_is_told_where_that_is_more, a_wait_is_a_part_of_the_whole_time,
           a_holder_that_was_read_too_seldom_is_not_named,
           a_lock_that_threads_hold_in_turn_is_named,
           threads_that_get_a_lock_in_turn_need_no_holder_that_was_read,
           who_got_a_lock_holds_it_in_turn_though_it_was_not_read,
           who_is_joined_is_said_with_what_it_does, a_chain_is_followed_to_who_waits_for_nobody,
           what_a_holder_waits_for_at_other_times_is_no_link_of_the_chain,
           of_many_places_that_wait_for_a_lock_the_heaviest_has_its_own_share,
           the_holder_of_a_lock_is_known_beside_other_waits,
           what_a_holder_does_is_asked_of_all_who_wait,
           a_lock_of_no_thread_of_the_process_is_told_as_such,
           what_is_held_is_the_holders_and_no_other_thing, the_holder_is_the_thread_that_lived_then,
           who_is_joined_is_news_only_where_it_waits_itself,
           a_mutex_that_is_taken_again_at_once_is_told, a_holder_may_be_met_after_who_waits_for_it,
           a_circle_without_an_end_is_a_deadlock, a_circle_that_may_end_is_no_deadlock,
           who_takes_turns_with_the_gil_is_in_no_deadlock,
           who_waits_for_the_gil_of_one_that_waits_for_it_is_in_a_deadlock,
           who_waits_behind_a_deadlock_is_listed)
