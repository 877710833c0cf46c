/* Findings about connections that nobody answers at once. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { LANES = 5, SECONDS = 4, PORT = 8080 };
static thread_id lead;

static struct wait wait_of(const char *call, enum blocker_net net)
{
    return (struct wait){
        .kind = WAIT_CALL,
        .call = profile_string(b.p, call),
        .object = profile_string(b.p, "socket"),
        .side = {.thing = THING_SOCKET,
                 .timed = true,
                 .blocker = {.kind = BLOCKER_PEER,
                             .net = net,
                             .host = profile_string(b.p, net == NET_TCP ? "127.0.0.1" : "/run/x"),
                             .port = PORT}},
    };
}

/* T connects for MS, in N waits. */
static void connects(thread_id t, const char *stack, const struct wait *wait, int64_t ms,
                     uint32_t n)
{
    builder_run(&b, t, stack, ms, 0);
    struct profile_thread *thread = profile_get_thread(b.p, t);
    struct run *run = &thread->runs[thread->n_runs - 1];
    run->at.wait = profile_wait(b.p, wait);
    run->waits = n;
}

/* Main waits at a barrier, and each lane is in STACK for MS of 4 s, in N waits as MAKE has them. */
static void lanes_in(const char *stack, struct wait (*make)(void), int64_t ms, uint32_t n)
{
    b = builder_start(10, "gate");
    lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead,
                "rounds!gate|/src/gate.c:3 > pthread_barrier_wait!libc.so.6 > "
                "futex [blocked]",
                SECONDS * 1000, 0);
    const struct wait wait = make();
    for (int i = 0; i < LANES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "lane-%d", i);
        thread_id t = builder_thread(&b, 11 + i, name);
        connects(t, stack, &wait, ms, n);
        builder_run(&b, t,
                    "lane!gate|/src/gate.c:5 > pthread_barrier_wait!libc.so.6 > "
                    "futex [blocked]",
                    SECONDS * 1000 - ms, 0);
    }
}

static const char *call;
static enum blocker_net net;

static struct wait make_call(void)
{
    return wait_of(call, net);
}

static void lanes(const char *stack, const char *in_call, enum blocker_net of_net, int64_t ms,
                  uint32_t n)
{
    call = in_call;
    net = of_net;
    lanes_in(stack, make_call, ms, n);
}

/* A poll of one socket, which the kernel showed as not connected. */
static struct wait make_poll(void)
{
    struct wait wait = wait_of("poll", NET_TCP);
    wait.side.blocker.queue = QUEUE_NOT_CONNECTED;
    return wait;
}

/* The same of an epoll, which has a list. */
static struct wait make_list(void)
{
    struct wait wait = make_poll();
    wait.call = profile_string(b.p, "epoll_wait");
    wait.side.thing = THING_EVENTS;
    wait.side.list = profile_list_blocker(b.p, &wait.side.blocker, (blocker_list){0});
    wait.side.blocker = (struct blocker){0};
    return wait;
}

static struct wait make_longer_list(void)
{
    struct wait wait = make_list();
    const struct blocker listens = {.kind = BLOCKER_LISTENER, .net = NET_TCP, .port = PORT};
    wait.side.list = profile_list_blocker(b.p, &listens, wait.side.list);
    return wait;
}

static void counted(uint64_t repeats, uint64_t overflows)
{
    profile_get_process(b.p, b.process)->net =
        (struct profile_net){.known = true, .listen_overflows = overflows, .syn_repeats = repeats};
}

static void listens(uint32_t room)
{
    const struct listener l = {.host = profile_string(b.p, "127.0.0.1"),
                               .port = PORT,
                               .pid = 4711,
                               .name = profile_string(b.p, "booth"),
                               .n = 1,
                               .room = room};
    profile_add_listener(b.p, &l);
}

static const char ask[] = "ask!gate|/src/gate.c:9 > connect!libc.so.6 > connect socket [blocked]";

START_TEST(a_full_queue_is_told_with_whose_it_is)
{
    lanes(ask, "connect", NET_TCP, 2000, 2);
    counted(6, 1200);
    listens(3);
    judge(SECONDS * 1000);
    assert_told(0, "unanswered",
                "5 lane threads wait 50% of their time to be connected to 127.0.0.1:8080, in ask "
                "gate.c:9. On this machine 6 requests for a connection had no answer, and were "
                "sent again after a second or more. A listening socket's queue was full 1,200 "
                "times: the kernel drops what comes then. 4711 (booth) listens there, and its "
                "queue takes 3. Give listen() a larger backlog, or accept sooner.");
    teardown();
}
END_TEST

