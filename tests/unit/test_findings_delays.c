/* Waits that are known by how long they take. */
#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "app");
    lead = builder_thread(&b, 10, NULL);
}

/* Main waits N times in 4 s for the other end of a connection, by WAIT. */
static void judge_answers(const char *wait, uint32_t n)
{
    setup();
    builder_run(&b, lead, wait, 3900, 0);
    builder_run(&b, lead, "post@/src/a.py:1:2", 100, 100);
    profile_get_thread(b.p, lead)->runs[0].waits = n;
    judge(4000);
}

START_TEST(a_delay_that_is_known_is_told)
{
    static const char tcp[] = "post@/src/a.py:1:2 > recvfrom 10.0.0.2:5433 [blocked]";
    judge_answers(tcp, 95);
    ck_assert(is_said("Each takes 41 ms, as long as TCP delays an acknowledgement: if a message is "
                      "sent in parts, its rest waits for one. TCP_NODELAY or a single send()"));
    teardown();
    judge_answers(tcp, 40); /* 100 ms each: an answer takes its time */
    ck_assert(is_said("main waits 98%") && !is_said("Each takes"));
    teardown();
    judge_answers("post@/src/a.py:1:2 > read pipe [blocked]", 95);
    ck_assert(is_said("main waits 98%") && !is_said("Each takes"));
    teardown();
}
END_TEST

#define LOST                                                                                       \
    ": UDP does not report a lost question or answer, and the caller waits for its time-out. In"

/* Main waits in STACK for N ports of a name server, from PORT on, for WAITS_MS of 4 s. */
static void judge_datagrams(const char *stack, uint32_t port, int n, bool timed, int64_t waits_ms)
{
    struct blocker peer = {
        .kind = BLOCKER_PEER, .thing = THING_SOCKET, .net = NET_UDP, .port = port};
    setup();
    peer.host = profile_string(b.p, "10.0.0.2");
    struct wait_side side = {.thing = THING_EVENTS, .timed = timed};
    for (int i = 0; i < n; i++, peer.port++)
        side.list = profile_list_blocker(b.p, &peer, side.list);
    builder_polls(&b, lead, stack, &side, waits_ms);
    if (waits_ms < 4000) {
        builder_run(&b, lead, "look_up@/src/a.py:1:2", 4000 - waits_ms, 4000 - waits_ms);
        profile_get_thread(b.p, lead)->runs[0].waits = 3;
    }
    judge(4000);
}

/* A poll for one descriptor; of several nobody can say for which it is. */
START_TEST(a_datagram_that_may_be_lost_is_told)
{
    static const char look_up[] = "look_up@/src/a.py:1:2";
    for (int n = 1; n <= 2; n++) {
        judge_datagrams(look_up, 53, n, true, 3900);
        ck_assert(is_said("Each takes 1.3 s" LOST) == (n == 1));
        teardown();
    }
    judge_datagrams(look_up, 53, 1, true, 4000); /* all of the time in one wait */
    assert_told(0, "none_ran", "Each takes 4.0 s" LOST);
    teardown();
    judge_datagrams("look_up@/src/a.py:1:2 > getaddrinfo!libc.so.6 > __res_context_send!libc.so.6",
                    5353, 1, true, 3900);
    ck_assert(is_said("Each takes 1.3 s" LOST));
    teardown();
}
END_TEST

/* It may come once a second, without a question. */
START_TEST(who_waits_for_datagrams_need_not_have_asked)
{
    judge_datagrams("receive@/src/a.py:1:2", 9000, 1, true, 3900);
    ck_assert(is_said("main waits 98%") && !is_said("Each"));
    teardown();
}
END_TEST

/* Main waits N times for EACH_MS and once for ONE_MS, for an answer of NET's PORT. */
static void judge_one_of(enum blocker_net net, uint32_t port, int n, int64_t each_ms,
                         int64_t one_ms)
{
    struct wait_side side = {.thing = THING_SOCKET,
                             .timed = true,
                             .blocker = {.kind = BLOCKER_PEER, .net = net, .port = port}};
    setup();
    side.blocker.host = profile_string(b.p, "10.0.0.2");
    for (int i = 0; i <= n; i++) {
        builder_polls(&b, lead, "ask@/src/a.py:1:2", &side, i < n ? each_ms : one_ms);
        struct profile_thread *t = profile_get_thread(b.p, lead);
        t->runs[t->n_runs - 1].waits = 1;
        builder_run(&b, lead, "use@/src/a.py:1:5", 1, 1);
    }
    judge((int)(n * each_ms + one_ms) + n + 1);
}

