/* The sampler's counters, of which worker/recording_metadata.c makes metrics.  Only the sampler's
 * thread writes them; others read at any time. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum sampler_counter {
    COUNT_TICKS,
    COUNT_LATE_TICKS,     /* left out because the one before was not done in time */
    COUNT_TICK_DELAY_NS,  /* from when each tick was due to its begin, in all */
    COUNT_REPEATS,        /* threads that had not run since a sample that found them off the CPU */
    COUNT_DORMANT_PROVEN, /* ticks in which one clock proved that no dormant thread had run */
    COUNT_NO_STOP_CAPTURES,
    COUNT_NO_STOP_REJECTS,  /* the thread ran meanwhile: tried again */
    COUNT_LONG_WRITES,      /* a thread that ran was in the write of its last sample, not asked */
    COUNT_NO_STOP_GIVEN_UP, /* so it did three times */
    COUNT_STOP_REQUESTS,
    COUNT_STOPS,            /* threads that stopped and were captured */
    COUNT_WAITS_ASKED,      /* waits for a CPU that a stop has shown */
    COUNT_WAITS_UNASKED,    /* those of threads that were not asked to stop for that */
    COUNT_PENDING_TICKS,    /* threads asked at an earlier tick that had not stopped yet */
    COUNT_REPAIRED_CALLS,   /* interrupted by a stop, restarted by setting −ERESTARTNOHAND */
    COUNT_PERTURBED_CALLS,  /* interrupted by a stop, and not safe to repeat */
    COUNT_CUT_CALLS,        /* ended by a stop with less done than the program asked for */
    COUNT_SIGNALS_IN_HOLDS, /* holds in which a signal came that another thread may take */
    COUNT_SIGNALS_AVOIDED,  /* samples of threads that were not stopped for that */
    COUNT_RENEWED_CALLS, /* begun anew by a stop, where a filter may not allow restart_syscall(2) */
    COUNT_UNDONE_CALLS,  /* of threads under a filter: begun anew by a stop */
    COUNT_SUPERVISED_CALLS, /* of these: a supervisor was seen to be asked */
    COUNT_SUPERVISED, /* samples of threads that a supervisor answers for, which are not stopped */
    COUNT_BACKED_OFF, /* not stopped again in the same interrupted call: gaps */
    COUNT_EXECVE_WAITS,          /* not asked to stop, because an execve in the process hangs */
    COUNT_MEMORY_LOCKED,         /* not asked to stop, because the address space was locked */
    COUNT_LOCKS_UNWATCHED,       /* waits for a lock beyond those whose words are read */
    COUNT_LOCKS_PUT_OFF,         /* ticks at which those of a process were not: it costs too much */
    COUNT_LEFT_ALONE,            /* processes whose memory did not arrive in a hold */
    COUNT_LEFT_ALONE_NS,         /* for which they were not looked at */
    COUNT_RING_FULL,             /* captures lost because the worker was behind */
    COUNT_REFUSED,               /* threads that wallspy may no longer read or stop */
    COUNT_STUCK,                 /* threads that stopped and could not be let go: sampling ended */
    COUNT_SLOW_SYSCALL_READS,    /* /proc/PID/task/TID/syscall took over its limit */
    COUNT_SYSCALL_READS_SKIPPED, /* not read for a while after that: a sample less */
    COUNT_REGISTERS_WANTED,      /* stops of blocked threads whose stack needs registers */
    COUNT_RATE_LOWERED,
    COUNT_RATE_LOWERED_FOR_QUOTA, /* of these: wallspy took too much of its own CPU quota */
    COUNT_RATE_LOWERED_FOR_CPU,   /* of these: threads waited for the CPU time that it took */
    COUNT_CPU_NS,                 /* the sampler's */
    COUNT_PRIORITY_GIVEN_UP, /* the sampler's better nice, because it took much CPU time at it */
    COUNT_FDS_EVICTED,
    COUNT_READS, /* system calls that read the target's memory */
    COUNT_HELD_NS,
    COUNT_HELD_MAX_NS,
    /* From the request to the stop of a repaired call: its time-out may be that much longer. */
    COUNT_REPAIR_MAX_NS,
    COUNT_NEVER_SAMPLED,  /* threads that ended, or were there at the end, without a sample */
    COUNT_STACKS_UNKNOWN, /* stacks whose end was not known: one page was read */
    COUNT_UNREADABLE,     /* files of /proc that could not be read though there is a thread */
    SAMPLER_COUNTER_COUNT,
};

/* Hold lengths: bucket i counts those below 2^(i/4) µs and not below the one before. */
enum { HOLD_BUCKETS = 80 };

struct sampler_counters {
    _Atomic uint64_t n[SAMPLER_COUNTER_COUNT];
    _Atomic uint64_t holds[HOLD_BUCKETS];
};

uint64_t counters_get(const struct sampler_counters *c, enum sampler_counter which);
void counters_add(struct sampler_counters *c, enum sampler_counter which, uint64_t delta);
void counters_raise(struct sampler_counters *c, enum sampler_counter which, uint64_t least);
void counters_add_hold(struct sampler_counters *c, uint64_t held_ns);
/* Holds of less than 2^OCTAVE µs and of at least half of that.  OCTAVE 0: all below 1 µs. */
enum { HOLD_OCTAVES = HOLD_BUCKETS / 4 };
uint64_t counters_holds_in(const struct sampler_counters *c, int octave);
/* The length that a share Q of all holds does not exceed, to a fifth; 0: there were none. */
uint64_t counters_hold_quantile_ns(const struct sampler_counters *c, double q);
