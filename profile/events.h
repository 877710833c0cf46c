/* Page faults and context switches on stacks.  The kernel's counts are a thread's exact totals, and
 * the samples say on which stacks they came:
 *
 *   page faults       those right around each stop, which are of the stack that it found; where
 *                     these are few, as on CPUs that other programs take, those up to 1 ms
 *                     around it; where these are few the time that the thread was found running
 *   voluntary         how often the thread was put on a CPU in each wait
 *   involuntary       the same of what it did else
 *
 * Wallspy's own stops are voluntary switches too.  They are in no run. */
#pragma once

#include <stdint.h>

struct profile_thread;

struct events {
    uint32_t near_faults;   /* seen right around stops */
    uint32_t around_faults; /* a millisecond, by what was seen up to 1 ms around stops */
    uint32_t put_on_cpu;    /* times, by the run count, without those for wallspy's stops */
    uint32_t faults;        /* of the thread's; events_scale() sets it */
    uint32_t switches;
};
/* Shares T's totals over its runs: their sums are exact. */
void events_scale(struct profile_thread *t);
uint64_t events_faults(const struct profile_thread *t);
/* Context switches, without those for wallspy's stops: those before which it slept, and all. */
uint64_t events_voluntary(const struct profile_thread *t);
uint64_t events_switches(const struct profile_thread *t);
