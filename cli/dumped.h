/* What a dump found of each thread, for its two forms of output. */
#pragma once

#include <stdio.h>

#include "summary/view.h"
#include "worker/recording.h"

struct dumped {
    thread_id thread;
    pid_t pid, tid;
    bool sampled; /* else it could not be captured in time */
    enum thread_state state;
    int64_t syscall; /* −1: off the CPU outside a system call; −2: not in the kernel */
    uint64_t args[6];
    char object[256]; /* what a file descriptor in args[0] is; "" */
    char wchan[64];   /* "": not known */
    struct py_gil_state gil;
    uint64_t python_threads[SNAPSHOT_ANNEX_WORDS]; /* its thread states; 0: no more */
    bool complete;
    stack_id stack;
};

struct dump {
    struct profile *profile;
    struct view *view;
    struct dumped *threads; /* by process, then the main thread, then by tid */
    size_t n, capacity;
};

const char *dumped_state(const struct dumped *d); /* "running", "runnable", "blocked", "stopped" */
/* Who held the GIL that T waits for; NULL: nobody just then, or unknown. */
const struct dumped *dumped_gil_holder(const struct dump *d, const struct dumped *t);
/* As text: threads with the same stack are shown once, with their list.  Returns 0 or the negative
 * errno of the first failed write. */
int dump_text(struct dump *d, FILE *out);
/* The schema dump/1: every thread by itself.  Returns as dump_text() does. */
int dump_json(struct dump *d, FILE *out);
