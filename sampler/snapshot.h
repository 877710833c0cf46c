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
    THREAD_STOPPED,             /* by a job-control signal, or a debugger */
    THREAD_RUNNING_OR_RUNNABLE, /* where the kernel does not tell them apart */
};

/* x86-64 registers by DWARF number (psABI figure 3.36); 16 is the return address column: pc. */
enum {
    X86_RAX = 0,
    X86_RDX,
    X86_RCX,
    X86_RBX,
    X86_RSI,
    X86_RDI,
    X86_RBP,
    X86_RSP,
    X86_R8,
    X86_R12 = 12,
    X86_R13,
    X86_R14,
    X86_R15,
    X86_PC = 16,
    X86_COUNT = 17
};
struct regs {
    uint64_t r[X86_COUNT];
    uint32_t
        known; /* bit n: r[n] is valid.  A capture without a stop knows X86_RSP and X86_PC only, and in a call X86_RDI */
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
    const uint8_t *stack; /* these bytes themselves, borrowed like mem, so that the unwinder need
                             not ask mem for each word; NULL: they are in mem only */
    bool stack_cut;       /* the stack goes on above what was copied */
    bool stack_unknown;   /* where its mapping ends was not known: one page was copied */
    /* The same of the stack that a signal interrupted whose handler runs on an alternate one. */
    uint64_t other_start, other_bytes; /* no bytes: there is none, or it was not copied */
    bool other_cut;
    bool incomplete;                      /* the capture hook could not read all it wanted */
    bool unhooked;                        /* there was no hook (yet) */
    uint64_t annex[SNAPSHOT_ANNEX_WORDS]; /* the capture hook's: pyframes/ keeps thread states'
                                             addresses here */
    uint32_t annex_words;
    struct mem *mem; /* recorded bytes: stack and all else that was read; borrowed, never live */
};

/* One stretch of recorded memory.  `offset`: of its bytes, from the start of what holds them. */
struct snapshot_range {
    uint64_t addr;
    uint32_t len, offset;
};

/* Memory made of recorded ranges that lie in a buffer of somebody else's; nothing is copied. RANGES
 * are sorted in place.  They may touch but not overlap. */
struct snapshot_mem {
    struct mem mem;
    const uint8_t *bytes;
    struct snapshot_range *ranges;
    size_t n;
    size_t last; /* where the last read was: the next is often beside it */
};
/* The bytes at ADDR, if it lies in a range, and how many follow there; else NULL.  They move with no call. */
const uint8_t *snapshot_mem_at(struct snapshot_mem *m, uint64_t addr, size_t *ret_len);
void snapshot_mem_init(struct snapshot_mem *m, const void *bytes, struct snapshot_range *ranges,
                       size_t n);
