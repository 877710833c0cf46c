#include "summary/standoff.h"

#include <math.h>

#include "summary/rule_words.h"

static const double nearly_all = 0.8; /* of the time */

/* How T waits for what only a thread of its process can do. */
struct inside_waits {
    int64_t ns, timed_ns;
};

static struct inside_waits waits_of(const struct judgement *s, const struct profile_thread *t)
{
    struct inside_waits ret = {0};
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        if (run->state != RUN_BLOCKED || !wait || !wait->side.inside)
            continue;
        ret.ns += run->weights.wall_ns;
        ret.timed_ns += wait->side.timed ? run->weights.wall_ns : 0;
    }
    return ret;
}

/* For what part of the time all of the N threads of process ID wait so at once, at least: what each
 * does else may be at another time than what the others do.  *RET_TIMED: do most waits of one of
 * them have a time-out? */
static double standoff_share(const struct judgement *s, process_id id, size_t *ret_n,
                             bool *ret_timed)
{
    double else_share = 0;
    *ret_n = 0;
    *ret_timed = false;
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->process.ix != id.ix)
            continue;
        struct inside_waits w = waits_of(s, t);
        else_share += 1 - share_of(w.ns, s->wall_ns);
        *ret_timed |= w.timed_ns > w.ns / 2;
        ++*ret_n;
    }
    return 1 - else_share;
}

void add_standoff(const struct judgement *s, const struct thread_group *group, struct text *words,
                  struct finding *f)
{
    const process_id id = group->threads[0]->thread->process;
    size_t n;
    bool timed;
    double share = standoff_share(s, id, &n, &timed);
    /* Another thread, which is not known, could do it. */
    if (n < 2 || n != profile_see_process(s->p, id)->threads || !timed || share < nearly_all)
        return;
    add_figure(f, "standoff_share", share);
    text_addf(words, " All %zu threads wait for one another, for at least ", n);
    add_percent(words, fmin(share, 0.99));
    text_add(words, " of the time, until a time-out: a task that waits for tasks of its own pool "
                    "needs a free thread there.");
}
