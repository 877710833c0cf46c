/* What one capture of one thread took: registers, stack bytes, and the other memory that was read
 * on the way.  Self-contained: everything after the capture (unwinding, the Python walk, the merge)
 * works on this alone, so that it may run later, elsewhere, or in a test. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/mem.h"

enum thread_state {
    THREAD_RUNNING,  /* on a CPU */
    THREAD_RUNNABLE, /* waiting for one */
    THREAD_BLOCKED,
    THREAD_STOPPED,             /* by a job-control signal */
    THREAD_RUNNING_OR_RUNNABLE, /* where the kernel does not tell them apart */
};

/* x86-64 registers by DWARF number (psABI figure 3.36); 16 is the return address column: pc. */
enum {
    REG_RAX = 0,
    REG_RDX,
    REG_RCX,
    REG_RBX,
    REG_RSI,
    REG_RDI,
    REG_RBP,
    REG_RSP,
    REG_R8,
    REG_R12 = 12,
    REG_R13,
    REG_R14,
    REG_R15,
    REG_PC = 16,
    REG_COUNT = 17
};
struct regs {
    uint64_t r[REG_COUNT];
    uint32_t
        known; /* bit n: r[n] is valid.  A capture without a stop knows REG_RSP and REG_PC only */
};

enum { SNAPSHOT_ANNEX_WORDS = 8 };

struct snapshot {
    pid_t tid;
    int64_t taken_ns; /* CLOCK_MONOTONIC */
    uint32_t held_ns; /* how long the thread was held; 0: not held */
    enum thread_state state;
    int64_t syscall; /* number, −1 none (blocked in the kernel all the same: page fault), −2 not in
                        the kernel */
    uint64_t syscall_args[6];
    struct regs regs;
    uint64_t fs_base;     /* 0: unknown (no stop) */
    uint64_t stack_start; /* bytes of the stack from sp upwards that were copied */
    uint64_t stack_bytes;
    bool stack_cut;                       /* the stack goes on above what was copied */
    bool incomplete;                      /* the capture hook could not read all it wanted */
    uint64_t annex[SNAPSHOT_ANNEX_WORDS]; /* the capture hook's: pyframes/ keeps thread states'
                                             addresses here */
    uint32_t annex_words;
    struct mem *mem; /* recorded bytes: stack and all else that was read; borrowed, never live */
};
