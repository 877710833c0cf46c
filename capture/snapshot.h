/* The copy that one capture of one thread made: registers, stack bytes, and the other memory that
 * was read.
 *
 * Self-contained: unwinding, the Python walk and the merge work on this alone, so that they may run
 * later, elsewhere, or in a test. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/registers.h"
#include "target/mem.h"

enum thread_state {
    THREAD_RUNNING,  /* on a CPU */
    THREAD_RUNNABLE, /* waiting for one */
    THREAD_BLOCKED,
    THREAD_STOPPED,             /* by a job-control signal, or a debugger */
    THREAD_RUNNING_OR_RUNNABLE, /* where the kernel does not tell them apart */
};

enum { SNAPSHOT_HOOK_WORDS = 8 };

struct snapshot {
    pid_t tid;
    int64_t taken_ns; /* CLOCK_MONOTONIC */
    int64_t read_ns;  /* when the last of its memory had been read */
    uint32_t held_ns; /* how long the thread was held; 0: not held */
    enum thread_state state;
    int64_t
        syscall; /* its number; −1: blocked outside of any (page fault); −2: not in the kernel */
    uint64_t syscall_args[6];
    struct regs regs;
    uint64_t fs_base;     /* 0: unknown (no stop) */
    uint64_t stack_start; /* the part of the stack that was copied, from sp upwards */
    uint64_t stack_bytes;
    const uint8_t *stack; /* its bytes, borrowed like mem: quicker than mem; NULL: in mem only */
    bool stack_cut;       /* the stack goes on above what was copied */
    bool stack_unknown;   /* the end of its mapping was not known: one page was copied */
    /* The stack that a signal interrupted, if its handler runs on an alternate one; no bytes:
     * none. */
    uint64_t other_start, other_bytes;
    bool other_cut;
    bool incomplete;                          /* the capture hook could not read all it wanted */
    bool unhooked;                            /* there was no hook yet */
    uint64_t hook_words[SNAPSHOT_HOOK_WORDS]; /* pyframes/: addresses of thread states */
    uint32_t n_hook_words;
    struct mem *mem; /* all recorded bytes, the stack's too; borrowed, never live */
};

/* A range of recorded memory, whose bytes lie at OFFSET in their buffer. */
struct snapshot_range {
    uint64_t addr;
    uint32_t len, offset;
};

/* A memory made of recorded ranges.  The caller owns the buffer and the ranges; nothing is copied.
 * The ranges are sorted in place, and may touch but not overlap. */
struct snapshot_mem {
    struct mem mem;
    const uint8_t *bytes;
    struct snapshot_range *ranges;
    size_t n;
    size_t last; /* index of the range that was read last: the next read is often beside it */
};
/* The bytes at ADDR, and how many there are up to the end of ADDR's range; NULL: it is in none.
 * They stay valid as long as the buffer. */
const uint8_t *snapshot_mem_at(struct snapshot_mem *m, uint64_t addr, size_t *ret_len);
void snapshot_mem_init(struct snapshot_mem *m, const void *bytes, struct snapshot_range *ranges,
                       size_t n);
