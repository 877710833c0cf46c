#include "summary/executor.h"

#include <string.h>

#include "base/clock.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/task_waits.h"

static const double no_thread_idles = 0.05; /* of the executor's, at most */

static bool is_executor(const struct shown_frame *f)
{
    return known_does(f, DOES_RUN_TASKS);
}

static bool runs_loop(const struct shown_frame *f)
{
    return known_does(f, DOES_RUN_COROUTINES);
}

static bool is_process_pool(const struct shown_frame *f)
{
    return known_does(f, DOES_POOL_PROCESSES);
}

static bool is_of_process(const struct thread_summary *t, const struct thread_summary *loop)
{
    return t->thread->process.ix == loop->thread->process.ix;
}

bool executor_has_other_loop(const struct judgement *s, const struct thread_summary *loop,
                             double most_idle)
{
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *t = &s->g->summaries.threads[i];
        if (t == loop || !is_of_process(t, loop) || rule_thread_has(s, t->thread, is_executor))
            continue;
        double idle = task_loop_idle_share(s, t);
        if ((idle > 0 || rule_thread_has(s, t->thread, runs_loop)) && idle <= most_idle)
            return true;
    }
    return false;
}

/* How much of NAME is that of its executor: "asyncio" of "asyncio_3"; 0: that is not said. */
static size_t executor_name(const char *name)
{
    const char *number = strrchr(name, '_');
    bool numbered = number && number[1] && !number[1 + strspn(number + 1, "0123456789")];
    return numbered ? (size_t)(number - name) : 0;
}

/* Are both threads of one executor, by their names? */
static bool are_of_one(const struct thread_summary *a, const struct thread_summary *b)
{
    const size_t len = executor_name(a->name);
    return len && executor_name(b->name) == len && strncmp(a->name, b->name, len) == 0;
}

/* Did T end clearly before LOOP's thread?  It was an earlier executor's. */
static bool is_of_the_past(const struct thread_summary *t, const struct thread_summary *loop)
{
    const struct profile_thread *thread = t->thread;
    return thread->n_folded ||
           (thread->ended && loop->thread->end_ns - thread->end_ns > NS_PER_S / 2);
}

static bool is_busy(const struct thread_group *group)
{
    return !group->idle && share_of(group->class_ns[CLASS_IDLE], group->wall_ns) <= no_thread_idles;
}

static void count_tasks(const struct judgement *s, const struct thread_summary *loop,
                        struct executor *e)
{
    size_t n = 0;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++)
        if (task_wait_is_of(&all[i], loop) && all[i].for_thread) {
            e->tasks += all[i].n;
            e->more |= all[i].more;
        }
}

struct executor executor_of(const struct judgement *s, const struct thread_summary *loop)
{
    struct executor e = {.one = true};
    const struct thread_summary *first = NULL;
    bool busy = true;
    count_tasks(s, loop, &e);
    /* A process pool's results are awaited in the same way. */
    if (!e.tasks || rule_has_frame(s, is_process_pool) ||
        executor_has_other_loop(s, loop,
                                1)) /* what it returns is awaited as a thread's result is */
        return e;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *t = &s->g->summaries.threads[i];
        struct thread_group *group = groups_of(s->g, t->thread);
        if (!group || group->mixed || !is_of_process(t, loop) || is_of_the_past(t, loop) ||
            !rule_thread_has(s, t->thread, is_executor))
            continue;
        first = first ? first : t;
        e.one &= are_of_one(t, first);
        e.threads += t->n_threads;
        e.group = !e.group || group->n_threads > e.group->n_threads ? group : e.group;
        busy &= is_busy(group);
    }
    e.group = busy ? e.group : NULL;
    return e;
}

bool executor_lacks_threads(const struct executor *e)
{
    return e->group && e->tasks > e->threads;
}
