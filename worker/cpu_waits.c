#include "worker/cpu_waits.h"

#include "worker/stack_builder.h"

void cpu_waits_none(struct cpu_waits *w)
{
    w->present.kept = 0;
}

static bool is_same(const struct cpu_wait *wait, const struct built_stack *built)
{
    return wait->python == built->python_hash && wait->at.stack.ix == built->at.stack.ix &&
           wait->at.wait.ix == built->at.wait.ix;
}

/* The slot of BUILT's place: its own, a free one, or that with the least credit. */
static uint32_t slot_of(struct cpu_waits *w, const struct built_stack *built)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        if (is_same(&w->kept[i], built))
            return i;
        least = w->kept[i].credit_ns < w->kept[least].credit_ns ? i : least;
    }
    if (w->n < CPU_WAITS_KEPT)
        least = w->n++;
    w->kept[least] =
        (struct cpu_wait){built->at, built->settled, built->python_hash, built->plain, 0};
    return least;
}

void cpu_waits_add(struct cpu_waits *w, const struct built_stack *built, double share)
{
    w->last = slot_of(w, built);
    w->present.kept = w->last + 1;
    w->present.credit = 1 / share - 1;
}

/* Of the waits with these Python frames that with the largest credit; NULL: none is known. */
static const struct cpu_wait *richest(const struct cpu_waits *w, uint64_t python)
{
    const struct cpu_wait *best = NULL;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct cpu_wait *wait = &w->kept[i];
        if (wait->python == python && (!best || wait->credit_ns > best->credit_ns))
            best = wait;
    }
    return best;
}

/* Python code that runs by itself is at another instruction each time, and has its own frames. */
bool cpu_waits_complete(struct cpu_waits *w, struct built_stack *built)
{
    const struct cpu_wait *same = richest(w, built->python_hash);
    const struct cpu_wait *like = same || !w->n ? same : &w->kept[w->last];
    cpu_waits_none(w);
    if (built->python && like && like->plain) {
        built->at.stack = built->settled.stack = built->plain_stack;
        return true;
    }
    if (!same)
        return false;
    built->at = same->at;
    built->settled = same->settled;
    w->present.kept = (uint32_t)(same - w->kept) + 1;
    w->present.credit = -1;
    return true;
}

void cpu_waits_took(struct cpu_waits *w, int64_t ns)
{
    if (w->present.kept)
        w->kept[w->present.kept - 1].credit_ns += w->present.credit * (double)ns;
}