/* What main waits for says who connects, and not why that lasts. */
START_TEST(the_reason_comes_before_whom_main_waits_for)
{
    b = builder_start(10, "gate");
    lead = builder_thread(&b, 10, NULL);
    builder_run(&b, lead, "rounds!gate|/src/gate.c:3 > pthread_join!libc.so.6 > futex [blocked]",
                SECONDS * 1000, 0);
    const struct wait wait = wait_of("connect", NET_TCP);
    connects(builder_thread(&b, 11, "lane"), ask, &wait, SECONDS * 1000, 0); /* as it began */
    counted(6, 12);
    listens(5);
    judge(SECONDS * 1000);
    assert_told(0, "unanswered", "lane waits 100% of its time to be connected");
    teardown();
}
END_TEST

START_TEST(of_a_host_elsewhere_the_reasons_are_told)
{
    lanes(ask, "connect", NET_TCP, 2000, 1);
    counted(6, 0);
    listens(3);
    judge(SECONDS * 1000);
    assert_told(0, "unanswered",
                "A firewall drops them, that host is not there, or its queue of "
                "connections to accept is full.");
    teardown();
    lanes(ask, "connect", NET_TCP, 2000, 1); /* another program's queue is full */
    counted(6, 1200);
    judge(SECONDS * 1000);
    assert_told(0, "unanswered", "A firewall drops them");
    teardown();
}
END_TEST

START_TEST(python_connects_with_a_time_out_by_a_poll)
{
    static const char create[] = "send@/src/a.py:1:9 > create_connection@/usr/lib/python3.12/"
                                 "socket.py:800:840 > poll!libc.so.6 > poll socket [blocked]";
    static const char asks_name[] = "send@/src/a.py:1:9 > create_connection@/usr/lib/python3.12/"
                                    "socket.py:800:827 > getaddrinfo!libc.so.6 > poll!libc.so.6 > "
                                    "poll socket [blocked]";
    lanes(create, "poll", NET_TCP, 2000, 1);
    counted(6, 0);
    judge(SECONDS * 1000);
    assert_told(0, "unanswered", "in create_connection, called from send a.py:9");
    teardown();
    lanes(asks_name, "poll", NET_TCP, 2000, 1);
    counted(6, 0);
    judge(SECONDS * 1000);
    assert_not_told("unanswered");
    teardown();
}
END_TEST

/* As libpq's and curl's. */
START_TEST(native_code_that_polls_is_known_by_its_socket)
{
    static const char polls[] = "query!gate|/src/gate.c:9 > PQconnectdb!libpq.so.5 > "
                                "poll!libc.so.6 > poll socket [blocked]";
    struct wait (*const makers[])(void) = {make_poll, make_list};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        lanes_in(polls, makers[i], 2000, 1);
        counted(6, 1200);
        listens(3);
        judge(SECONDS * 1000);
        assert_told(0, "unanswered",
                    "to be connected to 127.0.0.1:8080, in PQconnectdb, called "
                    "from query gate.c:9.");
        assert_told(0, "unanswered", "4711 (booth) listens there, and its queue takes 3.");
        teardown();
    }
    lanes_in(polls, make_longer_list, 2000, 1); /* it waits for others, too */
    counted(6, 1200);
    judge(SECONDS * 1000);
    assert_not_told("unanswered");
    teardown();
}
END_TEST

START_TEST(others_that_connect_are_no_finding)
{
    static const struct {
        const char *call;
        enum blocker_net net;
        int64_t ms;
        uint32_t waits;
        uint64_t repeats;
    } cases[] = {
        {"connect", NET_TCP, 2000, 20, 6}, /* a far host answers, each time after 0.1 s */
        {"connect", NET_TCP, 2000, 0, 6},  /* in how many waits is not known */
        {"connect", NET_TCP, 2000, 1, 0},  /* nothing was sent again */
        {"connect", NET_TCP, 300, 1, 6},   /* it hardly does */
        {"connect", NET_UNIX, 2000, 1, 6}, /* the kernel wakes who waits for room in a queue */
        {"recvfrom", NET_TCP, 2000, 1, 6}, /* it is connected */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lanes(ask, cases[i].call, cases[i].net, cases[i].ms, cases[i].waits);
        counted(cases[i].repeats, 0);
        judge(SECONDS * 1000);
        assert_not_told("unanswered");
        teardown();
    }
}
END_TEST

CHECK_MAIN("findings_connect", 20, a_full_queue_is_told_with_whose_it_is,
           the_reason_comes_before_whom_main_waits_for, of_a_host_elsewhere_the_reasons_are_told,
           python_connects_with_a_time_out_by_a_poll, native_code_that_polls_is_known_by_its_socket,
           others_that_connect_are_no_finding)
