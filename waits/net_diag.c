#include "waits/net_diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { ANSWER_BYTES = 32 * 1024, MOST_ERRNO = 4095 };

struct diag_request {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static int ask(int fd, bool v6, uint32_t states)
{
    struct diag_request request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .body = {.sdiag_family = v6 ? AF_INET6 : AF_INET,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = states},
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n =
        sendto(fd, &request, sizeof request, 0, (const struct sockaddr *)&kernel, sizeof kernel);
    return n < 0 ? -errno : 0;
}

static struct net_address address_of(bool v6, const void *bytes, uint16_t port)
{
    struct net_address a = {.v6 = v6, .port = ntohs(port)};
    memcpy(a.bytes, bytes, v6 ? 16 : 4);
    return a;
}

/* A number of the kernel's, which stands behind the head of a message: an error, or 0. */
static int parse_error(const uint8_t *at, size_t len)
{
    int error;
    if (len < sizeof error)
        return -EPROTO;
    memcpy(&error, at, sizeof error);
    return error <= 0 && error >= -MOST_ERRNO ? error : -EPROTO;
}

int net_diag_parse(const void *bytes, size_t len, struct net_socket *ret, bool *ret_is_socket)
{
    struct nlmsghdr head;
    struct inet_diag_msg body;
    *ret_is_socket = false;
    if (len < sizeof head)
        return -EPROTO;
    memcpy(&head, bytes, sizeof head);
    if (head.nlmsg_len > len || head.nlmsg_len < sizeof head || head.nlmsg_len > ANSWER_BYTES)
        return -EPROTO;
    const uint8_t *at = (const uint8_t *)bytes + NLMSG_HDRLEN;
    size_t left = head.nlmsg_len - NLMSG_HDRLEN;
    int used = (int)NLMSG_ALIGN(head.nlmsg_len);
    used = (size_t)used < len ? used : (int)len;
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR) {
        int error = parse_error(at, left);
        return error < 0 ? error : used;
    }
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || left < sizeof body)
        return -EPROTO;
    memcpy(&body, at, sizeof body);
    if ((body.idiag_family != AF_INET && body.idiag_family != AF_INET6) || body.idiag_state > 15)
        return -EPROTO;
    bool v6 = body.idiag_family == AF_INET6;
    *ret = (struct net_socket){
        .local = address_of(v6, body.id.idiag_src, body.id.idiag_sport),
        .remote = address_of(v6, body.id.idiag_dst, body.id.idiag_dport),
        .inode = body.idiag_inode,
        .state = body.idiag_state,
        .tx_bytes = body.idiag_state == NET_LISTEN ? 0 : body.idiag_wqueue,
        .rx_bytes = body.idiag_rqueue,
        .room = body.idiag_state == NET_LISTEN ? body.idiag_wqueue : 0,
    };
    *ret_is_socket = true;
    return used;
}

/* Returns as net_diag_each(), and 2: more is to come. */
static int see_answer(const uint8_t *at, size_t len,
                      bool (*each)(void *ctx, const struct net_socket *s), void *ctx)
{
    while (len) {
        struct net_socket s;
        bool is_socket;
        int used = net_diag_parse(at, len, &s, &is_socket);
        if (used < 0)
            return used;
        if (!is_socket)
            return 1;
        if (!each(ctx, &s))
            return 0;
        at += used;
        len -= (size_t)used;
    }
    return 2;
}

int net_diag_each(bool v6, uint32_t states, int64_t end_cpu_ns,
                  bool (*each)(void *ctx, const struct net_socket *s), void *ctx)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    uint8_t *answer = xmalloc(ANSWER_BYTES);
    int r = ask(fd, v6, states);
    for (r = r < 0 ? r : 2; r == 2;) {
        ssize_t n = recv(fd, answer, ANSWER_BYTES, MSG_DONTWAIT);
        r = n < 0 ? -errno : see_answer(answer, (size_t)n, each, ctx);
        if (r == 2 && clock_cpu_ns() > end_cpu_ns)
            r = 0;
    }
    free(answer);
    close(fd);
    return r;
}

bool net_is_here(pid_t pid)
{
    struct stat ours;
    struct stat theirs;
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
    return stat("/proc/self/ns/net", &ours) == 0 && stat(path, &theirs) == 0 &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}
