/* The processes of one recording, by their numbers, and which of them still run. */
#pragma once

#include "worker/recording_metadata.h"
#include "worker/target_process.h"

enum { MOST_ALIVE = 1000 }; /* processes at a time */

struct process_set {                                   /* zero-initialise */
    struct target_process *all[SAMPLER_MAX_PROCESSES]; /* by the sampler's number; owned */
    size_t n;
    struct py_scratch *scratch; /* of the captures of all */
    struct py_code_store *codes;
    struct stack_cache *stacks;
    struct target_process *alive[MOST_ALIVE];
    size_t n_alive;
    struct apart apart;
};

/* Opens process PID, which began at START_TICKS (0: at any time), and has it sampled.  Returns 0,
 * -E2BIG, or as target_process_open() does, with ERR. */
int process_set_add(struct process_set *set, pid_t pid, uint64_t start_ticks,
                    const struct target_shared *shared, struct err *err);
/* Reads the maps of those that live where they may have changed. */
void process_set_refresh(const struct process_set *set, int64_t now_ns);
/* Changes with each thing that must not wait: wishes that the sampler needs soon (how much to read
 * of a deeper stack, registers), and code objects and libraries that may be gone soon. */
uint64_t process_set_urgency(const struct process_set *set);
/* The sampler has done with S: frees what only its samples need.  Its names stay. */
void process_set_end(struct process_set *set, struct target_process *s);
/* Puts the counts of all unwinders and modules into P. */
void process_set_report(const struct process_set *set, struct profile *p);
/* The process that the profile calls ID; NULL: it has ended, or is none of these. */
struct target_process *process_set_find(const struct process_set *set, process_id id);
/* Fills RET with the sampled processes that have not ended, oldest first, MOST at most, and returns
 * how many there are. */
size_t process_set_alive(const struct process_set *set, process_id *ret, size_t most);
void process_set_release(struct process_set *set);
