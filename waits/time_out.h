/* The time-out of a system call that waits, from its arguments.
 * Source: poll(2), select(2), epoll_wait(2), futex(2), semop(2), sigwaitinfo(2), mq_receive(3),
 * io_getevents(2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/mem.h"

/* Has the call NUMBER with ARGS a time-out?  False, too, for a call that has no row here. */
bool time_out_is_given(int64_t number, const uint64_t args[6]);
/* When it ends the call, which began at BEGUN_NS; both are CLOCK_MONOTONIC's.  0: it has none, or
 * none that can be read.  MEM: recorded with the call, or live.  If the target runs, the call may
 * be over and the result any time. */
int64_t time_out_end_ns(int64_t number, const uint64_t args[6], struct mem *mem, int64_t begun_ns);
