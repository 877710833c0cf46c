/* All threads of a profile at a glance, in the order in which they should be shown: names, which
 * ones are idle, how active the others were.  Shared by the speedscope file and the closing table.
 *
 * The order.  First the main thread: it is the one the user waits for, whatever it does.  Then the
 * active ones by active_ns: time on a CPU, time waiting for one, and time blocked in an unusual
 * place (ioctl, a file, a page fault, the GIL; not a lock, a poll or a sleep, which is what a
 * thread with nothing to do looks like).  So a worker that sits in the driver's ioctl comes before
 * one that merely ticks, although it used no CPU.  Idle threads come last. */
#pragma once

#include "profile/profile.h"
#include "summary/short_name.h"
#include "summary/view.h"

/* Nothing in the texts is an order to a terminal. */
struct thread_summary {
    const struct profile_thread *thread;
    char *name; /* "mge-worker"; "main"; the root function's if the thread has just its process's */
    char *label; /* "mge-worker 6825", "70 ended: job"; with several processes after the
                         process's name: "rank1 main 17001", "cc1 17002 main" */
    struct label_shape shape; /* of LABEL */
    char *group;      /* equal for threads that are called the same but for numbers: "worker-*"; of
                         several processes' main threads "cc1", of ranks' "main" */
    size_t n_threads; /* threads that it stands for: 1, or the folded ones */
    int64_t wall_ns, active_ns;
    int64_t cpu_ns, runqueue_ns; /* within [0, wall_ns] together */
    bool leads;                  /* it is the main thread of the first process there is */
    bool idle;                   /* never ran or sat in a pool's wait */
    /* Of an idle one: the pool's function that waits, its module if that has no name; NULL: no
     * known pool. */
    const char *pool_wait;
    bool of_pool; /* nearly all that it does is called by a known pool's loop */
};
struct thread_summaries {
    struct thread_summary *threads;
    size_t n;
    const bool *only;     /* as the view's; NULL: all processes */
    uint32_t n_processes; /* shown ones */
};
/* How much of GROUP, as above, is a word: "worker" of "worker-*"; 0: nothing. */
size_t thread_stem_len(const char *group);
/* A name for a thread of STACK, N frames, that has none of its own: after its pool or its first
 * function; NULL: it has none.  The caller frees it. */
char *thread_root_name(const struct shown_frame *stack, size_t n);
/* Borrows P; V only during the call, and the texts of its frames for the summaries's life. */
void thread_summaries_init(struct thread_summaries *s, const struct profile *p, struct view *v);
void thread_summary_release(struct thread_summary *t); /* what is in one of them */
void thread_summaries_release(struct thread_summaries *s);
