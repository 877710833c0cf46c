/* The worker's wishes for a thread's next capture, as it learned from the last.
 *
 * A fixed table of atomics by thread number.  Where a later thread has taken a slot over, the
 * earlier one has no wish. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FEEDBACK_SLOTS = 1 << 14, FEEDBACK_RANGES = 16, STACK_RANGE_UNIT_BYTES = 256 };

/* Whole units of a thread's stack that do not begin at its sp. */
struct stack_range {
    uint64_t addr;
    uint32_t len;
    uint8_t age; /* stacks since then that did not need it */
};

/* A value of 32 bits for one thread: number << 32 | value.  Numbers begin with 1; 0: no value. */
struct feedback_word {
    _Atomic uint64_t word;
};

static inline void feedback_word_set(struct feedback_word *w, uint32_t thread, uint64_t value)
{
    atomic_store_explicit(&w->word, (uint64_t)thread << 32 | (uint32_t)value, memory_order_relaxed);
}

static inline void feedback_word_clear(struct feedback_word *w)
{
    atomic_store_explicit(&w->word, 0, memory_order_relaxed);
}

static inline bool feedback_word_is(const struct feedback_word *w, uint32_t thread, uint64_t value)
{
    return atomic_load_explicit(&w->word, memory_order_relaxed) ==
           ((uint64_t)thread << 32 | (uint32_t)value);
}

/* 0: THREAD has no value. */
static inline uint32_t feedback_word_value(const struct feedback_word *w, uint32_t thread)
{
    uint64_t word = atomic_load_explicit(&w->word, memory_order_relaxed);
    return word >> 32 == thread ? (uint32_t)word : 0;
}

struct feedback {
    struct {
        struct feedback_word stack;               /* bytes wanted, in one piece */
        struct feedback_word registers;           /* run count of a capture that needs them */
        struct feedback_word recapture;           /* run count of a capture to be taken again */
        struct feedback_word read_bytes;          /* bytes wanted from sp on, beside RANGES */
        _Atomic uint64_t ranges[FEEDBACK_RANGES]; /* unit << 24 | units << 8 | age; 0: no more */
    } slots[FEEDBACK_SLOTS];
};

static inline void feedback_want_stack(struct feedback *f, uint32_t thread, uint32_t bytes)
{
    feedback_word_set(&f->slots[thread % FEEDBACK_SLOTS].stack, thread, bytes);
}

/* 0: the worker has no wish. */
static inline uint32_t feedback_stack(const struct feedback *f, uint32_t thread)
{
    return feedback_word_value(&f->slots[thread % FEEDBACK_SLOTS].stack, thread);
}

static inline void feedback_want_registers(struct feedback *f, uint32_t thread, uint64_t runs)
{
    feedback_word_set(&f->slots[thread % FEEDBACK_SLOTS].registers, thread, runs);
}

static inline bool feedback_wants_registers(const struct feedback *f, uint32_t thread,
                                            uint64_t runs)
{
    return feedback_word_is(&f->slots[thread % FEEDBACK_SLOTS].registers, thread, runs);
}

static inline void feedback_forget_registers(struct feedback *f, uint32_t thread)
{
    feedback_word_clear(&f->slots[thread % FEEDBACK_SLOTS].registers);
}

/* The worker could not make a stack of the capture at RUNS yet, and wants another if the thread
 * still waits there. */
static inline void feedback_want_recapture(struct feedback *f, uint32_t thread, uint64_t runs)
{
    feedback_word_set(&f->slots[thread % FEEDBACK_SLOTS].recapture, thread, runs);
}

static inline bool feedback_wants_recapture(const struct feedback *f, uint32_t thread,
                                            uint64_t runs)
{
    return feedback_word_is(&f->slots[thread % FEEDBACK_SLOTS].recapture, thread, runs);
}

static inline void feedback_forget_recapture(struct feedback *f, uint32_t thread)
{
    feedback_word_clear(&f->slots[thread % FEEDBACK_SLOTS].recapture);
}

/* Wants READ_BYTES from sp on and N RANGES further up instead of the whole stack.  A capture in the
 * middle of this call gets some old and some new ranges, and a stack that is cut. */
static inline void feedback_want_ranges(struct feedback *f, uint32_t thread, uint32_t read_bytes,
                                        const struct stack_range *ranges, size_t n)
{
    for (size_t i = 0; i < FEEDBACK_RANGES; i++) {
        uint64_t word = i < n ? ranges[i].addr / STACK_RANGE_UNIT_BYTES << 24 |
                                    (uint64_t)(ranges[i].len / STACK_RANGE_UNIT_BYTES) << 8 |
                                    ranges[i].age
                              : 0;
        atomic_store_explicit(&f->slots[thread % FEEDBACK_SLOTS].ranges[i], word,
                              memory_order_relaxed);
    }
    feedback_word_set(&f->slots[thread % FEEDBACK_SLOTS].read_bytes, thread, read_bytes);
}

/* 0: the stack is wanted in one piece. */
static inline uint32_t feedback_read_bytes(const struct feedback *f, uint32_t thread)
{
    return feedback_word_value(&f->slots[thread % FEEDBACK_SLOTS].read_bytes, thread);
}

/* Returns how many ranges there are. */
static inline size_t feedback_ranges(const struct feedback *f, uint32_t thread,
                                     struct stack_range ret[FEEDBACK_RANGES])
{
    size_t n = 0;
    for (; n < FEEDBACK_RANGES; n++) {
        uint64_t word = atomic_load_explicit(&f->slots[thread % FEEDBACK_SLOTS].ranges[n],
                                             memory_order_relaxed);
        if (!word)
            break;
        ret[n].addr = (word >> 24) * STACK_RANGE_UNIT_BYTES;
        ret[n].len = (uint32_t)(word >> 8 & UINT16_MAX) * STACK_RANGE_UNIT_BYTES;
        ret[n].age = (uint8_t)word;
    }
    return n;
}
