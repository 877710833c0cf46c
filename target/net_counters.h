/* What the kernel counts of a network namespace: connections that were not answered.
 * Source: /proc/PID/net/netstat, whose lines come in pairs, names and numbers; net/ipv4/proc.c
 * snmp4_net_list[]. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Since the namespace began. */
struct net_counters {
    /* Connections that came to a listening socket whose queue was full, and were dropped: whoever
     * connects hears nothing, and tries again after a second or more. */
    uint64_t listen_overflows;
    uint64_t syn_repeats; /* requests for a connection (SYN) that were sent once more */
};

/* LEN bytes of TEXT, as the file has them.  False: the counters are not there. */
bool net_counters_parse(const char *text, size_t len, struct net_counters *ret);
/* Of PID's network namespace.  False: they cannot be read.  The target may run. */
bool net_counters_read(pid_t pid, struct net_counters *ret);
