/* Is a process's address space locked?
 *
 * While one of its threads forks, maps or protects gigabytes, a read of its memory waits for 100 ms
 * and more, and a thread in a hold would wait with it.  So one byte is read before any thread is
 * asked to stop.  Source: mm/gup.c, mm/mmap_lock.c (a reader waits for the writers before it). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process;
struct sampler;

/* A read of P's memory that is being timed. */
struct space_watch {
    int64_t begun_ns;
    uint64_t delay_ns; /* the sampler's thread had waited for a CPU so long in all by then */
};
struct space_watch space_watch_begin(struct sampler *s);
/* The read is done.  If it took long, and a wait for a CPU is not the reason, P is locked. */
void space_watch_end(struct sampler *s, struct process *p, const struct space_watch *watch);

/* Is P locked in this tick?  Reads one byte, once a tick. */
bool space_is_locked(struct sampler *s, struct process *p);
/* Was P locked in the last second? */
bool space_was_locked(const struct sampler *s, const struct process *p);
