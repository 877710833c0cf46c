/* The threads of a dump as data, for the text and for JSON. */
#pragma once

#include <stdio.h>

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
    struct wait_side side; /* of what it waits for; dump_waits_find() */
    bool asks;             /* CALL is known, whose other side may lie in the kernel */
    struct blocked_call call;
    enum futex_kind futex;   /* the same by its functions alone */
    struct py_locals locals; /* of its Python frames, outermost first; none: not asked for */
    char *called;            /* "main", "commit", "omp worker": tamed, for people; the dump's */
    /* Of the look (cli/dump_look.h). */
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
    bool from_proc;          /* there are no stacks (cli/dump_proc.h) */
    struct profile *profile;
    struct waits *live_waits; /* the recording's */
    struct view *view;
    struct dump_places *places;  /* NULL: it looked once (cli/dump_places.h) */
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

/* Adds THREAD, which is not in D.  The caller sets it. */
struct dump_thread *dump_thread_add(struct dump *d, thread_id thread);
/* Sets what the threads are called; D has its view. */
void dump_thread_call(struct dump *d);
/* Appends "28099 commit"; of a dump of several processes "28099 rank1 main" or "28099 job (28095)".
 * Not NUMBERED: "commit", "main": equal for threads of processes that do the same. */
void dump_thread_add_label(const struct dump *d, const struct dump_thread *t, bool numbered,
                           struct text *out);
process_id dump_thread_process(const struct dump *d, const struct dump_thread *t);
/* Which of D's threads is the first of the process after that of thread I; D's number of threads:
 * it is the last. */
size_t dump_next_process(const struct dump *d, size_t i);
/* The wait, or spin, that T's stack as shown ends in; NULL: none. */
const struct shown_frame *dump_thread_leaf(const struct dump *d, const struct dump_thread *t);
/* Is T's wait, as the profile has it, of KIND? */
bool dump_thread_is_of_kind(const struct dump *d, const struct dump_thread *t, enum wait_kind kind);
long dump_thread_rank(const struct dump *d,
                      const struct dump_thread *t); /* of T's process; −1: none */
/* Is T a main thread that waits for a child which is in the dump, too?  It says nothing of the
 * work. */
bool dump_thread_launches(const struct dump *d, const struct dump_thread *t);
void dump_thread_release(struct dump_thread *t);
/* To be called when no thread is held: the wchan of a held thread is ptrace_stop. */
void dump_thread_read_wchan(struct dump_thread *t);
/* Which of T's Python frames is shown at AT of STACK, N frames, the outermost being 0; SIZE_MAX: it
 * is none, or their variables are not known. */
size_t dump_thread_python_frame(const struct dump_thread *t, const struct shown_frame *stack,
                                size_t n, size_t at);
/* The arguments of that frame; NULL: it has none, or they are not known. */
const char *dump_thread_arguments(const struct dump_thread *t, const struct shown_frame *stack,
                                  size_t n, size_t at);
/* The thread of process PID that runs Python's thread state STATE; NULL: none does. */
const struct dump_thread *dump_thread_of_state(const struct dump *d, pid_t pid, uint64_t state);
/* As text: what is wrong first, then each stack once, with the list of its threads.  Returns 0 or
 * the negative errno of the first failed write. */
int dump_text(struct dump *d, FILE *out);
int dump_write_block(struct text *block, FILE *out); /* BLOCK is empty then; returns the same */
/* The schema dump/1: every thread by itself.  Returns as dump_text() does. */
int dump_json(struct dump *d, FILE *out);
