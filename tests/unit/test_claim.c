/* What the sampler believes of a thread, and what disproves it: no thread is needed for that. */
#include <sys/syscall.h>

#include "base/clock.h"
#include "sampler/claim.h"
#include "sampler/thread.h"
#include "sampler/tracer.h"
#include "tests/support/check_main.h"

enum { RUNS = 100, SP = 0x7000, PC = 0x4000, OTHER_PC = 0x4100, BACK_RUNS = RUNS + 2 };
static const int64_t asked_ns = 10 * (int64_t)NS_PER_S;
static const int64_t interval_ns = 10 * (int64_t)NS_PER_MS;

static struct wait_place place_of(int64_t number, uint64_t pc)
{
    return (struct wait_place){number, SP, pc};
}

static struct syscall_state view_of(int64_t number, uint64_t pc)
{
    return (struct syscall_state){.view = SYSCALL_BLOCKED, .number = number, .sp = SP, .pc = pc};
}

static struct stop stop_in(int64_t number, uint64_t pc, bool restarting)
{
    struct stop stop = {.syscall = number, .restarting = restarting, .registers_ok = true};
    stop.regs.r[X86_RSP] = SP;
    stop.regs.r[X86_PC] = pc;
    return stop;
}

static bool holds(const struct claim *c, uint64_t runs)
{
    return claim_holds(c, &(struct schedstat){.runs = runs});
}

static struct thread asked_while(enum thread_state state)
{
    struct thread t = {.sched = {.runs = RUNS}};
    claim_found(&t, state);
    claim_asked(&t, asked_ns);
    return t;
}

static struct thread asked_in(int64_t number)
{
    struct thread t = {.sched = {.runs = RUNS}};
    claim_found_blocked(&t, place_of(number, PC), true);
    claim_asked(&t, asked_ns);
    return t;
}

START_TEST(a_sample_holds_off_the_cpu_while_the_run_count_stays)
{
    struct thread t = {.sched = {.runs = RUNS}};
    ck_assert(!holds(&t.sampled, 0));
    claim_sampled(&t, THREAD_BLOCKED, place_of(SYS_read, PC), true);
    ck_assert(holds(&t.sampled, RUNS));
    ck_assert(!holds(&t.sampled, RUNS + 1));
    claim_sampled(&t, THREAD_RUNNING, place_of(SYS_read, PC), true);
    ck_assert(!holds(&t.sampled, RUNS));
    claim_sampled(&t, THREAD_STOPPED, place_of(SYS_read, PC), false);
    ck_assert(!holds(&t.sampled, RUNS));
}
END_TEST

START_TEST(a_wait_for_a_cpu_holds_while_run_count_and_run_time_stay)
{
    struct thread t = {.sched = {.runs = RUNS, .run_ns = 7}};
    struct schedstat now = t.sched;
    claim_sampled(&t, THREAD_RUNNABLE, (struct wait_place){0}, true);
    now.wait_ns = 5;
    ck_assert(claim_holds(&t.sampled, &now));
    now.run_ns++;
    ck_assert_msg(!claim_holds(&t.sampled, &now), "it runs");
    now = t.sched;
    now.runs++;
    ck_assert(!claim_holds(&t.sampled, &now));
    claim_sampled_once(&t, THREAD_RUNNABLE);
    claim_drop(&t);
    ck_assert_msg(!claim_holds(&t.sampled, &t.sched), "asked, not proven");
}
END_TEST

START_TEST(a_dropped_sample_keeps_its_place_and_count)
{
    struct thread t = {.sched = {.runs = RUNS}};
    claim_sampled(&t, THREAD_BLOCKED, place_of(SYS_read, PC), true);
    claim_drop(&t);
    ck_assert(!holds(&t.sampled, RUNS));
    claim_sampled_once(&t, THREAD_RUNNING);
    struct wait_place place = place_of(SYS_read, PC);
    ck_assert(claim_same_place(&t.sampled.place, &place));
    ck_assert_uint_eq(t.sampled.sched.runs, RUNS);
}
END_TEST

START_TEST(what_a_sample_held_for_is_added_up_until_it_is_told)
{
    struct thread t = {0};
    claim_extend(&t, 5, 1);
    claim_extend(&t, 9, 2);
    ck_assert_int_eq(t.until_ns, 9);
    ck_assert_uint_eq(t.repeats, 3);
    claim_emitted(&t, 12);
    ck_assert_int_eq(t.until_ns, 12);
    ck_assert_uint_eq(t.repeats, 0);
}
END_TEST

START_TEST(a_sample_of_a_thread_that_is_asked_covers_the_time_since)
{
    struct thread t = asked_in(-1);
    claim_still_asked(&t, asked_ns);
    claim_still_asked(&t, asked_ns);
    t.sched.runs = RUNS + 1;
    claim_asked_until(&t, asked_ns + 3);
    ck_assert_uint_eq(t.repeats, 3);
    ck_assert_int_eq(t.until_ns, asked_ns + 3);
    ck_assert_int_eq(t.asked_ns, asked_ns + 3);
    ck_assert_uint_eq(t.asked.sched.runs, RUNS + 1);
    ck_assert_uint_eq(t.asked_ticks, 0);
}
END_TEST

