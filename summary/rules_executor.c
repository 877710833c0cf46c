/* The rule about tasks of asyncio's that wait for a free thread of an executor. */
#include "summary/executor.h"
#include "summary/heaviest_paths.h"
#include "summary/rule_words.h"
#include "summary/task_waits.h"

enum { MOST_PLACES = 3 };

/* "40 in export a.py:19, 1 in look_up a.py:24 > getaddrinfo" */
static void add_places(const struct judgement *s, const struct thread_summary *loop,
                       struct text *words)
{
    size_t n = 0;
    size_t told = 0;
    const struct profile_task_wait *all = profile_task_waits(s->p, &n);
    for (size_t i = 0; i < n && told < MOST_PLACES; i++) {
        if (!task_wait_is_of(&all[i], loop) || !all[i].for_thread)
            continue;
        text_addf(words, "%s%zu in ", told++ ? ", " : "", all[i].n);
        task_add_functions(s, &all[i], 0, words);
    }
}

/* " 6 asyncio threads are 100% in export_table a.py:11 > clock_nanosleep."  A group may have those
 * of alike processes, too. */
static void add_threads(const struct executor *e, struct text *words)
{
    struct thread_group *group = e->group;
    struct call_path path;
    if (!call_paths_heaviest(&group->tally, &path, 1))
        return;
    bool others = group->n_threads > e->threads;
    text_addf(words, " %s %s ", others ? "They" : group->noun,
              others || group->plural ? "are" : "is");
    add_percent(words, share_of(path.ns, group->wall_ns));
    text_add(words, " in ");
    add_way(words, &path);
    text_add(words, ".");
    call_path_release(&path);
}

void rule_executor(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    double idle = task_loop_idle_share(s, group->threads[0]);
    if (idle <= 0) /* it runs no loop */
        return;
    struct executor e = executor_of(s, group->threads[0]);
    add_figure(f, "tasks", (double)e.tasks);
    add_figure(f, "threads", (double)e.threads);
    add_figure(f, "idle_share", idle);
    f->share = idle;
    if (!executor_lacks_threads(&e) || idle < task_idle_share)
        return;
    f->also = e.group->noun;
    finding_applies(f, &e, sizeof e);
}

void tell_executor(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct executor *e = f->facts;
    const size_t left = e->tasks - e->threads;
    text_addf(words,
              "%s%zu asyncio tasks waited for an executor thread's result when the recording "
              "ended: ",
              e->more ? "At least " : "", e->tasks);
    add_places(s, f->group->threads[0], words);
    text_addf(words, ". There %s %zu executor thread%s", e->threads == 1 ? "is" : "are", e->threads,
              e->threads == 1 ? "" : "s");
    if (e->one)
        text_addf(words, ": %zu task%s waited for a free one.", left, left == 1 ? "" : "s");
    else /* which executor's thread each waits for is unknown */
        text_add(words, ": none was free.");
    add_threads(e, words);
    task_add_loop(s, f->group, words);
    text_add(words, " A larger executor (max_workers=), or one of its own for what takes long, "
                    "lets the others go on.");
}
