/* What waits/ gets from the worker: samples, with what a process is read, and the open sample of a
 * thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/message.h"
#include "profile/wait.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_walk.h"
#include "target/modules.h"
#include "target/mount.h"

/* A process as waits are read in it.  All is borrowed, until the worker's next message. */
struct wait_target {
    pid_t pid;
    struct mem *live;
    struct modules *modules;
    struct mounts *mounts;
    const struct py_runtime *python; /* NULL: it has none (yet) */
};
/* A sample, built as far as its wait needs it. */
struct wait_sample {
    struct wait_target target;
    const struct sample_message *m;
    struct mem *recorded;          /* M's memory; NULL: it has no stack */
    const struct py_stack *python; /* its frames, with RECORDED */
    struct py_gil_state gil;
    bool frozen; /* its cgroup is */
};
struct open_sample {
    int64_t since_ns; /* when it was taken (CLOCK_MONOTONIC) */
    uint64_t runs;    /* the thread's run count then, and since */
    wait_id wait;
};
/* Processes and threads are meant by the sampler's numbers. */
struct wait_host {
    void *ctx;
    /* Process number PROCESS; pid 0: there are not so many. */
    struct wait_target (*target)(void *ctx, uint32_t process);
    /* RET gets the open sample of thread THREAD_NO.  False: it has none. */
    bool (*sample)(void *ctx, uint32_t thread_no, struct open_sample *ret);
    /* All of that sample's wait is WAIT, which has a side now. */
    void (*complete)(void *ctx, uint32_t thread_no, wait_id wait);
    /* Its wait has SIDE from AT_NS on (CLOCK_MONOTONIC), another holder than before or an unknown
     * one. */
    void (*change)(void *ctx, uint32_t thread_no, const struct wait_side *side, int64_t at_ns);
};
