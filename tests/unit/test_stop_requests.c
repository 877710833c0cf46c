/* What the sampler does with a thread's stop, and with its release: who may be held on, what the
 * message says, what is counted. */
#include "sampler/stop_requests.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sampler/state.h"
#include "sampler/thread.h"
#include "tests/support/check_main.h"

enum { ID = 7, MESSAGE_BYTES = 1 << 16, HELD_NS = 50000 };

static const struct hold hold = {.ns = HELD_NS, .most_ns = HELD_NS};
static struct sampler *sampler;
static struct process process;
static struct thread thread;
static struct mem *live;

static void set_up(void)
{
    static const struct sampler_config config = {.rate_hz = 100, .max_held = 1};
    ck_assert_int_eq(mem_live_open(&live, getpid(), NULL), 0);
    sampler = sampler_new(&config);
    sampler->can.schedstat = false;
    process = (struct process){.pid = getpid(), .live = live};
    thread = (struct thread){.id = ID, .tid = getpid(), .process = &process};
    for (int i = 0; i < THREAD_FILE_COUNT; i++)
        thread.fds[i] = -1;
}

static void tear_down(void)
{
    sampler_free(sampler);
    mem_free(live);
}

static struct stop stop_of(const struct thread *t)
{
    return (struct stop){
        .tid = getpid(), .tag = (uint64_t)(uintptr_t)t, .stopped_ns = clock_now_ns()};
}

/* Only a stop that nobody wants any more is over at once: a thread that ended for us, one that
 * --thread leaves out, one of a tid that another thread has taken over. */
START_TEST(a_stop_that_nobody_waits_for_is_let_go)
{
    set_up();
    struct stop stop = stop_of(NULL);
    ck_assert(stop_requests_stopped(sampler, &stop));
    stop = stop_of(&thread);
    thread.ended = true;
    ck_assert(stop_requests_stopped(sampler, &stop));
    thread.ended = false;
    thread.filtered = true;
    ck_assert(stop_requests_stopped(sampler, &stop));
    tear_down();
}
END_TEST

/* As capture_held() leaves it. */
static void hold_at(int64_t asked_ns, uint64_t run_ns)
{
    struct sample_message *m = ring_reserve(sampler->ring, MESSAGE_BYTES);
    memset(m, 0, sizeof *m);
    m->snapshot.taken_ns = asked_ns + NS_PER_US;
    m->snapshot.state = THREAD_RUNNING;
    recorder_begin(&sampler->recorder, live, m, sizeof *m, MESSAGE_BYTES);
    sampler->held = (struct held_capture){&thread, m, false};
    thread.asked_ns = asked_ns;
    thread.asked.sched = (struct schedstat){.run_ns = run_ns, .runs = 5};
    thread.sched = (struct schedstat){.run_ns = run_ns + NS_PER_S, .runs = 6};
    thread.pending = true;
}

static struct message next_message(void)
{
    size_t bytes;
    const struct message *m = ring_peek(sampler->ring, &bytes);
    ck_assert_ptr_nonnull(m);
    struct message ret = *m;
    ring_release(sampler->ring);
    return ret;
}

/* The sample is of the moment of the request, with the counts of then: what the thread ran since is
 * the next one's. */
START_TEST(a_sample_is_of_the_moment_when_the_stop_was_asked_for)
{
    set_up();
    hold_at(1000, 33);
    stop_requests_released(sampler, (uint64_t)(uintptr_t)&thread, &hold);
    struct message m = next_message();
    ck_assert_int_eq(m.kind, MESSAGE_SAMPLE);
    ck_assert_uint_eq(m.thread, ID);
    ck_assert_int_eq(m.time_ns, 1000);
    ck_assert_uint_eq(m.sched.run_ns, 33);
    ck_assert_uint_eq(m.sched.runs, 5);
    ck_assert(!thread.pending);
    ck_assert_uint_eq(counters_get(&sampler->counters, COUNT_STOPS), 1);
    tear_down();
}
END_TEST

START_TEST(each_hold_is_counted_and_told_with_the_next_sample)
{
    set_up();
    for (uint64_t i = 0; i < 3; i++) {
        hold_at(1000 + (int64_t)i, 33);
        stop_requests_released(sampler, (uint64_t)(uintptr_t)&thread, &hold);
        ck_assert_uint_eq(next_message().held_ns, i * HELD_NS);
        ck_assert_uint_eq(thread.held_ns, (i + 1) * HELD_NS);
    }
    ck_assert_uint_eq(counters_get(&sampler->counters, COUNT_HELD_NS), 3 * (uint64_t)HELD_NS);
    ck_assert_uint_eq(counters_get(&sampler->counters, COUNT_HELD_MAX_NS), HELD_NS);
    ck_assert_uint_ge(counters_hold_quantile_ns(&sampler->counters, 0.5), HELD_NS / 5 * 4);
    tear_down();
}
END_TEST

/* Also of one that was let go without a capture. */
START_TEST(who_is_gone_is_not_pending)
{
    set_up();
    thread.pending = true;
    stop_requests_gone(sampler, (uint64_t)(uintptr_t)&thread);
    ck_assert(!thread.pending);
    stop_requests_gone(sampler, 0);
    stop_requests_released(sampler, 0, &hold);
    tear_down();
}
END_TEST

CHECK_MAIN("stop_requests", 20, a_stop_that_nobody_waits_for_is_let_go,
           a_sample_is_of_the_moment_when_the_stop_was_asked_for,
           each_hold_is_counted_and_told_with_the_next_sample, who_is_gone_is_not_pending)
