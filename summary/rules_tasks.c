/* The rule about tasks of asyncio's that all wait for one thing while their event loop idles. */
#include <string.h>

#include "base/clock.h"
#include "summary/frame_name.h"
#include "summary/idle.h"
#include "summary/rule_words.h"

static const double idle_share = 0.5;

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

static bool is_asyncio(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && strstr(f->file, "/asyncio/");
}

/* NULL: no fault.  Where the innermost function is a subclass's, this says nothing either. */
static const struct task_kind *kind_of(const struct scene *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(s->g->v, spot_of_stack(wait->stack), &n);
    if (!n || !is_asyncio(&stack[n - 1]))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eq(stack[n - 1].name, kinds[i].function) &&
            (wait->of_clients || !kinds[i].of_clients))
            return &kinds[i];
    return NULL;
}

/* Of the process of GROUP's thread the wait of most tasks; NULL: there is none. */
static const struct profile_task_wait *most_tasks(const struct scene *s,
                                                  const struct thread_group *group)
{
    size_t n = 0;
    const struct profile_task_wait *best = NULL;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n; i++)
        if (all[i].process.ix == group->threads[0]->thread->process.ix &&
            (!best || all[i].n > best->n) && kind_of(s, &all[i]))
            best = &all[i];
    return best;
}

/* How long T polled in an event loop of asyncio's. */
static int64_t loop_idle_ns(const struct scene *s, const struct profile_thread *t)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_runs && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        size_t n = 0;
        if (run->state != RUN_BLOCKED)
            continue;
        const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
        const char *loop = idle_event_loop(stack, n);
        if (loop && (str_eq(loop, "asyncio") || str_eq(loop, "uvloop")))
            ns += run->weights.wall_ns;
    }
    return ns;
}

/* "handle ingest.py:40 > Queue.put" */
static void add_functions(const struct scene *s, stack_id stack, struct text *words)
{
    size_t n = 0;
    const struct shown_frame *frames = view_stack(s->g->v, spot_of_stack(stack), &n);
    size_t own = n;
    while (own && is_asyncio(&frames[own - 1]))
        own--;
    if (own) {
        const struct shown_frame *f = &frames[own - 1];
        struct text file = {0};
        frame_add_name(words, f);
        const char *base = f->file ? path_base(f->file) : "";
        text_add_tame(&file, base, strlen(base));
        if (file.len)
            text_addf(words, " %s:%u", file.s, f->current_line ? f->current_line : f->line);
        text_release(&file);
        text_add(words, " > ");
    }
    frame_add_name(words, &frames[n - 1]);
}

static double idle_share_of(const struct scene *s, const struct thread_group *group)
{
    return share_of(loop_idle_ns(s, group->threads[0]->thread), group->wall_ns);
}

bool rule_finds_tasks_of(const struct scene *s, const struct thread_group *group)
{
    return group->n == 1 && most_tasks(s, group) && idle_share_of(s, group) >= idle_share;
}

void rule_tasks(const struct scene *s, struct thread_group *group, struct finding *f)
{
    const struct profile_task_wait *wait = group->n == 1 ? most_tasks(s, group) : NULL;
    if (!wait)
        return;
    double idle = idle_share_of(s, group);
    add_figure(f, "tasks", (double)wait->n);
    add_figure(f, "seconds", (double)wait->least_ns / NS_PER_S);
    add_figure(f, "idle_share", idle);
    f->weight = idle + (group == s->lead ? 0.2 : 0);
    if (idle < idle_share)
        return;
    struct text words = {0};
    text_addf(&words, "%s%zu asyncio tasks wait for %s, in ", wait->more ? "At least " : "",
              wait->n, kind_of(s, wait)->what);
    add_functions(s, wait->stack, &words);
    text_add(&words, ", for ");
    add_time(&words, wait->least_ns);
    text_addf(&words, " or more. %s runs their event loop and is idle ", group->noun);
    add_percent(&words, idle);
    text_addf(&words, " of its time. What all tasks wait for: wallspy dump -p %d",
              profile_see_process(s->p, wait->process)->pid);
    f->words = words.s;
}
