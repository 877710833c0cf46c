#include "worker/cpu_waits.h"

#include <string.h>

#include "base/minmax.h"
#include "worker/stack_builder.h"

static const struct cpu_wait *find(const struct cpu_waits *w, uint64_t python)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->last[i].python == python)
            return &w->last[i];
    return NULL;
}

void cpu_waits_add(struct cpu_waits *w, const struct built_stack *built)
{
    const struct cpu_wait *same = find(w, built->python_hash);
    size_t before = same ? (size_t)(same - w->last) : min_u64(w->n, CPU_WAITS_KEPT - 1);
    w->n += !same && w->n < CPU_WAITS_KEPT;
    memmove(&w->last[1], &w->last[0], before * sizeof w->last[0]);
    w->last[0] = (struct cpu_wait){.at = built->at,
                                   .settled = built->settled,
                                   .python = built->python_hash,
                                   .plain = built->plain};
}

/* Python code that runs by itself is at another instruction each time, and has its own frames. */
bool cpu_waits_complete(const struct cpu_waits *w, struct built_stack *built)
{
    const struct cpu_wait *same = find(w, built->python_hash);
    const struct cpu_wait *last = same || !w->n ? same : &w->last[0];
    if (built->python && last && last->plain) {
        built->at.stack = built->settled.stack = built->plain_stack;
        return true;
    }
    if (!same)
        return false;
    built->at = same->at;
    built->settled = same->settled;
    return true;
}
