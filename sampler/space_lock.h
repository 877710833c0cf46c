/* Is a process's address space locked?  While one of its threads forks, maps or protects
 * gigabytes, whoever reads its memory waits, for 100 ms and more: with a thread held, that would
 * wait, too.  A read of one byte before anybody is asked to stop tells.  Source: mm/gup.c,
 * mm/mmap_lock.c (mmap_lock, a reader waits for the writers before it). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process;
struct sampler;

/* Around a read of P's memory. */
struct space_watch {
    int64_t begun_ns;
    uint64_t delay_ns; /* for which the sampler's thread had waited for a CPU by then */
};
struct space_watch space_watch_begin(struct sampler *s);
/* The read is done: if it took long, and not for want of a CPU, P is locked in this tick. */
void space_watch_end(struct sampler *s, struct process *p, const struct space_watch *watch);

/* Is P locked in this tick?  Reads one byte of it if that was not done yet. */
bool space_is_locked(struct sampler *s, struct process *p);
/* Has it been locked of late?  Then it comes after the others. */
bool space_was_locked(const struct sampler *s, const struct process *p);
