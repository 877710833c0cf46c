/* What the sampler's thread tells the worker, through the ring. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "sampler/snapshot.h"
#include "target/proc.h"

enum message_kind {
    MESSAGE_TASK_NEW = 1, /* a thread was first seen */
    MESSAGE_TASK_END, /* it is gone or not wanted any more, or the recording ends; the counts are the
                             last read */
    MESSAGE_SAMPLE,
    MESSAGE_STILL, /* the thread's sample held until TIME_NS at least, as sampler_tell() asked */
    MESSAGE_TOLD,  /* sampler_tell() has been answered for all threads */
    MESSAGE_EXEC,  /* the process runs another program now: its old threads have ended */
    MESSAGE_PROCESS_END, /* all its threads are gone */
};

enum sample_flags {
    SAMPLE_NO_STACK = 1 << 0,    /* the tick could not be sampled: missed, whatever the reason */
    SAMPLE_APPROXIMATE = 1 << 1, /* taken without the proof of an unchanged run count */
    SAMPLE_IO_WORKER = 1 << 2,   /* an io_uring worker: has no user stack */
    SAMPLE_NOT_HELD = 1 << 3, /* running, and not held because of --no-stop: Python frames only */
    SAMPLE_TRACED = 1 << 4,   /* another tracer has the process */
    SAMPLE_NEVER_STOPPED = 1 << 6, /* it was asked to, and has not got a CPU since */
    TASK_STILL_ALIVE = 1 << 5,     /* MESSAGE_TASK_END: only the recording ends */
};

/* Every message begins so.  A thread is named by TASK, a number never used twice; its tid may be.
 */
struct message {
    enum message_kind kind;
    uint32_t process; /* as sampler_add() numbered it */
    uint32_t task;
    pid_t tid;
    int64_t time_ns;        /* CLOCK_MONOTONIC */
    int64_t until_ns;       /* the thread's previous sample is known to hold until then */
    int64_t interval_ns;    /* between ticks, just then */
    uint32_t repeats;       /* ticks that said so */
    uint32_t flags;         /* enum sample_flags */
    struct schedstat sched; /* the thread's counts at TIME_NS; zero if unknown */
    uint64_t held_ns;       /* it was held in all so far */
};

/* MESSAGE_SAMPLE.  Followed by the recorded bytes (snapshot_unpack()), unless SAMPLE_NO_STACK. */
struct sample_message {
    struct message head;
    struct snapshot snapshot;
    uint32_t range_count;
    uint32_t ranges_offset; /* of struct snapshot_range[], from the start of the message */
    /* What the file descriptor is that it waits for, as /proc links to it: offset as above, no NUL. */
    uint32_t object_offset, object_bytes; /* no bytes: unknown, or it waits for none */
};