START_TEST(a_fault_after_the_look_is_where_the_thread_was_asked)
{
    struct thread t = asked_while(THREAD_RUNNING);
    claim_still_asked(&t, asked_ns);
    claim_asked_in_fault(&t, place_of(-1, PC), true, asked_ns + 1);
    ck_assert_int_eq(t.asked.state, THREAD_BLOCKED);
    ck_assert_int_eq(t.asked_ns, asked_ns + 1);
    ck_assert_uint_eq(t.asked_ticks, 0);
    ck_assert(holds(&t.asked, RUNS));
    /* The thread slept in the same fault again: the request is as old as it was. */
    claim_still_asked(&t, asked_ns);
    t.sched.runs = RUNS + 1;
    claim_asked_in_fault(&t, place_of(-1, PC), true, asked_ns + 2);
    ck_assert_int_eq(t.asked_ns, asked_ns + 1);
    ck_assert_uint_eq(t.asked_ticks, 1);
    ck_assert(holds(&t.asked, RUNS + 1));
}
END_TEST

START_TEST(a_thread_that_stops_elsewhere_went_on)
{
    struct thread t = asked_in(SYS_futex);
    struct stop stop = stop_in(SYS_futex, OTHER_PC, true);
    ck_assert(!claim_judge(&t, &stop));
    ck_assert_int_eq(t.asked.state, THREAD_RUNNING);
    struct syscall_state view = view_of(SYS_futex, OTHER_PC);
    t.sched.runs = BACK_RUNS;
    ck_assert(!claim_is_back(&t, &view));
}
END_TEST

START_TEST(a_blocked_thread_is_back_after_two_runs)
{
    struct thread t = asked_in(SYS_futex);
    struct stop stop = stop_in(SYS_futex, PC, true);
    struct syscall_state view = view_of(SYS_futex, PC);
    struct syscall_state elsewhere = view_of(SYS_futex, OTHER_PC);
    ck_assert(!claim_judge(&t, &stop));
    ck_assert_int_eq(t.asked.state, THREAD_BLOCKED);
    t.sched.runs = BACK_RUNS - 1;
    ck_assert(!claim_is_back(&t, &view));
    t.sched.runs = BACK_RUNS;
    ck_assert(!claim_is_back(&t, &elsewhere));
    ck_assert(claim_is_back(&t, &view));
    claim_back(&t);
    ck_assert(holds(&t.sampled, BACK_RUNS));
    claim_drop_all(&t);
    ck_assert(!holds(&t.sampled, BACK_RUNS));
    ck_assert(!claim_is_back(&t, &view));
}
END_TEST

START_TEST(a_restarted_time_out_keeps_its_name)
{
    struct thread t = asked_in(SYS_nanosleep);
    struct stop stop = stop_in(SYS_nanosleep, PC, true);
    struct stop again = stop_in(SYS_restart_syscall, PC, true);
    struct syscall_state view = view_of(SYS_restart_syscall, PC);
    struct syscall_state elsewhere = view_of(SYS_restart_syscall, OTHER_PC);
    (void)claim_judge(&t, &stop);
    ck_assert_int_eq(claim_place(&t, &view).syscall, SYS_nanosleep);
    ck_assert_int_eq(claim_place(&t, &elsewhere).syscall, SYS_restart_syscall);
    (void)claim_judge(&t, &again);
    ck_assert_int_eq(claim_stop_number(&t, &again), SYS_nanosleep);
    ck_assert_int_eq(claim_place(&t, &view).syscall, SYS_nanosleep);
}
END_TEST

START_TEST(a_call_that_waits_was_entered_after_the_look)
{
    struct thread t = asked_while(THREAD_RUNNING_OR_RUNNABLE);
    struct stop stop = stop_in(SYS_nanosleep, PC, true);
    struct snapshot snapshot = {.state = THREAD_BLOCKED, .syscall = SYS_nanosleep};
    ck_assert(claim_judge(&t, &stop));
    ck_assert_int_eq(t.asked.state, THREAD_BLOCKED);
    struct schedstat now = {.runs = RUNS};
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, true), THREAD_RUNNING);
    now.runs++;
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, true), THREAD_BLOCKED);
    /* Awake at each tick since it was asked, it has not just fallen asleep. */
    t = asked_while(THREAD_RUNNABLE);
    claim_still_asked(&t, asked_ns);
    ck_assert(!claim_judge(&t, &stop));
}
END_TEST

