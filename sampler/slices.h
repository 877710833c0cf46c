/* Random slices of many sleepers: in each block of ticks each sleeper is looked at once.
 *
 * The tick is a random one of the block, whatever the sleeper does and did, and whichever it was
 * in the blocks before.  So what a look finds stands for as many ticks as the block has, and the
 * sum is unbiased.  (Were the sleepers that were not seen to run looked at more seldom, the work of
 * a pool would be lost, whose threads each run now and then.)  Between two looks lie twice as many
 * ticks less one at most.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slices {
    uint32_t *order; /* the places of the sleepers; those looked at in this block come first */
    size_t n, capacity, done;
    uint32_t ticks, left; /* of the block; those that are left of it */
    uint64_t random;      /* not 0 */
};

/* The places of some sleepers, valid until the next call. */
struct slice {
    const uint32_t *places;
    size_t n;
};

/* Begins a block of TICKS > 0 for N sleepers.  The one before may be over or not. */
void slices_begin(struct slices *s, size_t n, uint32_t ticks);
/* The sleepers to be looked at in the next tick of the block; none, when it is over. */
struct slice slices_next(struct slices *s);
static inline bool slices_are_over(const struct slices *s)
{
    return s->left == 0 || s->n == 0;
}
void slices_release(struct slices *s);
