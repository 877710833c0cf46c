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

/* 32 bits about one task: its number << 32 | them.  Numbers begin with 1.  0: nothing was told. */
struct told {
    _Atomic uint64_t word;
};

static inline void told_set(struct told *t, uint32_t task, uint64_t value)
{
    atomic_store_explicit(&t->word, (uint64_t)task << 32 | (uint32_t)value, memory_order_relaxed);
}

static inline void told_clear(struct told *t)
{
    atomic_store_explicit(&t->word, 0, memory_order_relaxed);
}

static inline bool told_is(const struct told *t, uint32_t task, uint64_t value)
{
    return atomic_load_explicit(&t->word, memory_order_relaxed) ==
           ((uint64_t)task << 32 | (uint32_t)value);
}

/* 0: nothing was told of TASK. */
static inline uint32_t told_value(const struct told *t, uint32_t task)
{
    uint64_t word = atomic_load_explicit(&t->word, memory_order_relaxed);
    return word >> 32 == task ? (uint32_t)word : 0;
}

struct feedback {
    struct {
        struct told stack;                      /* bytes wanted */
        struct told registers;                  /* the run count of a capture that needs them */
        struct told again;                      /* the run count of one that is wanted anew */
        struct told near;                       /* bytes wanted from sp on, and the parts besides */
        _Atomic uint64_t parts[FEEDBACK_PARTS]; /* unit << 24 | units << 8 | age; 0: no more */
    } slots[FEEDBACK_SLOTS];
};

static inline void feedback_want_stack(struct feedback *f, uint32_t task, uint32_t bytes)
{
    told_set(&f->slots[task % FEEDBACK_SLOTS].stack, task, bytes);
}

/* 0: nothing was said. */
static inline uint32_t feedback_stack(const struct feedback *f, uint32_t task)
{
    return told_value(&f->slots[task % FEEDBACK_SLOTS].stack, task);
}

static inline void feedback_want_registers(struct feedback *f, uint32_t task, uint64_t runs)
{
    told_set(&f->slots[task % FEEDBACK_SLOTS].registers, task, runs);
}

static inline bool feedback_wants_registers(const struct feedback *f, uint32_t task, uint64_t runs)
{
    return told_is(&f->slots[task % FEEDBACK_SLOTS].registers, task, runs);
}

static inline void feedback_forget_registers(struct feedback *f, uint32_t task)
{
    told_clear(&f->slots[task % FEEDBACK_SLOTS].registers);
}

/* A capture at RUNS came before what is needed to make a stack of it: take another, should the thread still wait. */
static inline void feedback_want_again(struct feedback *f, uint32_t task, uint64_t runs)
{
    told_set(&f->slots[task % FEEDBACK_SLOTS].again, task, runs);
}

static inline bool feedback_wants_again(const struct feedback *f, uint32_t task, uint64_t runs)
{
    return told_is(&f->slots[task % FEEDBACK_SLOTS].again, task, runs);
}

static inline void feedback_forget_again(struct feedback *f, uint32_t task)
{
    told_clear(&f->slots[task % FEEDBACK_SLOTS].again);
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
    told_set(&f->slots[task % FEEDBACK_SLOTS].near, task, near);
}

/* 0: the stack is wanted in one piece. */
static inline uint32_t feedback_near(const struct feedback *f, uint32_t task)
{
    return told_value(&f->slots[task % FEEDBACK_SLOTS].near, task);
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
