/* Tasks of asyncio's that wait, as they were when the recording ended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ids.h"

enum { MOST_TASK_WAITS = 64 };

/* Tasks of one process that are suspended in the same functions. */
struct profile_task_wait {
    process_id process;
    stack_id stack;   /* their functions, outermost first */
    size_t n;         /* tasks */
    size_t of;        /* all tasks of the process that were read; 0: unknown */
    bool more;        /* there may be more: not all were read */
    int64_t least_ns; /* for which each of them has waited, at least */
    bool of_clients;  /* each was begun with a connection's reader: it serves a client */
    bool apart;       /* not all wait for the same object, as far as that is known */
    uint32_t object;  /* which one of the process's queues and locks; 0: none of them */
    bool for_thread;  /* each waits for what a thread does: run_in_executor(), to_thread() */
    bool for_future;  /* each waits for a future of which nothing else is known */
};
