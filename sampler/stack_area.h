/* The mapping in which a thread's stack lies.
 *
 * A stack is read up to the end of that mapping and no further.  Above it there may be a file on a
 * slow server, a region whose faults the target itself serves (userfaultfd), or a sparse file whose
 * pages a read would make.  The mapping is found while no thread is held.
 * Source: mmap(2), userfaultfd(2), fs/proc/task_mmu.c PROCMAP_QUERY (Linux 6.11). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/duty_cycle.h"
#include "target/maps.h"

struct process;
struct thread;

enum { STACK_AREAS = 2 }; /* of a thread: its own, and an alternate signal stack */

struct stack_area {
    uint64_t start, end; /* [start, end); both 0: none is known */
    uint64_t sp;         /* the last in it */
};

struct stack_mapping {
    uint64_t start, end;
};

/* A process's mappings, for all its threads. */
struct stack_maps {
    struct stack_mapping *items; /* as read last, by address */
    size_t n;
    uint64_t main_stack; /* where the one of the main thread's stack began; 0: unknown */
    int fd;              /* /proc/PID/maps; −1: not open */
    bool may_ask;        /* the kernel can be asked for a single mapping */
    bool stale;          /* a thread was born since, or a stack lay in none of them */
    bool used;           /* since they were read */
    int64_t read_ns;
    struct duty_cycle reading;
};

void stack_maps_open(struct stack_maps *m);
/* The process runs another program. */
void stack_maps_forget(struct stack_maps *m);
void stack_maps_close(struct stack_maps *m);

/* The target runs in the calls below, unless they say otherwise. */

/* Reads P's mappings if that is due, for at most a hundredth of the time. */
void stack_area_refresh(struct process *p);
/* Before T is asked to stop: learns the mapping that its last stop did not know, and checks those
 * that are known. */
void stack_area_prepare(struct thread *t);
/* Before T's stack at SP is read without a stop: learns its mapping. */
void stack_area_learn(struct thread *t, uint64_t sp);
/* The end of the mapping of T's stack at SP.  *RET_UNKNOWN: it is not known, and the end of SP's
 * page is returned.  T may be held. */
uint64_t stack_area_end(struct thread *t, uint64_t sp, bool *ret_unknown);
