#include "summary/standoff.h"

#include <math.h>

#include "summary/frame_role.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double nearly_all = 0.8; /* of the time */

/* How T waits for what only a thread of its process can do; of that, until a time-out for what
 * comes of a task (known.def, `results`). */
struct inside_waits {
    int64_t ns, patient_ns;
    bool idle; /* it waits for work */
};

/* Is the wait AT for that?  Its functions are no steps of the tree. */
static bool is_for_result_of_task(const struct judgement *s, struct spot at)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(s->g->v, at, &n);
    for (; n && frame_role(&stack[n - 1], true) != ROLE_OWN; n--)
        if (known_row_of(&stack[n - 1], KNOWN_RESULTS))
            return true;
    return false;
}

static struct inside_waits waits_of(const struct judgement *s, const struct profile_thread *t)
{
    struct inside_waits ret = {0};
    for (size_t i = 0; i < t->n_runs; i++) {
        const struct run *run = &t->runs[i];
        const struct wait *wait = profile_see_wait(s->p, run->at.wait);
        ret.idle |= class_of_run(s->g->tree, run) == CLASS_IDLE;
        if (run->state != RUN_BLOCKED || !wait || !wait->side.inside)
            continue;
        bool patient = wait->side.timed && is_for_result_of_task(s, run->at);
        ret.ns += run->weights.wall_ns;
        ret.patient_ns += patient ? run->weights.wall_ns : 0;
    }
    return ret;
}

/* What the threads of a process do. */
struct standoff {
    size_t threads;
    bool patient, idle; /* is one mostly so? */
    double share;       /* of the time in which all wait, at least: what one does else may be at
                           another time than what the others do */
};

static struct standoff standoff_of(const struct judgement *s, process_id id)
{
    struct standoff ret = {.share = 1};
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->process.ix != id.ix)
            continue;
        struct inside_waits w = waits_of(s, t);
        ret.threads++;
        ret.share -= 1 - share_of(w.ns, s->wall_ns);
        ret.patient |= w.patient_ns > w.ns / 2;
        ret.idle |= w.idle;
    }
    return ret;
}

void add_standoff(const struct judgement *s, const struct thread_group *group, struct text *words,
                  struct finding *f)
{
    const process_id id = group->threads[0]->thread->process;
    if (group != s->lead)
        return;
    const struct standoff o = standoff_of(s, id);
    /* Another thread, which is not known, could do it. */
    bool known = o.threads > 1 && o.threads == profile_see_process(s->p, id)->threads;
    if (!known || !o.patient || o.idle || o.share < nearly_all)
        return;
    add_figure(f, "standoff_share", o.share);
    text_add(words, " ");
    add_all_threads(o.threads, words);
    text_add(words, " wait for one another, for at least ");
    add_percent(words, fmin(o.share, 0.99));
    text_add(words, " of the time, until a time-out: a task that waits for tasks of its own pool "
                    "needs a free thread there.");
}