/* The mean of 42 ms is no wait's, and of 260 ms neither. */
START_TEST(a_delay_is_that_of_each_wait)
{
    judge_one_of(NET_TCP, 5432, 90, 5, 3600);
    ck_assert(is_said("main waits 98%") && !is_said("an acknowledgement"));
    teardown();
    judge_one_of(NET_UDP, 53, 19, 8, 5000);
    ck_assert(is_said(" 1 of 20 takes 5.0 s" LOST));
    teardown();
}
END_TEST

/* Main waits for something of NET N times, for EACH_MS, and its time-out ends EXPIRED of these. */
static void judge_time_outs(enum blocker_net net, uint32_t n, uint32_t expired, int64_t each_ms)
{
    struct blocker peer = {.kind = BLOCKER_PEER, .thing = THING_SOCKET, .net = net, .port = 9000};
    setup();
    for (uint32_t i = 0; i < n; i++) {
        struct wait_side side = {
            .thing = THING_SOCKET, .timed = true, .expired = i < expired, .blocker = peer};
        builder_polls(&b, lead, "ask@/src/a.py:1:2", &side, each_ms);
        builder_run(&b, lead, "work@/src/a.py:1:5", 20, 20);
    }
    struct profile_thread *t = profile_get_thread(b.p, lead);
    for (size_t i = 0; i < t->n_runs; i++)
        t->runs[i].waits = t->runs[i].state == RUN_BLOCKED;
    judge((int)n * (int)(each_ms + 20));
}

START_TEST(a_wait_that_its_time_out_ends_is_told)
{
    judge_time_outs(NET_TCP, 10, 10, 300);
    ck_assert(is_said(" Each lasts until its time-out, 300 ms: nothing comes in that time."));
    teardown();
    judge_time_outs(NET_TCP, 10, 9, 300);
    ck_assert(is_said(" 9 of 10 waits last until their time-out, 300 ms each: nothing comes in"));
    teardown();
    judge_time_outs(NET_UDP, 10, 10, 300);
    ck_assert(is_said(": UDP does not report a lost question or answer."));
    teardown();
    judge_time_outs(NET_TCP, 10, 7, 300); /* answers come */
    ck_assert(is_said("main waits 94%") && !is_said("time-out"));
    teardown();
    judge_time_outs(NET_TCP, 2, 2, 800); /* that may be chance */
    ck_assert(is_said("main waits 98%") && !is_said("time-out"));
    teardown();
    judge_time_outs(NET_TCP, 2, 2, 1000);
    ck_assert(is_said(" Each lasts until its time-out, 1.0 s: nothing comes in that time."));
    teardown();
}
END_TEST

/* The first one began before the recording, and a mark of a long recording cuts each other one. */
START_TEST(a_time_out_is_as_long_as_its_whole_waits)
{
    struct wait_side side = {
        .thing = THING_SOCKET,
        .timed = true,
        .blocker = {.kind = BLOCKER_PEER, .thing = THING_SOCKET, .net = NET_TCP, .port = 9000}};
    setup();
    for (int i = 0; i < 10; i++) {
        side.expired = false;
        if (i)
            builder_polls(&b, lead, "ask@/src/a.py:1:2", &side, 100);
        side.expired = true;
        builder_polls(&b, lead, "ask@/src/a.py:1:2", &side, i ? 200 : 40);
        struct profile_thread *t = profile_get_thread(b.p, lead);
        t->runs[t->n_runs - 1].waits = 1;
        builder_run(&b, lead, "work@/src/a.py:1:5", 20, 20);
    }
    judge(2940);
    ck_assert(is_said(" Each lasts until its time-out, 300 ms: nothing comes in that time."));
    teardown();
}
END_TEST

CHECK_MAIN("findings_delays", 20, a_delay_that_is_known_is_told,
           a_time_out_is_as_long_as_its_whole_waits, a_delay_is_that_of_each_wait,
           a_datagram_that_may_be_lost_is_told, who_waits_for_datagrams_need_not_have_asked,
           a_wait_that_its_time_out_ends_is_told)
