/* The threads of a profile in groups of those that are alike: called the same but for numbers, in
 * the same states, in the same places.  The rows of the closing table are groups, and findings are
 * about groups. */
#pragma once

#include "base/hash.h"
#include "summary/call_path.h"
#include "summary/short_name.h"
#include "summary/thread_summary.h"
#include "summary/wait_class.h"

enum { GROUP_MAX_PATHS = 3 };
struct thread_group {
    const struct thread_summary **threads; /* N, in the order of their age */
    size_t n, capacity;
    size_t n_threads;         /* with those that were folded into one: not the length of THREADS */
    char *label;              /* for a row: "main 6823", "8 x parse-*", "rank0, rank2 main" */
    struct label_shape shape; /* of LABEL */
    char *noun;               /* for a sentence: "main", "rank1", "8 parse threads" */
    bool plural;              /* "wait", not "waits" */
    bool leads;               /* has the main thread that the user started */
    bool odd;                 /* a process that differs from most of its like */
    bool launches;            /* of processes that hardly ran and whose children are recorded */
    bool mixed;               /* it is of all threads for which there was no group */
    bool idle;                /* its threads sat in a known pool's wait */
    int64_t wall_ns, cpu_ns, runqueue_ns, active_ns, seen_ns;
    int64_t class_ns[CLASS_KINDS]; /* by samples; waits are scaled down to the kernel's count */
    struct tally tally;            /* all its stacks; of an idle group none */
    struct call_path paths[GROUP_MAX_PATHS]; /* where its time goes, heaviest first */
    size_t n_paths;
};
struct groups {
    /* Odd processes, the leading group, the active ones by what they did, idle ones, and launchers
     * last. */
    struct thread_group *items;
    size_t n, capacity;
    const struct profile *p;
    struct view *v;
    struct thread_summaries summaries;
    struct call_tree *tree;
    struct map by_thread; /* group by the address of the profile's thread */
    struct map pids;      /* those of the recorded processes are keys */
};
/* Borrows P. */
void groups_init(struct groups *g, const struct profile *p, const struct view_options *options);
void groups_release(struct groups *g);
/* The thread GROUP->threads[I] as a group of its own, for what can be true of one thread only; it
 * has no paths, and is none of G's.  For groups_release_one(). */
struct thread_group groups_one_of(const struct groups *g, const struct thread_group *group,
                                  size_t i);
void groups_release_one(struct thread_group *one);
/* Does a thread of GROUP live for less than half of the recording, on average?  The threads of a
 * pool that is made anew for each batch do. */
bool group_comes_and_goes(const struct groups *g, const struct thread_group *group);
/* The last run of GROUP's oldest thread that is there; NULL: none is. */
const struct run *groups_last_run(const struct thread_group *group);
/* The group with the main thread that the user started; NULL: there is none. */
struct thread_group *groups_main(const struct groups *g);
/* The only group of processes that PARENT started; NULL: there are several, or none. */
struct thread_group *groups_of_children(const struct groups *g, process_id parent);
/* The group of the profile's thread; NULL: it has no run. */
struct thread_group *groups_of(const struct groups *g, const struct profile_thread *thread);
