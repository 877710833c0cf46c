/* The rule about threads that start others all the time. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "summary/frame_name.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double start_share = 0.25; /* of a thread's time */
static const double many_starts = 10;   /* a second: fewer are a slow start of a few */

/* How many threads of PROCESS, at least, began while it was recorded, a second. */
static double seen_starts(const struct scene *s, process_id process)
{
    size_t n = 0;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *summary = &s->g->summaries.threads[i];
        const struct profile_thread *t = summary->thread;
        bool began = t->start_ns > NS_PER_S / 10 || t->n_folded;
        n += t->process.ix == process.ix && began ? summary->n_threads : 0;
    }
    if (profile_process_count(s->p) == 1) /* whose the others are is not known */
        n += (size_t)profile_number(s->p, METRIC_THREADS_WITHOUT_A_SAMPLE);
    return rule_per_second(n, s);
}

void rule_starts(const struct scene *s, struct thread_group *group, struct finding *f)
{
    static const unsigned all = 1U << COUNTED_CPU | 1U << COUNTED_RUNQUEUE | 1U << COUNTED_OFF_CPU;
    const struct profile_thread *thread = group->threads[0]->thread;
    double starts = seen_starts(s, thread->process);
    if (group->n != 1 || starts < many_starts)
        return;
    struct stack_times times = rule_times_of(s, thread, all, frame_starts_thread);
    struct call_path path;
    double share = share_of(times.wall_ns, group->wall_ns);
    add_figure(f, "share", share);
    add_figure(f, "starts_per_s", starts);
    f->weight = 1 + share;
    if (share >= start_share && rule_path_in(s, thread, &times, &path)) {
        struct text words = {0};
        text_addf(&words, "%s spends ", group->noun);
        add_percent(&words, share);
        text_add(&words, " of its time starting threads, ");
        add_place(&words, &path);
        text_add(&words, ". A pool, whose threads live on, saves that.");
        f->words = words.s;
        call_path_release(&path);
    }
    free(times.items);
}
