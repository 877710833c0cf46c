/* What the worker learns of a thread and the sampler needs for its next capture.  A fixed table of
 * atomics, by task number: a slot that a later task took over is simply not answered. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FEEDBACK_SLOTS = 1 << 14, FEEDBACK_PARTS = 16, STACK_PART_UNIT_BYTES = 256 };

/* A stretch of a thread's stack, apart from what lies at its sp: whole units. */
struct stack_part {
    uint64_t addr;
    uint32_t len;
    uint8_t age; /* how many stacks since did not need it */
};

struct feedback {
    struct {
        _Atomic uint64_t task_and_stack; /* task number << 32 | stack bytes wanted */
        _Atomic uint64_t task_and_runs;  /* task number << 32 | low bits of the run count of a
                                            capture  that needs registers; 0 none */
        _Atomic uint64_t task_and_again; /* the same, of one that is wanted anew */
        _Atomic uint64_t task_and_near;  /* task number << 32 | bytes wanted from sp on, and the
                                            parts besides; 0 bytes: the stack in one piece */
        _Atomic uint64_t parts[FEEDBACK_PARTS]; /* unit << 24 | units << 8 | age; 0: no more */
    } slots[FEEDBACK_SLOTS];
};

static inline void feedback_want_stack(struct feedback *f, uint32_t task, uint32_t bytes)
{
    atomic_store_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_stack,
                          (uint64_t)task << 32 | bytes, memory_order_relaxed);
}

/* 0: nothing was said. */
static inline uint32_t feedback_stack(const struct feedback *f, uint32_t task)
{
    uint64_t word =
        atomic_load_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_stack, memory_order_relaxed);
    return word >> 32 == task ? (uint32_t)word : 0;
}

static inline void feedback_want_registers(struct feedback *f, uint32_t task, uint64_t runs)
{
    atomic_store_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_runs,
                          (uint64_t)task << 32 | (uint32_t)runs, memory_order_relaxed);
}

static inline int feedback_wants_registers(const struct feedback *f, uint32_t task, uint64_t runs)
{
    uint64_t word =
        atomic_load_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_runs, memory_order_relaxed);
    return word == ((uint64_t)task << 32 | (uint32_t)runs);
}

/* A capture at RUNS came before what is needed to make a stack of it: take another, should the thread still wait.  RUNS
 * of 0: one was taken. */
static inline void feedback_want_again(struct feedback *f, uint32_t task, uint64_t runs)
{
    atomic_store_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_again,
                          (uint64_t)task << 32 | (uint32_t)runs, memory_order_relaxed);
}

static inline bool feedback_wants_again(const struct feedback *f, uint32_t task, uint64_t runs)
{
    uint64_t word =
        atomic_load_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_again, memory_order_relaxed);
    return word == ((uint64_t)task << 32 | (uint32_t)runs);
}

/* Instead of the whole stack: NEAR bytes from sp on, and PARTS further up.  Who reads while this is written gets some of
 * both, and a stack that is cut. */
static inline void feedback_want_parts(struct feedback *f, uint32_t task, uint32_t near,
                                       const struct stack_part *parts, size_t n)
{
    for (size_t i = 0; i < FEEDBACK_PARTS; i++) {
        uint64_t word = i < n ? parts[i].addr / STACK_PART_UNIT_BYTES << 24 |
                                    (uint64_t)(parts[i].len / STACK_PART_UNIT_BYTES) << 8 |
                                    parts[i].age
                              : 0;
        atomic_store_explicit(&f->slots[task % FEEDBACK_SLOTS].parts[i], word,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_near,
                          (uint64_t)task << 32 | near, memory_order_relaxed);
}

/* 0: the stack is wanted in one piece. */
static inline uint32_t feedback_near(const struct feedback *f, uint32_t task)
{
    uint64_t word =
        atomic_load_explicit(&f->slots[task % FEEDBACK_SLOTS].task_and_near, memory_order_relaxed);
    return word >> 32 == task ? (uint32_t)word : 0;
}

/* Returns how many there are. */
static inline size_t feedback_parts(const struct feedback *f, uint32_t task,
                                    struct stack_part ret[FEEDBACK_PARTS])
{
    size_t n = 0;
    for (; n < FEEDBACK_PARTS; n++) {
        uint64_t word =
            atomic_load_explicit(&f->slots[task % FEEDBACK_SLOTS].parts[n], memory_order_relaxed);
        if (!word)
            break;
        ret[n].addr = (word >> 24) * STACK_PART_UNIT_BYTES;
        ret[n].len = (uint32_t)(word >> 8 & UINT16_MAX) * STACK_PART_UNIT_BYTES;
        ret[n].age = (uint8_t)word;
    }
    return n;
}
