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
    w->kept[least] = (struct cpu_wait){
        built->at, built->settled, built->python_hash, built->outer_hash, built->plain, 0, 0};
    return least;
}

/* What a program did long ago tells less of what it does. */
static void forget_a_little(struct cpu_waits *w)
{
    static const double kept_part = 0.97; /* of the weights: half after 23 waits that were asked */
    for (uint32_t i = 0; i < w->n; i++)
        w->kept[i].weight_ns *= kept_part;
}

void cpu_waits_add(struct cpu_waits *w, const struct built_stack *built, double share)
{
    forget_a_little(w);
    w->present.kept = slot_of(w, built) + 1;
    w->present.credit = 1 / share - 1;
}

static bool has_same_python(const struct cpu_wait *wait, const struct built_stack *built)
{
    return wait->python == built->python_hash;
}

static bool is_in_same_function(const struct cpu_wait *wait, const struct built_stack *built)
{
    return built->python_hash && wait->plain && wait->outer == built->outer_hash;
}

/* WAIT's credit for each nanosecond that it stands for. */
static double credit_of(const struct cpu_wait *wait)
{
    return wait->weight_ns > 0 ? wait->credit_ns / wait->weight_ns : 0;
}

/* Of the waits that are LIKE it that with the largest credit; NULL: none is. */
static struct cpu_wait *richest(struct cpu_waits *w, const struct built_stack *built,
                                bool like(const struct cpu_wait *, const struct built_stack *))
{
    struct cpu_wait *best = NULL;
    for (uint32_t i = 0; i < w->n; i++) {
        struct cpu_wait *wait = &w->kept[i];
        if (like(wait, built) && (!best || credit_of(wait) > credit_of(best)))
            best = wait;
    }
    return best;
}

/* STACK, with the innermost frame of OWN instead of its own. */
static stack_id with_innermost(struct profile *p, stack_id stack, stack_id own)
{
    return profile_push(p, profile_stack_parent(p, stack), profile_stack_frame(p, own));
}

bool cpu_waits_complete(struct cpu_waits *w, struct profile *p, struct built_stack *built)
{
    cpu_waits_none(w);
    struct cpu_wait *same = richest(w, built, has_same_python);
    struct cpu_wait *like = same ? same : richest(w, built, is_in_same_function);
    if (!like)
        return false;
    w->present.kept = (uint32_t)(like - w->kept) + 1;
    w->present.credit = -1;
    built->at = like->at;
    built->settled = like->settled;
    if (!same)
        built->at.stack = built->settled.stack =
            with_innermost(p, like->settled.stack, built->plain_stack);
    return true;
}

void cpu_waits_took(struct cpu_waits *w, int64_t ns)
{
    if (!w->present.kept)
        return;
    struct cpu_wait *wait = &w->kept[w->present.kept - 1];
    wait->credit_ns += w->present.credit * (double)ns;
    wait->weight_ns += w->present.credit >= 0 ? (1 + w->present.credit) * (double)ns : 0;
}
