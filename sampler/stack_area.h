/* Which mapping a thread's stack lies in.  A stack is read up to the end of that mapping and no
 * further: what is mapped above it may be a file on a slow server, a region whose faults the
 * target itself serves (userfaultfd), or a sparse file whose pages are made by reading them.
 * The mapping is found while nobody is held.
 * Source: mmap(2), userfaultfd(2), fs/proc/task_mmu.c PROCMAP_QUERY (Linux 6.11). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ration.h"
#include "target/maps.h"

struct process;
struct task;

enum { STACK_AREAS = 2 }; /* of a thread: its own, and an alternate signal stack */

struct stack_area {
    uint64_t start, end; /* [start, end); both 0: none is known */
    uint64_t sp;         /* that was last seen in it */
};

/* A process's mappings, for all its threads. */
struct stack_maps {
    struct maps maps; /* as read last */
    int fd;           /* /proc/PID/maps; −1: not open */
    bool may_ask;     /* the kernel tells of single mappings */
    bool stale;       /* threads were born since, or a stack lay in none of them */
    bool used;        /* since they were read */
    int64_t read_ns;
    struct ration reading;
};

void stack_maps_open(struct stack_maps *m);
/* The program is another now. */
void stack_maps_forget(struct stack_maps *m);
void stack_maps_close(struct stack_maps *m);

/* Those below: the target runs, unless they say otherwise. */

/* Reads P's mappings if that is due, for at most a hundredth of the time. */
void stack_area_refresh(struct process *p);
/* Before T is asked to stop: learns what its last stop did not know, and looks whether what is
 * known is still so. */
void stack_area_prepare(struct task *t);
/* Before T's stack at SP is read without a stop. */
void stack_area_learn(struct task *t, uint64_t sp);
/* The end of T's stack that SP lies in.  If it is not known: the end of SP's page, and
 * *RET_UNKNOWN.  T may be held. */
uint64_t stack_area_end(struct task *t, uint64_t sp, bool *ret_unknown);
