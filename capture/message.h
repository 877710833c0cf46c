/* The messages from the sampler's thread to the worker, through the ring. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/syscalls.h"
#include "capture/snapshot.h"
#include "target/proc.h"

enum message_kind {
    MESSAGE_THREAD_NEW = 1, /* a thread was registered */
    MESSAGE_THREAD_END,     /* it ended, --thread no longer means it, or the recording ends */
    MESSAGE_SAMPLE,
    MESSAGE_EXTENDED,    /* sampler_flush(): the thread's sample held until TIME_NS at least */
    MESSAGE_FLUSHED,     /* sampler_flush(): all threads have had their message */
    MESSAGE_EXEC,        /* the process runs another program: its old threads have ended */
    MESSAGE_PROCESS_END, /* all its threads are gone */
    MESSAGE_LOCK,        /* a lock for which threads of the process wait */
};

enum sample_flags {
    SAMPLE_NO_STACK = 1 << 0,      /* no stack was read: the tick is missed, for any reason */
    SAMPLE_APPROXIMATE = 1 << 1,   /* no unchanged run count proves it */
    SAMPLE_IO_WORKER = 1 << 2,     /* an io_uring worker: it has no user stack */
    SAMPLE_NOT_HELD = 1 << 3,      /* it ran and must not be held: Python frames only */
    SAMPLE_TRACED = 1 << 4,        /* another tracer has the process */
    SAMPLE_WAITS_UNASKED = 1 << 7, /* it waits for a CPU, and was not asked to stop: Python frames
                                      only */
    SAMPLE_NEVER_STOPPED = 1 << 6, /* it was asked to stop, and has had no CPU since */
    THREAD_STILL_ALIVE = 1 << 5,   /* MESSAGE_THREAD_END: only the recording ends */
    SAMPLE_LOCK_WATCHED = 1 << 8,  /* MESSAGE_LOCK will tell who has the lock that it waits for */
};

/* Every message begins so. */
struct message {
    enum message_kind kind;
    uint32_t process;       /* as sampler_add() numbered it */
    uint32_t thread;        /* its number, never used twice, as a tid may be */
    pid_t tid, ns_tid;      /* in wallspy's pid namespace, and in its own */
    int64_t time_ns;        /* CLOCK_MONOTONIC */
    int64_t until_ns;       /* the thread's previous sample is known to hold until then */
    uint32_t repeats;       /* ticks that found that it does */
    int64_t interval_ns;    /* between ticks, at that time */
    int64_t look_ns;        /* between two looks at this thread, on average; no less */
    uint32_t flags;         /* enum sample_flags */
    struct schedstat sched; /* the thread's counts at TIME_NS; zero if unknown */
    bool shot;              /* MESSAGE_SAMPLE: it is of the single shot, not of the looks before */
    bool born;              /* the thread began during the recording: all of them are of it */
    uint64_t held_ns;       /* for how long it has been held in all */
    uint64_t lost_ns;       /* of that, for how long it would have run */
    uint64_t faults;        /* its page faults in all, when it was let go last; 0: unknown */
    /* MESSAGE_SAMPLE: the thread's page faults while it ran for up to 0.1 ms around the stop; and
     * how many a millisecond while it ran for up to 1 ms around it */
    uint32_t near_faults, around_faults;
    /* MESSAGE_SAMPLE of a thread that waited for a CPU and was asked to stop: the probability of
     * that */
    float wait_share;
    uint64_t own_switches; /* of SCHED's runs, those after wallspy's stops */
};

/* MESSAGE_SAMPLE.  Followed by the recorded bytes (snapshot_unpack()), unless SAMPLE_NO_STACK. */
struct sample_message {
    struct message head;
    struct snapshot snapshot;
    uint32_t range_count;
    uint32_t ranges_offset; /* of struct snapshot_range[], from the start of the message */
    /* The link of the thread's wait object (wait_object.h), without a NUL; no bytes: unknown, or
     * none.  The offset counts from the start of the message. */
    uint32_t wait_object_offset, wait_object_bytes;
    uint32_t wait_fd; /* its descriptor, and what the thread waits to do with it */
    enum syscall_flow wait_flow;
};

/* When memory was read: between these. */
struct reading {
    int64_t begun_ns, done_ns;
};

/* MESSAGE_LOCK: the bytes around a word that threads wait on in futex(2), as they were from TIME_NS
 * on, and before READ_NS.  A thread waited on it then that had waited on it before.  LOOK_NS:
 * between two readings. */
enum { LOCK_BYTES_BEFORE = 12, LOCK_BYTES = 32 };
struct lock_message {
    struct message head;
    uint64_t word;
    int64_t read_ns;
    int64_t since_ns; /* of the reading before; 0: there was none */
    uint32_t before;  /* of BYTES, those before the word */
    uint32_t n_bytes; /* 0: they were not read since TIME_NS, or never */
    uint8_t bytes[LOCK_BYTES];
};
