/* The faults, switches and CPU time of a thread or a process between two looks at the kernel's
 * counters. */
#pragma once

#include <stdint.h>

struct profile_usage {
    int64_t over_ns; /* between the looks, of several threads the sum; 0: unknown */
    int64_t user_ns, system_ns;
    uint64_t minor_faults, major_faults; /* page faults: those without and with I/O */
    uint64_t voluntary, involuntary; /* context switches; each stop of ours is a voluntary one */
    /* Calls of read(2), of write(2) and the like, and the bytes that they were given; 0: the kernel
     * does not count them, too. */
    uint64_t reads, writes, read_bytes, written_bytes;
};
void profile_usage_add(struct profile_usage *sum, const struct profile_usage *u);
