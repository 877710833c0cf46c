/* The other end of a unix socket, by asking the kernel.  Works for any user, in the own network
 * namespace only.
 * Source: sock_diag(7), include/uapi/linux/unix_diag.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { UNIX_PATH_BYTES = 108 + 1 };

struct unix_socket {
    bool listens;
    uint64_t peer;              /* inode of the other end; 0: it has none */
    char path[UNIX_PATH_BYTES]; /* its own address, "@" before an abstract one; "": none */
};
/* Reads the socket with INODE.  Returns 0, -ENOENT (no such unix socket here) or another negative
 * errno. */
int unix_socket_read(uint64_t inode, struct unix_socket *ret);
/* The same of the kernel's answer, LEN bytes of netlink messages. */
int unix_socket_parse(const void *bytes, size_t len, struct unix_socket *ret);
