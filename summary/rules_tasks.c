/* The rule about tasks of asyncio's that wait while their event loop idles: for one thing that does
 * not come, or for their turn at a limit. */
#include "base/clock.h"
#include "summary/rule_words.h"
#include "summary/task_waits.h"

static const double idle_share = 0.5;

/* ---- what is wrong ---- */

/* Functions of asyncio's, and what is wrong if several tasks wait in one for seconds.  A worker
 * waits for work in Queue.get(), and many tasks for their turn at a semaphore that limits them: in
 * these functions only tasks that serve a client count. */
static const struct task_kind {
    const char *function, *what;
    bool of_clients;
} kinds[] = {
    {"Queue.put", "one full queue", false},
    {"Queue.join", "one queue to be worked off", false},
    {"Queue.get", "one empty queue", true},
    {"Lock.acquire", "one lock", false},
    {"Semaphore.acquire", "one semaphore", true},
};

/* "one lock"; NULL: no fault.  Where the innermost function is a subclass's, this says nothing
 * either. */
static const char *fault_of(const struct scene *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    const struct shown_frame *stack = task_stack(s, wait, &n);
    if (!n || !task_frame_is_asyncio(&stack[n - 1]) || wait->apart || wait->n < 2 ||
        wait->least_ns < NS_PER_S)
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eq(stack[n - 1].name, kinds[i].function) &&
            (wait->of_clients || !kinds[i].of_clients))
            return kinds[i].what;
    return NULL;
}

/* ---- what is no more than a fact ---- */

/* Functions of asyncio's in which tasks wait for what others of them have.  OWN: so many functions
 * of others lead there; fewer are workers, which wait for work.  APART: as many where each has an
 * object of its own; 0: that is no limit. */
static const struct task_fact {
    const char *function, *what;
    size_t own, apart;
} facts[] = {
    {"Semaphore.acquire", "one semaphore", 1, 0}, {"Lock.acquire", "one lock", 1, 0},
    {"Queue.put", "one full queue", 1, 0},        {"Queue.get", "one queue", 2, 0},
    {"Condition.wait", "one condition", 2, 0},    {"Event.wait", "one event", 1, 3},
};

static size_t count_own(const struct shown_frame *stack, size_t n)
{
    size_t own = 0;
    for (size_t i = 0; i < n; i++)
        own += !task_frame_is_asyncio(&stack[i]);
    return own;
}

static const char *fact_in(const char *function, size_t own, bool apart)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!str_eq(function, facts[i].function))
            continue;
        if (apart)
            return facts[i].apart && own >= facts[i].apart ? "" : NULL;
        return own >= facts[i].own ? facts[i].what : NULL;
    }
    return NULL;
}

static uint32_t innermost_of(const struct scene *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    const struct shown_frame *stack = task_stack(s, wait, &n);
    return n ? stack[n - 1].id : 0;
}

/* Do tasks wait in A for the same as in B, whoever calls that? */
static bool are_alike(const struct scene *s, const struct profile_task_wait *a,
                      const struct profile_task_wait *b)
{
    return a->process.ix == b->process.ix && a->object == b->object && a->apart == b->apart &&
           a->for_future == b->for_future && a->for_thread == b->for_thread &&
           innermost_of(s, a) == innermost_of(s, b);
}

/* The tasks that wait for the same as those of WAIT, with those. */
static size_t count_alike(const struct scene *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    size_t tasks = 0;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++)
        tasks += are_alike(s, &all[i], wait) ? all[i].n : 0;
    return tasks;
}

/* What most tasks of a process wait for: "one semaphore", "" if their functions have to say it;
 * NULL: these do not, or it is what tasks without work wait for. */
static const char *fact_of(const struct scene *s, const struct profile_task_wait *wait)
{
    enum { LEAST_TASKS = 4, LEAST_OWN = 2 };
    size_t n = 0;
    size_t tasks = count_alike(s, wait);
    const struct shown_frame *stack = task_stack(s, wait, &n);
    if (!n || tasks < LEAST_TASKS || 2 * tasks < wait->of || !wait->of || wait->for_thread ||
        task_wait_is_for_client(s, wait))
        return NULL;
    const struct shown_frame *inner = &stack[n - 1];
    size_t own = count_own(stack, n);
    if (!task_frame_is_asyncio(inner))
        return wait->for_future && own >= LEAST_OWN ? "" : NULL;
    if (str_starts(inner->name, "StreamReader."))
        return wait->of_clients ? NULL : "";
    return fact_in(inner->name, own, wait->apart);
}

