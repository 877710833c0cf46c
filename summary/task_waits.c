#include "summary/task_waits.h"

#include <string.h>

#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/idle.h"
#include "summary/known.h"
#include "summary/path_words.h"
#include "summary/rule_words.h"

const struct shown_frame *task_stack(const struct judgement *s,
                                     const struct profile_task_wait *wait, size_t *ret_n)
{
    return view_stack(s->g->v, spot_of_stack(wait->stack), ret_n);
}

bool task_wait_is_for_client(const struct judgement *s, const struct profile_task_wait *wait)
{
    size_t n = 0;
    bool served = false;
    const struct shown_frame *stack = task_stack(s, wait, &n);
    while (n && frame_is_asyncio(&stack[n - 1]))
        n--;
    if (!n || !known_does(&stack[n - 1], DOES_SERVE))
        return false;
    for (size_t i = 0; i < n; i++)
        served |= known_does(&stack[i], DOES_BEGIN_REQUEST);
    for (; served && n && frame_role(&stack[n - 1], true) != ROLE_OWN; n--)
        served = !stack[n - 1].file || !strstr(stack[n - 1].file, "/client");
    return served;
}

bool task_wait_is_of(const struct profile_task_wait *wait, const struct thread_summary *loop)
{
    return wait->process.ix == loop->thread->process.ix;
}

/* "handle ingest.py:40"; not PLACED: "Queue.put" */
static void add_function(const struct shown_frame *f, bool placed, struct text *words)
{
    enum { FILE_COLUMNS = 40 };
    struct text name = {0};
    const char *base = placed && f->file ? path_base(f->file) : "";
    frame_add_name(&name, f);
    add_name(words, text_str(&name));
    if (*base) {
        text_add(words, " ");
        text_add_tame_cut(words, base, FILE_COLUMNS);
        text_addf(words, ":%u", f->current_line ? f->current_line : f->line);
    }
    text_release(&name);
}

/* Asyncio's inner functions say no more than those that call them. */
static bool is_inner(const struct shown_frame *f)
{
    const char *dot = strrchr(f->name, '.');
    return (dot ? dot[1] : f->name[0]) == '_';
}

/* How many of the N frames there are up to the last one of the user's; without any, up to those of
 * asyncio's. */
static size_t find_own(const struct shown_frame *frames, size_t n)
{
    size_t own = n;
    while (own && frame_role(&frames[own - 1], true) != ROLE_OWN)
        own--;
    for (size_t i = n; !own && i > 0; i--)
        own = frame_is_asyncio(&frames[i - 1]) ? 0 : i;
    return own;
}

void task_add_stack(const struct shown_frame *frames, size_t n, size_t callers, struct text *words)
{
    size_t own = find_own(frames, n);
    size_t last = n ? n - 1 : 0;
    size_t first = own > callers ? own - callers - 1 : 0;
    if (first && callers > 1) { /* what the task is */
        add_function(&frames[0], true, words);
        text_add(words, first > 1 ? " > … > " : " > ");
    }
    for (size_t i = first; i < own; i++) {
        add_function(&frames[i], true, words);
        text_add(words, i + 1 < n ? " > " : "");
    }
    while (last > own && is_inner(&frames[last]))
        last--;
    if (last > own && !frame_is_asyncio(&frames[own])) { /* what the user calls */
        add_function(&frames[own], false, words);
        text_add(words, " > ");
    }
    if (own < n)
        add_function(&frames[last], false, words);
}

void task_add_functions(const struct judgement *s, const struct profile_task_wait *wait,
                        size_t callers, struct text *words)
{
    size_t n = 0;
    const struct shown_frame *frames = task_stack(s, wait, &n);
    task_add_stack(frames, n, callers, words);
}

/* How long T polled in an event loop of asyncio's. */
static int64_t loop_idle_ns(const struct judgement *s, const struct profile_thread *t)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_runs && !t->n_folded; i++) {
        const struct run *run = &t->runs[i];
        size_t n = 0;
        uint32_t node = run->state == RUN_BLOCKED ? call_tree_of(s->g->tree, run->at) : 0;
        if (!call_tree_node(s->g->tree, node).idle) /* no loop's poll */
            continue;
        const struct shown_frame *stack = view_stack(s->g->v, run->at, &n);
        const char *loop = idle_event_loop(stack, n);
        if (loop && (str_eq(loop, "asyncio") || str_eq(loop, "uvloop")))
            ns += run->weights.wall_ns;
    }
    return ns;
}

const double task_idle_share = 0.5;

double task_loop_idle_share(const struct judgement *s, const struct thread_summary *loop)
{
    size_t n = 0;
    (void)profile_task_waits(s->p, &n);
    return n ? share_of(loop_idle_ns(s, loop->thread), loop->wall_ns) : 0;
}

void task_add_loop(const struct judgement *s, const struct thread_group *group, struct text *words)
{
    text_addf(words, " %s runs their event loop and is idle ", group->noun);
    add_percent(words, task_loop_idle_share(s, group->threads[0]));
    text_add(words, " of its time.");
    pid_t pid = profile_see_process(s->p, group->threads[0]->thread->process)->pid;
    if (rule_goes_on(s->p, pid))
        text_addf(words, " wallspy dump -p %d shows what all tasks wait for.", pid);
}
