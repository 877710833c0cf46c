#include "profile/runs.h"

#include <string.h>

#include "base/hash.h"

void run_join(struct run *last, const struct run *next)
{
    last->samples += next->samples;
    last->waits = last->waits < UINT32_MAX - next->waits ? last->waits + next->waits : UINT32_MAX;
    weights_add(&last->weights, &next->weights);
}

bool run_goes_on(const struct run *last, const struct run *next)
{
    return run_end_ns(last) == next->start_ns && spots_are_same(last->at, next->at) &&
           last->state == next->state;
}

static uint64_t hash_of(const struct run *run)
{
    return hash_u64(spot_key(run->at) ^ hash_u64(run->state));
}

static bool is_alike(const void *item, const void *wanted)
{
    const struct run *a = item;
    const struct run *b = wanted;
    return spots_are_same(a->at, b->at) && a->state == b->state;
}

/* How many of RUNS, from the first on, end in the step in which the first begins; one at least. */
static size_t count_in_step(const struct run *runs, size_t n, int64_t step_ns)
{
    int64_t end_ns = (runs[0].start_ns / step_ns + 1) * step_ns;
    size_t i = 0;
    while (i < n && run_end_ns(&runs[i]) <= end_ns)
        i++;
    return i ? i : 1;
}

/* IN is of one step.  OUT may be the same memory, or begin before it. */
static size_t join_step(struct run *out, const struct run *in, size_t n, struct index *seen)
{
    int64_t at_ns = in[0].start_ns;
    size_t kept = 0;
    index_clear(seen);
    for (size_t i = 0; i < n; i++) {
        struct run run = in[i];
        uint32_t at = index_find(seen, hash_of(&run), out, sizeof *out, is_alike, &run);
        if (at != INDEX_NONE) {
            run_join(&out[at], &run);
        } else {
            index_add(seen, hash_of(&run), (uint32_t)kept);
            out[kept++] = run;
        }
    }
    for (size_t i = 0; i < kept; i++) {
        out[i].start_ns = at_ns;
        at_ns += out[i].weights.wall_ns;
    }
    return kept;
}

size_t runs_join(struct run *runs, size_t n, int64_t step_ns)
{
    struct index seen = {0};
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        size_t in_step = count_in_step(runs + i, n - i, step_ns);
        if (in_step == 1)
            runs[kept++] = runs[i];
        else
            kept += join_step(runs + kept, runs + i, in_step, &seen);
        i += in_step;
    }
    index_release(&seen);
    return kept;
}

size_t runs_coarsen(struct run *runs, size_t n, const struct exact_time *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        size_t from = i;
        int64_t until_ns;
        bool exact = exact_time_has(e, runs[from].start_ns, &until_ns);
        do /* one that goes on beyond stands by itself: its end is no other's to move */
            i++;
        while (i < n && run_end_ns(&runs[i]) <= until_ns);
        memmove(runs + kept, runs + from, (i - from) * sizeof *runs);
        kept += exact ? i - from : runs_join(runs + kept, i - from, e->step_ns);
    }
    return kept;
}
