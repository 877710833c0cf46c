#include "sampler/left_alone.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum {
    MOST_DOUBLINGS = 10,      /* three hours */
    LOOK_NS = 50 * NS_PER_MS, /* whether it has ended */
};
static const int64_t FIRST_NS = 10 * (int64_t)NS_PER_S;

/* What is proven so far is kept: the threads may run before they are looked at again. */
static void extend_samples(struct sampler *s, struct process *p, int64_t now_ns)
{
    for (size_t i = 0; i < p->n_threads; i++) {
        struct thread *t = p->threads[i];
        dormant_update(t);
        if (t->registered && thread_read_schedstat(s, t, &t->sched) == 0 &&
            claim_holds(&t->sampled, &t->sched))
            claim_extend(t, now_ns, 0);
    }
}

int64_t left_alone_begin(struct sampler *s, struct process *p)
{
    int64_t now_ns = clock_now_ns();
    left_alone_end(s, p, now_ns);
    extend_samples(s, p, now_ns);
    int64_t ns = FIRST_NS << min_i64(p->times_left_alone++, MOST_DOUBLINGS);
    p->left_alone_since_ns = p->left_alone_looked_ns = now_ns;
    p->left_alone_until_ns = now_ns + ns;
    counters_add(&s->counters, COUNT_LEFT_ALONE, 1);
    return ns;
}

static bool is_to_end(struct sampler *s, struct process *p)
{
    if (p->left_alone_until_ns <= s->tick_ns)
        return true;
    if (s->tick_ns - p->left_alone_looked_ns < LOOK_NS)
        return false;
    p->left_alone_looked_ns = s->tick_ns;
    return process_has_ended(p);
}

bool left_alone(struct sampler *s, struct process *p)
{
    if (p->left_alone_until_ns && !is_to_end(s, p))
        return true;
    left_alone_end(s, p, s->tick_ns);
    return false;
}

void left_alone_end(struct sampler *s, struct process *p, int64_t now_ns)
{
    if (p->left_alone_since_ns)
        counters_add(&s->counters, COUNT_LEFT_ALONE_NS,
                     (uint64_t)max_i64(now_ns - p->left_alone_since_ns, 0));
    p->left_alone_since_ns = p->left_alone_until_ns = 0;
}
