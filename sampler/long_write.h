/* Writes that wait, go on, and wait again.
 *
 * A write of more than a pipe or socket has room for runs for microseconds whenever the other side
 * has made room.  A stop in one of these would cut the write short, which the program sees.  But
 * the kernel counts a thread's writes as they end: as long as the count of its last sample stands,
 * the thread is in the same write, at the same place, and need not be asked.  Private to sampler/.
 * Source: fs/read_write.c, inc_syscw(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampler;
struct syscall_state;
struct thread;

struct long_write {
    bool known;      /* the last sample found the thread in such a write */
    uint64_t writes; /* that it had done by then */
    uint64_t run_ns; /* its CPU time at the last look, and when that was */
    int64_t seen_ns;
};

/* T was sampled without a stop, off the CPU as of VIEW, with the counts of t->sched. */
void long_write_sampled(struct sampler *s, struct thread *t, const struct syscall_state *view);
/* T is not off the CPU at NOW_NS, with the counts of t->sched: is it in the write of its last
 * sample all the same, for most of the time since as a waiter? */
bool long_write_goes_on(struct thread *t, int64_t now_ns);
