#include "summary/group_times.h"

#include "base/minmax.h"

static int64_t sampled_ns(const struct thread_group *group, unsigned counted)
{
    int64_t ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            ns += counted >> run_counted(&t->runs[k]) & 1 ? t->runs[k].weights.wall_ns : 0;
    }
    return ns;
}

/* Samples may find a thread off the CPU more often than it was: a ping-pong on busy CPUs, say. */
double off_cpu_scale(const struct thread_group *group)
{
    int64_t off_ns = sampled_ns(group, 1U << COUNTED_RUNQUEUE | 1U << COUNTED_OFF_CPU);
    int64_t most_off_ns = max_i64(group->wall_ns - group->cpu_ns, 0);
    return off_ns <= most_off_ns ? 1 : (double)most_off_ns / (double)off_ns;
}

double active_scale(const struct thread_group *group)
{
    int64_t active_ns = sampled_ns(group, 1U << COUNTED_CPU | 1U << COUNTED_RUNQUEUE);
    return active_ns ? (double)(group->cpu_ns + group->runqueue_ns) / (double)active_ns : 1;
}

void group_times_sum(struct thread_group *group, struct call_tree *t)
{
    int64_t *sums = group->class_ns;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        for (size_t k = 0; k < thread->n_runs; k++)
            sums[class_of_run(t, &thread->runs[k])] += thread->runs[k].weights.wall_ns;
    }
    double scale = off_cpu_scale(group);
    for (int class = 0; class < CLASS_KINDS; class ++)
        if (class != CLASS_SPIN)
            sums[class] = (int64_t)((double)sums[class] * scale);
}
