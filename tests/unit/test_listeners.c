/* Who listens where connections lead: this process does, and its child. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "waits/listeners.h"

static const int64_t longest_look_ns = 5 * (int64_t)NS_PER_S;
static int listener, caller;
static uint16_t port;
static struct profile *profile;
static struct blocker there;

static void listen_at(uint32_t address)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    socklen_t len = sizeof addr;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    port = ntohs(addr.sin_port);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    caller = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(caller, (struct sockaddr *)&addr, sizeof addr), 0);
}

/* Who listens there, for a profile with a wait for that address. */
static const struct listener *find(struct map *sought)
{
    struct peer_looks looks = {.profile = profile};
    struct net_socket socket;
    struct stat st;
    ck_assert_int_eq(fstat(caller, &st), 0);
    ck_assert_int_eq(net_look_find(&looks.net, getpid(), st.st_ino, &socket), NET_UNKNOWN);
    ck_assert(peer_looks_run(&looks, longest_look_ns));
    listeners_find(&looks, sought);
    peer_looks_release(&looks);
    return profile_listener(profile, &there);
}

static void begin(uint32_t address)
{
    listen_at(address);
    profile = profile_new(0);
    there = (struct blocker){.kind = BLOCKER_PEER,
                             .net = NET_TCP,
                             .host = profile_string(profile, "127.0.0.1"),
                             .port = port};
    const struct wait wait = {.kind = WAIT_CALL,
                              .call = profile_string(profile, "recvfrom"),
                              .side = {.thing = THING_SOCKET, .blocker = there}};
    (void)profile_wait(profile, &wait);
}

START_TEST(the_process_that_listens_is_found)
{
    static const uint32_t addresses[] = {INADDR_LOOPBACK, INADDR_ANY};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        begin(addresses[i]);
        struct map sought = {0};
        const struct listener *found = find(&sought);
        ck_assert_ptr_nonnull(found);
        ck_assert_int_eq(found->pid, getpid());
        ck_assert_uint_eq(found->n, 1);
        ck_assert_uint_eq(found->room, 1);
        map_release(&sought);
        profile_free(profile);
    }
}
END_TEST

START_TEST(several_that_share_the_socket_are_counted)
{
    begin(INADDR_LOOPBACK);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            (void)pause();
    struct map sought = {0};
    const struct listener *found = find(&sought);
    ck_assert_ptr_nonnull(found);
    ck_assert_uint_eq(found->n, 2);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    map_release(&sought);
    profile_free(profile);
}
END_TEST

/* The place is not sought again: a look at all processes is dear. */
START_TEST(nobody_is_found_once_the_listener_is_closed)
{
    begin(INADDR_LOOPBACK);
    close(listener);
    struct map sought = {0};
    ck_assert_ptr_null(find(&sought));
    ck_assert_uint_eq(sought.n, 1);
    map_release(&sought);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("listeners", 30, the_process_that_listens_is_found,
           several_that_share_the_socket_are_counted, nobody_is_found_once_the_listener_is_closed)