/* ---- the tasks of a process ---- */

typedef const char *judge_of_waits(const struct scene *s, const struct profile_task_wait *wait);

/* Of the process of LOOP the wait of most tasks that JUDGE has words for; NULL: there is none. */
static const struct profile_task_wait *
most_tasks(const struct scene *s, const struct thread_summary *loop, judge_of_waits *judge)
{
    size_t n = 0;
    const struct profile_task_wait *best = NULL;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++)
        if (task_wait_is_of(&all[i], loop) && (!best || all[i].n > best->n) && judge(s, &all[i]))
            best = &all[i];
    return best;
}

/* ---- words ---- */

static bool began_alike(const struct scene *s, const struct profile_task_wait *a,
                        const struct profile_task_wait *b)
{
    size_t n = 0;
    const struct shown_frame *stack = task_stack(s, a, &n);
    uint32_t first = n ? stack[0].id : 0;
    stack = task_stack(s, b, &n);
    return n && first && stack[0].id == first;
}

/* " 10 others came further, and waited in fetch a.py:28 > sleep." */
static void add_others(const struct scene *s, const struct profile_task_wait *wait,
                       struct text *words)
{
    size_t n = 0;
    size_t others = 0;
    const struct profile_task_wait *most = NULL;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++) {
        if (all[i].process.ix != wait->process.ix || are_alike(s, &all[i], wait) ||
            !began_alike(s, &all[i], wait))
            continue;
        others += all[i].n;
        most = !most || all[i].n > most->n ? &all[i] : most;
    }
    if (!most || 2 * most->n < others)
        return;
    text_addf(words, " %zu other%s came further, and waited in ", most->n, most->n == 1 ? "" : "s");
    task_add_functions(s, most, 0, words);
    text_add(words, ".");
}

static void add_fault(const struct scene *s, const struct profile_task_wait *wait,
                      struct text *words)
{
    text_addf(words, "%s%zu asyncio tasks wait for %s, in ", wait->more ? "At least " : "", wait->n,
              fault_of(s, wait));
    task_add_functions(s, wait, 0, words);
    text_add(words, ", for ");
    add_time(words, wait->least_ns);
    text_add(words, " or more.");
    add_others(s, wait, words);
}

static void add_fact(const struct scene *s, const struct profile_task_wait *wait,
                     struct text *words)
{
    const char *what = fact_of(s, wait);
    size_t tasks = count_alike(s, wait);
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

static bool finds_tasks(const struct scene *s, const struct thread_summary *loop)
{
    return task_loop_idle_share(s, loop) >= idle_share &&
           (most_tasks(s, loop, fault_of) || most_tasks(s, loop, fact_of) ||
            rule_finds_no_thread_for(s, loop));
}

bool rule_finds_tasks_of(const struct scene *s, const struct thread_group *group)
{
    size_t i = 0;
    while (i < group->n && !finds_tasks(s, group->threads[i]))
        i++;
    return i < group->n;
}

void rule_tasks(const struct scene *s, struct thread_group *group, struct finding *f)
{
    const struct thread_summary *loop = group->threads[0];
    double idle = task_loop_idle_share(s, loop);
    if (idle <= 0) /* it runs no loop */
        return;
    const struct profile_task_wait *fault = most_tasks(s, loop, fault_of);
    const struct profile_task_wait *wait = fault ? fault : most_tasks(s, loop, fact_of);
    if (!wait)
        return;
    add_figure(f, "tasks", (double)(fault ? wait->n : count_alike(s, wait)));
    add_figure(f, "seconds", (double)wait->least_ns / NS_PER_S);
    add_figure(f, "idle_share", idle);
    f->weight = fault ? idle + (group == s->lead ? 0.2 : 0) : 0.7 * idle;
    if (idle < idle_share)
        return;
    struct text words = {0};
    if (fault)
        add_fault(s, wait, &words);
    else
        add_fact(s, wait, &words);
    task_add_loop(s, group, &words);
    f->words = words.s;
}
