/* What the worker learns of a thread and the sampler needs for its next capture.  A fixed table of
 * atomics, by task number: a slot that a later task took over is simply not answered. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum { FEEDBACK_SLOTS = 1 << 14 };

struct feedback {
    struct {
        _Atomic uint64_t task_and_stack; /* task number << 32 | stack bytes wanted */
        _Atomic uint64_t task_and_runs;  /* task number << 32 | low bits of the run count of a
                                            capture  that needs registers; 0 none */
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
