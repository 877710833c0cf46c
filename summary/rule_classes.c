#include "summary/rule_classes.h"

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/heaviest_paths.h"
#include "summary/known.h"
#include "summary/meanwhile.h"
#include "summary/spinning.h"

int64_t spinning_cpu_ns(const struct judgement *s, const struct thread_group *group)
{
    int64_t ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            if (class_of_run(s->g->tree, &t->runs[k]) == CLASS_SPIN)
                ns += run_weight(&t->runs[k], WEIGHT_CPU);
    }
    return ns;
}

int64_t rule_spins_ns(const struct judgement *s, const struct thread_group *group)
{
    int64_t ns = group->class_ns[CLASS_SPIN];
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++) {
            const struct run *run = &t->runs[k];
            size_t n = 0;
            const struct shown_frame *stack =
                run->state == RUN_RUNNABLE ? view_stack(s->g->v, run->at, &n) : NULL;
            /* The last frame is the wait for a CPU. */
            if (n > 1 && spinning_of(stack, n - 1) != SPIN_NONE)
                ns += run->weights.wall_ns;
        }
    }
    return ns;
}

struct intervals intervals_of(const struct judgement *s, const struct profile_thread *thread,
                              unsigned classes)
{
    struct intervals ret = {.n = 0};
    for (size_t k = 0; !thread->n_folded && k < thread->n_runs; k++) /* theirs lie end to end */
        if (classes >> class_of_run(s->g->tree, &thread->runs[k]) & 1)
            intervals_add_run(&ret, &thread->runs[k]);
    intervals_keep_exact(&ret, s->p);
    return ret;
}

static bool is_in_class(const struct call_tree *t, uint32_t node, const void *class)
{
    return class_of_node(t, node) == *(const enum wait_class *)class;
}

bool heaviest_in_class(struct tally *t, enum wait_class class, struct call_path *ret)
{
    return call_path_of_nodes(t, is_in_class, &class, ret);
}

bool rule_is_way_to_wait(const struct call_tree *t, uint32_t node)
{
    while (node && call_tree_node(t, node).role == ROLE_LIBC &&
           !futex_is_wait(call_tree_node(t, node).frame))
        node = call_tree_node(t, node).parent;
    return node && futex_is_wait(call_tree_node(t, node).frame);
}

int64_t rule_ways_to_waits_ns(const struct judgement *s, struct thread_group *group)
{
    int64_t ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(s->g->tree); node++)
        if (tally_self(&group->tally, node) > 0 && rule_is_way_to_wait(s->g->tree, node))
            ns += tally_self(&group->tally, node);
    return ns;
}

/* Is NODE a wait of CLASSES, 1 << enum wait_class, or on the way to one? */
static bool is_of_wait(const struct call_tree *t, uint32_t node, unsigned classes)
{
    enum wait_class class = class_of_node(t, node);
    return classes >> class & 1 ||
           (class == CLASS_NONE && classes >> CLASS_ORDINARY & 1 && rule_is_way_to_wait(t, node));
}

int64_t rule_waits_in_function(const struct judgement *s, struct thread_group *group,
                               unsigned classes, const struct call_path *path)
{
    const struct call_tree *t = s->g->tree;
    uint32_t key = call_path_own_key(t, path->node);
    int64_t ns = 0;
    for (uint32_t node = 1; key && node <= call_tree_count(t); node++)
        if (tally_self(&group->tally, node) > 0 && is_of_wait(t, node, classes) &&
            call_path_own_key(t, node) == key)
            ns += tally_self(&group->tally, node);
    return max_i64(ns, path->ns);
}

bool rule_has_frame(const struct judgement *s, frame_test *test)
{
    for (uint32_t id = 1; id <= view_frame_count(s->g->v); id++)
        if (test(view_frame(s->g->v, id)))
            return true;
    return false;
}

bool rule_stack_has(const struct judgement *s, struct spot at, frame_test *test)
{
    size_t n = 0;
    const struct shown_frame *frames = view_stack(s->g->v, at, &n);
    for (size_t i = 0; i < n; i++)
        if (test(&frames[i]))
            return true;
    return false;
}

bool rule_thread_has(const struct judgement *s, const struct profile_thread *t, frame_test *test)
{
    size_t i = 0;
    while (i < t->n_runs && !rule_stack_has(s, t->runs[i].at, test))
        i++;
    return i < t->n_runs;
}

bool rule_is_import(const struct shown_frame *f)
{
    return known_does(f, DOES_IMPORT);
}

