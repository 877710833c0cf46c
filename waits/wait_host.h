/* What waits/ asks of the worker: with what a process is read. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/wait.h"
#include "pyframes/py_runtime.h"
#include "target/mem.h"
#include "target/modules.h"

/* A process as waits are read in it.  All is borrowed, until the worker's next message. */
struct wait_target {
    pid_t pid;
    struct mem *live;
    struct modules *modules;
    const struct py_runtime *python; /* NULL: it has none (yet) */
};
/* Processes are meant by the sampler's numbers. */
struct wait_host {
    void *ctx;
    /* Process number PROCESS; pid 0: there are not so many. */
    struct wait_target (*target)(void *ctx, uint32_t process);
};
