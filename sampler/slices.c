#include "sampler/slices.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/random.h"

/* Uniform in [0, N), which is below 2^53. */
static uint64_t random_below(struct slices *s, uint64_t n)
{
    return (uint64_t)(random_share(&s->random) * (double)n);
}

void slices_begin(struct slices *s, size_t n, uint32_t ticks)
{
    s->order = array_reserve(s->order, &s->capacity, n, sizeof *s->order);
    for (size_t i = 0; i < n; i++)
        s->order[i] = (uint32_t)i;
    s->n = n;
    s->done = 0;
    s->ticks = s->left = ticks;
}

/* An equal part of the rest for each tick that is left; what remains goes to random ones. */
static size_t next_size(struct slices *s)
{
    size_t rest = s->n - s->done;
    return rest / s->left + (random_below(s, s->left) < rest % s->left);
}

/* Sorts so many random ones of the rest to its front (R. Fisher, F. Yates). */
struct slice slices_next(struct slices *s)
{
    if (!s->left)
        return (struct slice){NULL, 0};
    size_t first = s->done;
    size_t end = first + next_size(s);
    for (size_t i = first; i < end; i++) {
        size_t chosen = i + random_below(s, s->n - i);
        uint32_t place = s->order[chosen];
        s->order[chosen] = s->order[i];
        s->order[i] = place;
    }
    s->done = end;
    s->left--;
    return (struct slice){s->order + first, end - first};
}

void slices_release(struct slices *s)
{
    free(s->order);
    s->order = NULL;
    s->n = s->capacity = s->done = 0;
    s->left = 0;
}
