/* The kernel's counts of connections that were not answered. */
#include "target/net_counters.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

static bool parse(const char *text, struct net_counters *ret)
{
    size_t len = strlen(text);
    char *copy =
        malloc(len ? len : 1); /* at the end of its memory: a sanitizer sees reads beyond */
    memcpy(copy, text, len);
    bool ok = net_counters_parse(copy, len, ret);
    free(copy);
    return ok;
}

START_TEST(the_kernels_text_is_parsed)
{
    static const char good[] = "MPTcpExt: TCPSynRetrans\nMPTcpExt: 9\n"
                               "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans\n"
                               "TcpExt: 1 22 333 18446744073709551615\nIpExt: X\nIpExt: 0\n";
    struct net_counters c;
    ck_assert(parse(good, &c));
    ck_assert_uint_eq(c.listen_overflows, 22);
    ck_assert_uint_eq(c.syn_repeats, UINT64_MAX);
    static const char *const bad[] = {
        "",
        "TcpExt:",
        "TcpExt: ListenOverflows TCPSynRetrans",
        "TcpExt: ListenOverflows TCPSynRetrans\nTcpExt: 1\n",
        "TcpExt: ListenOverflows TCPSynRetrans\nTcpExt: 1 -2\n",
        "TcpExt: ListenOverflows TCPSynRetrans\nTcpExt: 1 18446744073709551616\n",
        "TcpExt: ListenOverflows\nTcpExt: 1\n",
        "TcpExt: ListenOverflowsX TCPSynRetrans\nTcpExt: 1 2\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!parse(bad[i], &c), "%s", bad[i]);
}
END_TEST

/* A socket that takes one connection, and a second one that waits; the third is dropped. */
START_TEST(a_full_queue_is_counted)
{
    enum { CALLERS = 4 };
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    struct net_counters before;
    struct net_counters after;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    ck_assert(net_counters_read(getpid(), &before));
    for (int i = 0; i < CALLERS; i++) {
        int caller = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(caller, (struct sockaddr *)&addr, sizeof addr);
    }
    clock_sleep(3 * (int64_t)NS_PER_S / 2);
    ck_assert(net_counters_read(getpid(), &after));
    ck_assert_uint_gt(after.listen_overflows, before.listen_overflows);
    ck_assert_uint_gt(after.syn_repeats, before.syn_repeats);
    ck_assert_msg(!net_counters_read(-1, &after), "nobody's");
}
END_TEST

CHECK_MAIN("net_counters", 20, the_kernels_text_is_parsed, a_full_queue_is_counted)
