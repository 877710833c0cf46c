#include "sampler/on_cpu.h"

#include "sampler/state.h"
#include "sampler/thread_files.h"

/* T's run count less its switches, if it did not run while both were read. */
static bool read_ahead(struct sampler *s, struct thread *t, int64_t *ret)
{
    struct task_status status;
    struct schedstat after;
    if (!s->can.schedstat || thread_read_status(s, t, &status) < 0 ||
        thread_read_schedstat(s, t, &after) < 0 || after.runs != t->sched.runs)
        return false;
    *ret = (int64_t)(after.runs - status.voluntary - status.involuntary);
    return true;
}

enum thread_state on_cpu_state(struct sampler *s, struct thread *t)
{
    int64_t ahead;
    if (!read_ahead(s, t, &ahead))
        return THREAD_RUNNING_OR_RUNNABLE;
    if (ahead < t->switch_base) /* a run was missed */
        t->switch_base = ahead;
    if (ahead == t->switch_base)
        return THREAD_RUNNABLE;
    return ahead == t->switch_base + 1 ? THREAD_RUNNING : THREAD_RUNNING_OR_RUNNABLE;
}

void on_cpu_learn(struct sampler *s, struct thread *t)
{
    if (!t->base_known)
        t->base_known = read_ahead(s, t, &t->switch_base);
}
