/* The rule about tasks of asyncio's that wait while their event loop idles: for one thing that does
 * not come, or for their turn at a limit. */
#include "base/clock.h"
#include "summary/executor.h"
#include "summary/rule_words.h"
#include "summary/task_kinds.h"
#include "summary/task_waits.h"

static bool began_alike(const struct judgement *s, const struct profile_task_wait *a,
                        const struct profile_task_wait *b)
{
    size_t n = 0;
    const struct shown_frame *stack = task_stack(s, a, &n);
    uint32_t first = n ? stack[0].id : 0;
    stack = task_stack(s, b, &n);
    return n && first && stack[0].id == first;
}

/* " 10 others got past it, and waited in fetch a.py:28 > sleep." */
static void add_others(const struct judgement *s, const struct profile_task_wait *wait,
                       struct text *words)
{
    size_t n = 0;
    size_t others = 0;
    const struct profile_task_wait *most = NULL;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++) {
        if (all[i].process.ix != wait->process.ix || task_waits_are_alike(s, &all[i], wait) ||
            !began_alike(s, &all[i], wait))
            continue;
        others += all[i].n;
        most = !most || all[i].n > most->n ? &all[i] : most;
    }
    if (!most || 2 * most->n < others)
        return;
    text_addf(words, " %zu other%s got past it, and waited in ", most->n, most->n == 1 ? "" : "s");
    task_add_functions(s, most, 0, words);
    text_add(words, ".");
}

static void add_fault(const struct judgement *s, const struct profile_task_wait *wait,
                      struct text *words)
{
    text_addf(words, "%s%zu asyncio task%s for %s, in ", wait->more ? "At least " : "", wait->n,
              wait->n == 1 ? " waits" : "s wait", task_fault_of(s, wait));
    task_add_functions(s, wait, 0, words);
    text_add(words, ", for ");
    add_time(words, wait->least_ns);
    text_add(words, " or more.");
    add_others(s, wait, words);
}

static void add_fact(const struct judgement *s, const struct profile_task_wait *wait,
                     struct text *words)
{
    const char *what = task_fact_of(s, wait);
    size_t tasks = task_count_alike(s, wait);
    text_addf(words, wait->more ? "At least %zu of more than %zu" : "%zu of %zu", tasks, wait->of);
    text_addf(words, " asyncio tasks waited %s%s%swhen the recording ended, ", *what ? "for " : "",
              what, *what ? " " : "");
    if (tasks > wait->n)
        text_addf(words, "%zu of them ", wait->n);
    text_add(words, "in ");
    task_add_functions(s, wait, 1, words);
    text_add(words, ".");
    add_others(s, wait, words);
}

bool rule_may_see_tasks(const struct judgement *s)
{
    size_t n = 0;
    return profile_task_waits(s->p, &n) && n > 0;
}

struct task_facts {
    const struct profile_task_wait *wait;
    bool fault;
};

void rule_tasks(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    const struct thread_summary *loop = group->threads[0];
    double idle = task_loop_idle_share(s, loop);
    if (idle <= 0) /* it runs no loop */
        return;
    const struct profile_task_wait *fault = task_most(s, loop, task_fault_of);
    const struct task_facts facts = {fault ? fault : task_most(s, loop, task_fact_of), fault};
    const struct profile_task_wait *wait = facts.wait;
    if (!wait)
        return;
    add_figure(f, "tasks", (double)(fault ? wait->n : task_count_alike(s, wait)));
    add_figure(f, "seconds", (double)wait->least_ns / NS_PER_S);
    add_figure(f, "idle_share", idle);
    f->share = idle;
    if (idle >= task_idle_share && !executor_has_other_loop(s, loop, task_idle_share))
        finding_applies(f, &facts, sizeof facts);
}

void tell_tasks(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct task_facts *facts = f->facts;
    if (facts->fault)
        add_fault(s, facts->wait, words);
    else
        add_fact(s, facts->wait, words);
    task_add_loop(s, f->group, words);
}
