#include "exporter/profile_plan.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "summary/process_name.h"

/* The limit of the page, by trial in Chromium with speedscope 1.25: 1000 profiles of 200 samples
 * take 7 s. */
enum { MAX_PROFILES = 250 };

static void add_profile(struct profile_plan *plan, struct file_profile profile)
{
    plan->profiles =
        array_reserve(plan->profiles, &plan->capacity, plan->n + 1, sizeof *plan->profiles);
    plan->profiles[plan->n++] = profile;
}

static void add_line(struct profile_plan *plan, size_t i)
{
    add_profile(plan,
                (struct file_profile){.name = xasprintf("%s | wall", plan->s->threads[i].label),
                                      .first = i,
                                      .last = i + 1,
                                      .ordered = !plan->s->threads[i].thread->n_folded});
}

static void add_all(struct profile_plan *plan, const char *name, size_t last, enum weight weight)
{
    add_profile(plan, (struct file_profile){
                          .name = xstrdup(name), .last = last, .weight = weight, .rooted = true});
}

size_t profile_plan_group_end(const struct thread_summaries *s, size_t first)
{
    size_t end = first + 1;
    while (end < s->n && str_eq(s->threads[end].group, s->threads[first].group))
        end++;
    return end;
}

static size_t count_threads(const struct thread_summaries *s, size_t first, size_t last)
{
    size_t n = 0;
    for (size_t i = first; i < last; i++)
        n += s->threads[i].n_threads;
    return n;
}

char *profile_plan_idle_name(const struct thread_summaries *s, size_t first, size_t last)
{
    const struct thread_summary *t = &s->threads[first];
    size_t n = count_threads(s, first, last);
    if (!str_eq(t->group, s->threads[last - 1].group))
        return xasprintf("%zu idle: others", n);
    return xasprintf("%zu idle: %s", n, n == 1 ? t->label : t->group);
}

static void add_idle(struct profile_plan *plan)
{
    for (size_t first = plan->n_active; first < plan->s->n;) {
        size_t last =
            plan->n < MAX_PROFILES - 1 ? profile_plan_group_end(plan->s, first) : plan->s->n;
        add_profile(plan,
                    (struct file_profile){.name = profile_plan_idle_name(plan->s, first, last),
                                          .first = first,
                                          .last = last});
        first = last;
    }
}

/* One for each process in the order of the threads.  Returns how many. */
static size_t add_processes(struct profile_plan *plan)
{
    enum { MAX_PROCESSES = 100 };
    bool *seen = xcalloc(profile_process_count(plan->p) + 1, sizeof *seen);
    size_t n = 0;
    for (size_t i = 0; i < plan->n_active && n < MAX_PROCESSES; i++) {
        process_id process = plan->s->threads[i].thread->process;
        if (seen[process.ix])
            continue;
        seen[process.ix] = true;
        n++;
        char *label = label_of_process(plan->p, process);
        add_profile(plan, (struct file_profile){.name = xasprintf("ALL %s | wall", label),
                                                .last = plan->n_active,
                                                .process = process,
                                                .rooted = true});
        free(label);
    }
    free(seen);
    return n;
}

static const char *const weight_names[WEIGHT_KINDS] = {
    [WEIGHT_WALL] = "wall",         [WEIGHT_CPU] = "run", [WEIGHT_WAIT_CPU] = "wait-cpu",
    [WEIGHT_OFF_CPU] = "blocked",   [WEIGHT_OFF] = "off", [WEIGHT_FAULTS] = "faults",
    [WEIGHT_SWITCHES] = "switches",
};

/* The active threads from FIRST on, which have no profile of their own. */
static void add_less_active(struct profile_plan *plan, size_t first, enum weight weight)
{
    size_t n = count_threads(plan->s, first, plan->n_active);
    if (!n)
        return;
    add_profile(plan, (struct file_profile){
                          .name = xasprintf("%zu less active | %s", n, weight_names[weight]),
                          .first = first,
                          .last = plan->n_active,
                          .weight = weight,
                          .rooted = true});
}

/* Of all threads together, as far as that is not there, and of each of the first MOST. */
static void add_weight(struct profile_plan *plan, enum weight weight, size_t most)
{
    size_t i = 0;
    if (weight != WEIGHT_CPU && weight != WEIGHT_OFF_CPU) {
        char *name = xasprintf("ALL | %s", weight_names[weight]);
        add_all(plan, name, plan->s->n, weight);
        free(name);
    }
    for (; i < plan->n_active && i < most; i++)
        add_profile(plan,
                    (struct file_profile){.name = xasprintf("%s | %s", plan->s->threads[i].label,
                                                            weight_names[weight]),
                                          .first = i,
                                          .last = i + 1,
                                          .weight = weight});
    add_less_active(plan, i, weight);
}

/* WEIGHTS: 1 << enum weight.  They share the room that is left. */
static void add_weights(struct profile_plan *plan, unsigned weights)
{
    enum { BESIDE_THREADS = 2 }; /* a weight's profiles of all, and of the less active */
    size_t kinds = (size_t)__builtin_popcount(weights >> (WEIGHT_WALL + 1));
    size_t room = plan->n < MAX_PROFILES && kinds ? (MAX_PROFILES - plan->n) / kinds : 0;
    size_t most = room > BESIDE_THREADS ? room - BESIDE_THREADS : 0;
    for (int kind = WEIGHT_WALL + 1; kind < WEIGHT_KINDS; kind++)
        if (weights >> kind & 1)
            add_weight(plan, (enum weight)kind, most);
}

void profile_plan_init(struct profile_plan *plan, const struct profile *p,
                       const struct thread_summaries *s, unsigned weights)
{
    enum { MAX_LINES = MAX_PROFILES - 50 }; /* leaves room for the groups of idle ones */
    *plan = (struct profile_plan){.p = p, .s = s, .several = s->n_processes > 1};
    while (plan->n_active < plan->s->n && !plan->s->threads[plan->n_active].idle)
        plan->n_active++;
    size_t i = 0;
    if (plan->n_active && !plan->several)
        add_line(plan, i++);
    add_all(plan, "ALL active | wall", plan->n_active, WEIGHT_WALL);
    add_all(plan, "ALL | cpu", plan->s->n, WEIGHT_CPU);
    add_all(plan, "ALL | off-cpu", plan->s->n, WEIGHT_OFF_CPU);
    size_t most = MAX_LINES - (plan->several ? add_processes(plan) : 0);
    for (; i < plan->n_active && i < most; i++)
        add_line(plan, i);
    add_less_active(plan, i, WEIGHT_WALL);
    add_idle(plan);
    add_weights(plan, weights);
}

void profile_plan_release(struct profile_plan *plan)
{
    while (plan->n)
        free(plan->profiles[--plan->n].name);
    free(plan->profiles);
}
