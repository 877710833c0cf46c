/* The TCP sockets of wallspy's own network namespace, by asking the kernel: any user may.  It takes
 * a quarter of the time of /proc/net/tcp, and listeners alone hardly any.
 * Source: sock_diag(7), include/uapi/linux/inet_diag.h, net/ipv4/inet_diag.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "waits/net_sockets.h"

/* Is PID in wallspy's network namespace? */
bool net_is_here(pid_t pid);
/* Which sockets: enum tcp_state, a bit each.  Those that wait to be forgotten (TIME_WAIT) are not
 * among the connected ones: no descriptor leads to them. */
enum { NET_LISTENERS = 1 << NET_LISTEN, NET_CONNECTED = 0x33e };

/* Calls EACH for every socket with one of STATES, until it returns false, or until the calling
 * thread's CPU time is END_CPU_NS.  Returns 1 (all were seen), 0 (not all), or a negative errno
 * (the kernel does not answer). */
int net_diag_each(bool v6, uint32_t states, int64_t end_cpu_ns,
                  bool (*each)(void *ctx, const struct net_socket *s), void *ctx);
/* One message of an answer, LEN bytes at BYTES.  Returns how many bytes it takes, with RET (1) or
 * without (0: the end) in *RET_IS_SOCKET, or a negative errno: the kernel's, or -EPROTO. */
int net_diag_parse(const void *bytes, size_t len, struct net_socket *ret, bool *ret_is_socket);
