#include "waits/unix_peer.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_BYTES = 4096, STATE_LISTEN = 10 };

struct diag_request {
    struct nlmsghdr head;
    struct unix_diag_req body;
};

static int ask(int fd, uint32_t inode)
{
    struct diag_request request = {
        .head = {.nlmsg_len = sizeof request,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = inode,
                 .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t n =
        sendto(fd, &request, sizeof request, 0, (const struct sockaddr *)&kernel, sizeof kernel);
    return n < 0 ? -errno : 0;
}

/* Names in a file system end where the kernel's bytes do, or at a NUL. */
static void copy_path(const uint8_t *bytes, size_t len, char ret[UNIX_PATH_BYTES])
{
    len = len < UNIX_PATH_BYTES - 1 ? len : UNIX_PATH_BYTES - 1;
    memcpy(ret, bytes, len);
    ret[len] = '\0';
    if (len > 1 && !ret[0])
        ret[0] = '@';
}

static void parse_attributes(const uint8_t *at, size_t len, struct unix_socket *ret)
{
    struct rtattr head;
    while (len >= sizeof head) {
        memcpy(&head, at, sizeof head);
        if (head.rta_len < sizeof head || head.rta_len > len)
            return;
        const uint8_t *value = at + RTA_LENGTH(0);
        size_t bytes = head.rta_len - RTA_LENGTH(0);
        uint32_t peer;
        if (head.rta_type == UNIX_DIAG_PEER && bytes == sizeof peer) {
            memcpy(&peer, value, sizeof peer);
            ret->peer = peer;
        } else if (head.rta_type == UNIX_DIAG_NAME) {
            copy_path(value, bytes, ret->path);
        }
        size_t step = RTA_ALIGN((size_t)head.rta_len);
        if (step > len)
            return;
        at += step;
        len -= step;
    }
}

int unix_socket_parse(const void *bytes, size_t len, struct unix_socket *ret)
{
    struct nlmsghdr head;
    struct unix_diag_msg body;
    if (len < sizeof head)
        return -EPROTO;
    memcpy(&head, bytes, sizeof head);
    if (head.nlmsg_len > len || head.nlmsg_len < sizeof head)
        return -EPROTO;
    const uint8_t *at = (const uint8_t *)bytes + NLMSG_HDRLEN;
    len = head.nlmsg_len - NLMSG_HDRLEN;
    if (head.nlmsg_type == NLMSG_ERROR) {
        int error;
        if (len < sizeof error)
            return -EPROTO;
        memcpy(&error, at, sizeof error);
        return error < 0 && error > -4096 ? error : -EPROTO;
    }
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || len < sizeof body)
        return -EPROTO;
    memcpy(&body, at, sizeof body);
    *ret = (struct unix_socket){.listens = body.udiag_state == STATE_LISTEN};
    parse_attributes(at + NLMSG_ALIGN(sizeof body), len - sizeof body, ret);
    return 0;
}

int unix_socket_read(uint64_t inode, struct unix_socket *ret)
{
    uint8_t answer[ANSWER_BYTES];
    if (!inode || inode > UINT32_MAX)
        return -ENOENT;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    int error = ask(fd, (uint32_t)inode);
    ssize_t n = error ? -1 : recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    if (!error)
        error = n < 0 ? -errno : unix_socket_parse(answer, (size_t)n, ret);
    close(fd);
    return error;
}
