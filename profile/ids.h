/* Ids of interned things.  One-member structs, so that they cannot be mixed up; ix 0 = none. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint32_t ix;
} string_id;
typedef struct {
    uint32_t ix;
} module_id;
typedef struct {
    uint32_t ix;
} func_id;
typedef struct {
    uint32_t ix;
} frame_id;
typedef struct {
    uint32_t ix;
} stack_id;
typedef struct {
    uint32_t ix;
} process_id;
typedef struct {
    uint32_t ix;
} thread_id;
typedef struct {
    uint32_t ix;
} mount_id;
typedef struct {
    uint32_t ix;
} wait_id;

/* Where a thread is, and what it waits for there.  Both none: nothing is known. */
struct spot {
    stack_id stack;
    wait_id wait;
};
static inline struct spot spot_of_stack(stack_id stack)
{
    return (struct spot){.stack = stack};
}
static inline bool spot_is_known(struct spot at)
{
    return at.stack.ix || at.wait.ix;
}
static inline bool spots_are_same(struct spot a, struct spot b)
{
    return a.stack.ix == b.stack.ix && a.wait.ix == b.wait.ix;
}
static inline uint64_t spot_key(struct spot at) /* for maps */
{
    return (uint64_t)at.stack.ix << 32 | at.wait.ix;
}