bool rule_is_for_results(const struct shown_frame *f)
{
    return known_row_of(f, KNOWN_RESULTS) && !f->pool_loop;
}

struct stack_times rule_times_of(const struct judgement *s, const struct profile_thread *thread,
                                 unsigned counted, frame_test *test)
{
    struct stack_times ret = {0};
    for (size_t k = 0; k < thread->n_runs; k++) {
        const struct run *run = &thread->runs[k];
        if (!(counted >> run_counted(run) & 1) || !rule_stack_has(s, run->at, test))
            continue;
        ret.wall_ns += run->weights.wall_ns;
        ret.counted_ns += run->weights.counted_ns;
        intervals_add_run(&ret.when, run);
    }
    return ret;
}

bool rule_path_in(const struct judgement *s, const struct profile_thread *thread,
                  const struct stack_times *times, struct call_path *ret)
{
    struct tally t;
    if (!times->when.n)
        return false;
    tally_init(&t, s->g->tree, TALLY_ALL);
    tally_add(&t, thread, times->when.items, times->when.n);
    bool found = call_paths_heaviest(&t, ret, 1) == 1;
    tally_release(&t);
    return found;
}

bool rule_path_of(const struct judgement *s, const struct thread_group *group, enum weight weight,
                  unsigned states, struct call_path *ret, double *ret_share)
{
    struct tally t;
    tally_init(&t, s->g->tree, states);
    t.weight = weight;
    for (size_t i = 0; i < group->n; i++)
        tally_add_thread(&t, group->threads[i]->thread);
    bool found = call_paths_heaviest(&t, ret, 1) == 1;
    *ret_share = found ? share_of(ret->ns, t.all_ns) : 0;
    tally_release(&t);
    return found;
}

/* ---- the kernel's counts ---- */

int64_t rule_others_active_ns(const struct judgement *s, const struct thread_group *group)
{
    int64_t ns = 0;
    for (size_t i = 0; i < s->g->n; i++)
        ns += &s->g->items[i] == group ? 0 : s->g->items[i].active_ns;
    return ns;
}

static struct meanwhile meanwhile_of_one(const struct judgement *s,
                                         const struct thread_group *group,
                                         const struct thread_summary *thread, unsigned classes)
{
    struct intervals waits = intervals_of(s, thread->thread, classes);
    struct meanwhile m = meanwhile_of(s->g, group, BUSY_WORK, &waits);
    intervals_release(&waits);
    return m;
}

struct meanwhile rule_meanwhile_of(const struct judgement *s, const struct thread_group *group,
                                   unsigned classes)
{
    struct meanwhile first = meanwhile_of_one(s, group, group->threads[0], classes);
    struct meanwhile last = first;
    if (group->n > 1)
        last = meanwhile_of_one(s, group, group->threads[group->n - 1], classes);
    first.busy = first.busy == last.busy ? first.busy : NULL;
    return first;
}

struct profile_usage rule_usage_of(const struct thread_group *group)
{
    struct profile_usage sum = {0};
    for (size_t i = 0; i < group->n; i++)
        profile_usage_add(&sum, &group->threads[i]->thread->usage);
    return sum;
}

double rule_system_share(const struct profile_usage *usage)
{
    return share_of(usage->system_ns, usage->system_ns + usage->user_ns);
}

static double per_second(uint64_t n, int64_t ns)
{
    return ns > 0 ? (double)n * NS_PER_S / (double)ns : 0;
}

double rule_per_second(uint64_t n, const struct judgement *s)
{
    return per_second(n, s->wall_ns);
}

double rule_unrecorded_cpus(const struct judgement *s, const struct profile_process *p)
{
    int64_t cpu_ns = 0;
    for (size_t i = 0; i < p->n_children; i++)
        cpu_ns += p->children[i].recorded ? 0 : p->children[i].cpu_ns;
    return share_of(cpu_ns, s->wall_ns);
}

int64_t rule_life_ns(const struct thread_group *group)
{
    int64_t start_ns = INT64_MAX;
    int64_t end_ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        start_ns = min_i64(start_ns, group->threads[i]->thread->start_ns);
        end_ns = max_i64(end_ns, group->threads[i]->thread->end_ns);
    }
    return max_i64(end_ns - start_ns, 0);
}

double rule_per_second_of_life(uint64_t n, const struct thread_group *group)
{
    return per_second(n, rule_life_ns(group));
}
