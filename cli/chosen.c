#include "cli/chosen.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sampler/thread_filter.h"
#include "summary/process_name.h"
#include "summary/ranking.h"

/* ---- processes ---- */

/* Is WORD its pid, or a glob of one of its names? */
static bool is_process(const char *word, const struct profile *p, process_id id)
{
    const struct profile_process *process = profile_see_process(p, id);
    int64_t pid = 0;
    if (parse_whole_i64(word, 1, INT32_MAX, &pid) == 0)
        return pid == process->pid;
    char *names[] = {name_of_process(p, id), title_of_process(p, id)};
    bool is = fnmatch(word, profile_text(p, process->comm), 0) == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        is = is || (*names[i] && fnmatch(word, names[i], 0) == 0);
        free(names[i]);
    }
    return is;
}

bool *chosen_processes(const struct options *o, const struct profile *p)
{
    if (!o->processes.n)
        return NULL;
    bool *ret = xcalloc(profile_process_count(p) + (size_t)1, sizeof *ret);
    for (uint32_t i = 1; i <= profile_process_count(p); i++)
        for (size_t k = 0; k < o->processes.n && !ret[i]; k++)
            ret[i] = is_process(o->processes.words[k], p, (process_id){i});
    return ret;
}

/* ---- threads ---- */

bool chosen_thread(const struct options *o, const struct profile *p, const struct thread_summary *t)
{
    const struct thread_filter filter = {o->threads.words, o->threads.n};
    pid_t pid = profile_see_process(p, t->thread->process)->pid;
    const struct thread_facts facts = {.pid = pid,
                                       .tid = t->thread->tid,
                                       .comm = profile_text(p, t->thread->name),
                                       .python = t->thread->python,
                                       .python_name = t->name};
    return thread_filter_wants(&filter, &facts);
}

void chosen_keep(const struct options *o, const struct profile *p, struct thread_summaries *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct thread_summary t = s->threads[i];
        if (chosen_thread(o, p, &t)) {
            s->threads[i] = s->threads[n];
            s->threads[n++] = t;
        }
    }
    for (size_t i = n; i < s->n; i++)
        thread_summary_release(&s->threads[i]);
    s->n = n;
}

bool chosen_first(const struct options *o, const struct profile *p, pid_t *ret_tid)
{
    struct thread_summaries threads;
    struct view *view = view_new(p, &o->view);
    thread_summaries_init(&threads, p, view);
    chosen_keep(o, p, &threads);
    bool any = threads.n > 0;
    if (any)
        *ret_tid = threads.threads[0].thread->tid;
    thread_summaries_release(&threads);
    view_free(view);
    return any;
}

/* ---- the answer ---- */

static bool has_chosen(const struct options *o, const struct profile *p,
                       const struct thread_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (chosen_thread(o, p, group->threads[i]))
            return true;
    return false;
}

/* A noun may be that of one thread, as a group of its own. */
static bool has_noun(const struct groups *g, const char *noun)
{
    for (size_t i = 0; noun && i < g->n; i++)
        if (str_eq(g->items[i].noun, noun))
            return true;
    return false;
}

/* What is about everybody is about them, too. */
static bool is_about(const struct groups *g, const struct finding *f)
{
    return !f->about || has_noun(g, f->about) || has_noun(g, f->blames) || has_noun(g, f->also);
}

/* Where nothing that would be printed is about them, what was found about them all the same. */
static const struct finding *best_about(const struct groups *g, const struct findings *f)
{
    const struct finding *best = NULL;
    for (size_t i = 0; i < f->n; i++) {
        const struct finding *item = &f->items[i];
        if (item->words && has_noun(g, item->about) && (!best || ranking_is_before(item, best)))
            best = item;
    }
    return best;
}

void chosen_answer_init(struct chosen_answer *ret, const struct options *o, const struct groups *g,
                        const struct findings *f)
{
    *ret = (struct chosen_answer){.groups = *g, .findings = *f};
    struct groups *groups = &ret->groups;
    struct findings *findings = &ret->findings;
    groups->items = xcalloc(g->n, sizeof *groups->items);
    groups->n = 0;
    for (size_t i = 0; i < g->n; i++)
        if (has_chosen(o, g->p, &g->items[i]))
            groups->items[groups->n++] = g->items[i];
    if (!o->threads.n)
        return;
    findings->n_printed = 0;
    for (size_t i = 0; i < f->n_printed; i++)
        if (is_about(groups, f->printed[i]))
            findings->printed[findings->n_printed++] = f->printed[i];
    const struct finding *best = findings->n_printed ? NULL : best_about(groups, f);
    if (best)
        findings->printed[findings->n_printed++] = best;
}

void chosen_answer_release(struct chosen_answer *a)
{
    free(a->groups.items);
    *a = (struct chosen_answer){0};
}
