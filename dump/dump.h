/* A dump as data: a short recording thread by thread, for the text and for JSON. */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "summary/futex_kind.h"
#include "summary/view.h"
#include "summary/wait_graph.h"
#include "target/proc.h"
#include "waits/waits.h"
#include "worker/recording.h"
#include "worker/task_list.h"

struct dump_thread {
    thread_id thread;
    pid_t pid, tid;
    bool sampled; /* false: it could not be captured in time */
    bool shot;    /* by the single shot; false: by a look before it */
    bool born;    /* while the dump looked */
    enum thread_state state;
    int64_t syscall; /* −1: off the CPU outside a system call; −2: not in the kernel */
    uint64_t args[6];
    uint64_t runs; /* its run count when captured; 0: unknown, or it has run for that */
    struct schedstat first, last; /* its counts at its first and its last look; 0: unknown */
    int64_t time_out_ns;          /* so soon its time-out ends its call; 0: never, or unknown */
    char *object;                 /* the link of a file descriptor in args[0]; NULL: none */
    char wchan[PROC_WCHAN_BYTES]; /* "": not known */
    struct py_gil_state gil;
    uint64_t python_threads[SNAPSHOT_HOOK_WORDS]; /* its thread states; 0: no more */
    bool complete;
    struct spot at;
    struct wait_side side; /* of what it waits for; dump/waits.h */
    bool asks;             /* CALL is known, whose other side may lie in the kernel */
    struct blocked_call call;
    enum futex_kind futex;   /* the same by its functions alone */
    struct py_locals locals; /* of its Python frames, outermost first; none: not asked for */
    char *called;            /* "main", "commit", "omp worker": tamed, for people; the dump's */
    /* Of the look (dump/look.h). */
    struct schedstat settled; /* its counts after the shot; 0: unknown */
    bool counted;             /* RAN and the times are known */
    bool ran, ended;
    int64_t cpu_ns, queue_ns; /* on a CPU, and waiting for one */
};

struct dump_style {
    bool full;                   /* all frames, their whole names and paths */
    bool twice;                  /* two looks were asked for: say of each thread whether it ran */
    bool subprocesses, filtered; /* -s was given; --thread was */
    size_t width;                /* columns of a line */
};

struct dump {
    struct dump_style style; /* of the text */
    bool from_proc;          /* there are no stacks (dump/proc_only.h) */
    struct profile *profile;
    struct waits *live_waits; /* the recording's */
    struct view *view;
    struct dump_places *places;  /* NULL: it looked once (dump/places.h) */
    struct dump_thread *threads; /* by process, then the main thread, then by tid */
    size_t n, capacity;
    struct map by_thread;    /* → index of THREADS, until they are sorted */
    int64_t look_ns;         /* how long it looked at them */
    bool any_ran, all_ran;   /* meanwhile; ANY is true if it is not known of all */
    struct wait_graph waits; /* an item for each of THREADS, in their order; its tag is the index */
    bool *deadlocks;         /* by circle of WAITS: nobody in it will ever go on */
    struct task_list tasks;  /* asyncio's */
    struct map tasks_by_address; /* → index of TASKS */
    size_t *task_threads;        /* by task: which of THREADS runs its loop; SIZE_MAX: none */
};

struct process_set;
/* From here on D, which is zero, has the samples of R, whose profile and live waits it borrows. */
void dump_hear(struct dump *d, struct recording *r);
/* When R has ended, and no thread is held: adds the threads of which no sample came, and sorts. */
void dump_list_threads(struct dump *d);
/* Then: reads all that a dump says beside stacks, and makes D's views: STACKS of the stacks, PLACES
 * of the functions that time was spent in; NULL: it looked once. */
void dump_read_rest(struct dump *d, const struct process_set *processes,
                    const struct view_options *stacks, const struct view_options *places);
/* D may be zero.  Not its profile. */
void dump_release(struct dump *d);