/* The thread wakes up at the end of its time, and waits for a CPU when it is asked to stop. */
START_TEST(a_time_out_that_is_over_is_no_sleep)
{
    static const int64_t calls[] = {SYS_poll,     SYS_ppoll,        SYS_select,
                                    SYS_pselect6, SYS_mq_timedsend, SYS_mq_timedreceive};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct stop stop = stop_in(calls[i], PC, true);
        struct thread t = asked_while(THREAD_RUNNABLE);
        ck_assert(!claim_judge(&t, &stop));
        ck_assert_int_eq(t.asked.state, THREAD_RUNNABLE);
        t = asked_while(THREAD_RUNNING_OR_RUNNABLE);
        ck_assert(claim_judge(&t, &stop));
        struct snapshot snapshot = {
            .state = t.asked.state, .syscall = calls[i], .taken_ns = asked_ns + NS_PER_MS};
        struct schedstat now = {.runs = RUNS + 1};
        ck_assert_int_eq(claim_settle(&t, &snapshot, &now, true), THREAD_BLOCKED);
        now.wait_ns = NS_PER_MS;
        ck_assert_int_eq(claim_settle(&t, &snapshot, &now, true), THREAD_RUNNABLE);
        /* The program's next call at this place is another wait. */
        struct syscall_state view = view_of(calls[i], PC);
        t.sched.runs = BACK_RUNS;
        ck_assert(claim_is_back(&t, &view));
        claim_stopped(&t, THREAD_RUNNABLE, snapshot.taken_ns, interval_ns);
        ck_assert(!claim_is_back(&t, &view));
    }
}
END_TEST

START_TEST(the_counts_tell_who_waited_for_a_cpu)
{
    struct thread t = asked_while(THREAD_RUNNING_OR_RUNNABLE);
    struct snapshot snapshot = {
        .state = THREAD_RUNNING_OR_RUNNABLE, .syscall = -2, .taken_ns = asked_ns + NS_PER_MS};
    struct schedstat now = {.runs = RUNS};
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_RUNNING);
    now.runs++;
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_RUNNING);
    now.wait_ns = NS_PER_MS / 2;
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_RUNNABLE);
    now.wait_ns = 0;
    snapshot.syscall = SYS_nanosleep; /* woken at its end */
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_RUNNABLE);
}
END_TEST

START_TEST(over_several_ticks_the_state_is_what_took_most_of_them)
{
    struct thread t = asked_while(THREAD_RUNNABLE);
    struct snapshot snapshot = {
        .state = THREAD_RUNNABLE, .syscall = -2, .taken_ns = asked_ns + 4 * interval_ns};
    claim_still_asked(&t, asked_ns);
    struct schedstat now = {.runs = RUNS + 1};
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_BLOCKED);
    now.run_ns = 2 * (uint64_t)interval_ns;
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_RUNNING);
    now.wait_ns = 2 * (uint64_t)interval_ns;
    ck_assert_int_eq(claim_settle(&t, &snapshot, &now, false), THREAD_RUNNABLE);
}
END_TEST

START_TEST(a_stop_at_once_is_a_sample_of_that_moment)
{
    struct thread t = asked_while(THREAD_RUNNING);
    claim_stopped(&t, THREAD_RUNNING, asked_ns + interval_ns / 2, interval_ns);
    ck_assert_int_eq(t.until_ns, asked_ns);
    ck_assert_int_eq(t.sampled.state, THREAD_RUNNING);
    claim_stopped(&t, THREAD_RUNNABLE, asked_ns + 2 * interval_ns, interval_ns);
    ck_assert_int_eq(t.until_ns, asked_ns + 2 * interval_ns);
    ck_assert_int_eq(t.asked.state, THREAD_RUNNABLE);
}
END_TEST

/* The ticks at one and two intervals found it in the call. */
START_TEST(a_call_that_ran_on_after_the_request_counts_by_its_ticks)
{
    struct thread t = asked_while(THREAD_RUNNING);
    claim_still_asked(&t, asked_ns + interval_ns);
    claim_still_asked(&t, asked_ns + 2 * interval_ns);
    t.left_call = true;
    claim_stopped(&t, THREAD_RUNNING, asked_ns + 2 * interval_ns + interval_ns / 4, interval_ns);
    ck_assert_int_eq(t.until_ns, asked_ns + 2 * interval_ns);
    ck_assert_uint_eq(t.repeats, 2);
    claim_asked(&t, asked_ns + 3 * interval_ns);
    claim_stopped(&t, THREAD_RUNNING, asked_ns + 3 * interval_ns + interval_ns / 2, interval_ns);
    ck_assert_int_eq(t.until_ns, asked_ns + 3 * interval_ns);
}
END_TEST

CHECK_MAIN("claim", 20, a_sample_holds_off_the_cpu_while_the_run_count_stays,
           a_wait_for_a_cpu_holds_while_run_count_and_run_time_stay,
           a_dropped_sample_keeps_its_place_and_count,
           what_a_sample_held_for_is_added_up_until_it_is_told,
           a_sample_of_a_thread_that_is_asked_covers_the_time_since,
           a_fault_after_the_look_is_where_the_thread_was_asked,
           a_thread_that_stops_elsewhere_went_on, a_blocked_thread_is_back_after_two_runs,
           a_restarted_time_out_keeps_its_name, a_call_that_waits_was_entered_after_the_look,
           a_time_out_that_is_over_is_no_sleep, the_counts_tell_who_waited_for_a_cpu,
           over_several_ticks_the_state_is_what_took_most_of_them,
           a_stop_at_once_is_a_sample_of_that_moment,
           a_call_that_ran_on_after_the_request_counts_by_its_ticks)
