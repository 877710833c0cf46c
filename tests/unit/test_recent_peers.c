/* What an epoll listed a moment ago: this process has the epoll. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "waits/peer_find.h"
#include "waits/recent_peers.h"

enum { CALLER, SERVER, ENDS };
static const int64_t longest_look_ns = 5 * (int64_t)NS_PER_S;
enum { CHECK_US = 5000, MOST_CHECKS = 400 }; /* the list is not read at each question */

static int epoll_of(int fd)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), 0);
    return epoll;
}

static uint64_t list_of(int epoll)
{
    static char info[FDINFO_BYTES];
    ck_assert_int_gt(descriptor_read_info(getpid(), (uint64_t)epoll, info, sizeof info), 0);
    return descriptor_epoll_key(info);
}

static struct blocked_call wait_at(int epoll)
{
    return (struct blocked_call){
        .number = SYS_epoll_wait, .link = 1, .fd = (uint64_t)epoll, .tid = getpid()};
}

static void put(struct recent_peers *r, int epoll, string_id host)
{
    const struct blocked_call call = wait_at(epoll);
    const struct recent_peer peer = {
        .side = {.thing = THING_EVENTS, .blocker.host = host},
        .poller = getpid(),
        .epoll = (uint64_t)epoll,
        .list = list_of(epoll),
    };
    recent_peers_put(r, &call, &peer);
}

static const struct recent_peer *get(struct recent_peers *r, int epoll)
{
    bool renew = false;
    const struct blocked_call call = wait_at(epoll);
    return recent_peers_get(r, &call, &renew);
}

/* Is nothing known of EPOLL before long? */
static bool is_forgotten(struct recent_peers *r, int epoll)
{
    for (int i = 0; i < MOST_CHECKS; i++, (void)usleep(CHECK_US))
        if (!get(r, epoll))
            return true;
    return false;
}

START_TEST(counts_while_the_list_is_the_same)
{
    struct recent_peers recent = {0};
    int pipes[2][2];
    ck_assert_int_eq(pipe(pipes[0]) | pipe(pipes[1]), 0);
    int epoll = epoll_of(pipes[0][0]);
    const struct blocked_call call = wait_at(epoll);
    ck_assert_ptr_null(get(&recent, epoll));
    put(&recent, epoll, (string_id){1});
    for (int i = 0; i < 4; i++, (void)usleep(CHECK_US))
        ck_assert_ptr_nonnull(get(&recent, epoll));
    ck_assert(!recent_peers_is_due(&recent, &call));
    struct epoll_event event = {.events = EPOLLIN};
    ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[1][0], &event), 0);
    ck_assert(is_forgotten(&recent, epoll));
    ck_assert(recent_peers_is_due(&recent, &call));
    recent_peers_release(&recent);
}
END_TEST

START_TEST(does_not_count_once_what_is_waited_for_is_another)
{
    struct recent_peers recent = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    int epoll = epoll_of(ends[0]);
    put(&recent, epoll, (string_id){1});
    struct epoll_event event = {.events = EPOLLONESHOT}; /* it waits for nothing now */
    ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event), 0);
    ck_assert_ptr_null(get(&recent, epoll));
    recent_peers_release(&recent);
}
END_TEST

START_TEST(two_epolls_of_a_process_are_two)
{
    struct recent_peers recent = {0};
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    int epolls[] = {epoll_of(ends[0]), epoll_of(ends[0])};
    for (uint32_t i = 0; i < 2; i++)
        put(&recent, epolls[i], (string_id){i + 1});
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_uint_eq(get(&recent, epolls[i])->side.blocker.host.ix, i + 1);
    recent_peers_release(&recent);
}
END_TEST

/* ---- the search for what is remembered ---- */

static void connect_ends(int ret[ENDS])
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    ret[CALLER] = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(ret[CALLER], (struct sockaddr *)&addr, sizeof addr), 0);
    ret[SERVER] = accept(listener, NULL, NULL);
    close(listener);
}

static struct peer_answer find(struct profile *p, int epoll, bool over)
{
    struct peer_looks looks = {.profile = p};
    struct peer_answer answer = {0};
    uint64_t args[6] = {(uint64_t)epoll, 0, 0, (uint64_t)-1};
    struct peer_wait wait = {.pid = getpid(),
                             .own_namespace = true,
                             .since_ns = 1,
                             .over = over,
                             .number = SYS_epoll_wait,
                             .args = args,
                             .fd = (uint64_t)epoll};
    enum { MOST_LOOKS = 4 };
    for (int i = 0; i < MOST_LOOKS; i++) {
        answer = (struct peer_answer){.later = false};
        peer_find(&looks, &wait, &answer);
        if (!answer.later)
            break;
        ck_assert(peer_looks_run(&looks, longest_look_ns));
    }
    peer_looks_release(&looks);
    return answer;
}

static enum blocker_queue queue_of(const struct profile *p, const struct peer_answer *answer)
{
    ck_assert_int_eq(answer->side.thing, THING_EVENTS);
    return profile_see_blocker(p, answer->side.list)->blocker.queue;
}

START_TEST(what_is_on_its_way_is_of_one_wait)
{
    struct profile *p = profile_new(0);
    int ends[ENDS];
    connect_ends(ends);
    ck_assert_int_eq(write(ends[SERVER], "x", 1), 1);
    int epoll = epoll_of(ends[CALLER]);
    struct peer_answer answer = find(p, epoll, false);
    ck_assert_int_eq(queue_of(p, &answer), QUEUE_NOT_ALL_READ);
    answer = find(p, epoll, true);
    ck_assert_int_eq(queue_of(p, &answer), QUEUE_UNTOLD);
    ck_assert_uint_eq(answer.list, list_of(epoll));
    profile_free(p);
}
END_TEST

/* A process that has one of several ends may pass it on, and nobody would see that. */
START_TEST(ends_that_cannot_be_checked_are_not_remembered)
{
    struct profile *p = profile_new(0);
    int ends[2][2];
    ck_assert_int_eq(pipe(ends[0]) | pipe(ends[1]), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0][0]);
        close(ends[1][0]);
        for (;;)
            (void)pause();
    }
    close(ends[0][1]);
    int epoll = epoll_of(ends[0][0]);
    struct peer_answer answer = find(p, epoll, true);
    ck_assert_int_eq(answer.side.blocker.pid, child);
    ck_assert_uint_eq(answer.list, list_of(epoll));
    ck_assert_uint_ne(answer.link, 0);
    struct epoll_event event = {.events = EPOLLIN};
    close(ends[1][1]);
    ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1][0], &event), 0);
    answer = find(p, epoll, true);
    ck_assert_int_eq(answer.side.thing, THING_EVENTS);
    ck_assert_uint_eq(answer.list, 0);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    profile_free(p);
}
END_TEST

CHECK_MAIN("recent_peers", 30, counts_while_the_list_is_the_same,
           does_not_count_once_what_is_waited_for_is_another, two_epolls_of_a_process_are_two,
           what_is_on_its_way_is_of_one_wait, ends_that_cannot_be_checked_are_not_remembered)
