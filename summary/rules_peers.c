/* Rules that compare threads and processes with each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/group_times.h"
#include "summary/known.h"
#include "summary/process_name.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double differing_share = 0.3; /* by which the odd one's place is its own */
static const double busy_children = 0.25;  /* CPUs that make a parent that waits a launcher */
static const double alike_share = 0.5;     /* that the others are in one place */
static const double never_share = 0.01;    /* of the others' time: they are not in a function */

/* ---- one differs from its like ---- */

/* Is the process of one of B's threads a child of A's? */
static bool is_parent_of(const struct judgement *s, const struct thread_group *a,
                         const struct thread_group *b)
{
    const struct profile_process *p = profile_see_process(s->p, a->threads[0]->thread->process);
    for (size_t i = 0; i < b->n; i++) {
        pid_t pid = profile_see_process(s->p, b->threads[i]->thread->process)->pid;
        for (size_t k = 0; k < p->n_children; k++)
            if (p->children[k].pid == pid)
                return true;
    }
    return false;
}

/* The function in which the process of a main thread with the stack AT does its work: the outermost
 * that is no glue, as the id of a shown frame; 0: none. */
static uint32_t work_in(const struct judgement *s, struct spot at)
{
    size_t n = 0;
    uint32_t work = 0;
    const struct shown_frame *stack = view_stack(s->g->v, at, &n);
    for (size_t i = 0; i < n; i++) {
        if (known_does(&stack[i], DOES_BEGIN_PROCESS)) /* what is outside is its parent's */
            work = 0;
        else if (!work && frame_role(&stack[i], false) > ROLE_LIBC)
            work = stack[i].id;
    }
    return work;
}

/* The same for most of the time of GROUP's first thread. */
static uint32_t work_of(const struct judgement *s, const struct thread_group *group)
{
    const struct profile_thread *t = group->threads[0]->thread;
    struct map sums = {0};
    uint32_t most = 0;
    uint64_t most_ns = 0;
    for (size_t k = 0; k < t->n_runs; k++) {
        uint32_t work = t->runs[k].state == RUN_MISSED ? 0 : work_in(s, t->runs[k].at);
        uint64_t ns = 0;
        if (!work)
            continue;
        (void)map_get(&sums, work, &ns);
        ns += (uint64_t)t->runs[k].weights.wall_ns;
        map_put(&sums, work, ns);
        most = ns > most_ns ? work : most;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    map_release(&sums);
    return most;
}

static bool is_rank(const struct judgement *s, const struct thread_group *g)
{
    return g->threads[0]->thread->main && process_is_rank(s->p, g->threads[0]->thread->process);
}

/* How long GROUP is in the function of NODE, and below it, by whatever way. */
static int64_t function_ns(const struct judgement *s, struct thread_group *group, uint32_t node)
{
    const struct call_tree *t = s->g->tree;
    uint32_t key = call_tree_node(t, node).key;
    bool *within = xcalloc(call_tree_count(t) + (size_t)1, sizeof *within);
    int64_t ns = 0;
    for (uint32_t at = 1; at <= call_tree_count(t); at++) { /* a parent before its children */
        within[at] = within[call_tree_node(t, at).parent] || call_tree_node(t, at).key == key;
        ns += within[at] ? tally_self(&group->tally, at) : 0;
    }
    free(within);
    return ns;
}

/* Are both, beside others, in a function of the user's?  The parts of one program, each in a
 * process of its own, have none in common but those that started them. */
static bool share_function(const struct judgement *s, struct thread_group *a,
                           struct thread_group *b)
{
    const struct call_tree *t = s->g->tree;
    for (uint32_t node = 1; node <= call_tree_count(t); node++) {
        if (call_tree_node(t, node).role != ROLE_OWN ||
            share_of(tally_total(&a->tally, node), a->wall_ns) < never_share)
            continue;
        double here = share_of(function_ns(s, a, node), a->wall_ns);
        double there = share_of(function_ns(s, b, node), b->wall_ns);
        if (there >= never_share && fmin(here, there) < 1 - never_share)
            return true;
    }
    return false;
}

/* Have A and B the same to do?  Of a program's processes one may serve the others.  What is outside
 * in the stack of a copy of its parent is that one's, and says nothing of its own work. */
static bool same_kind(const struct judgement *s, struct thread_group *a, struct thread_group *b)
{
    const struct profile_process *x = profile_see_process(s->p, a->threads[0]->thread->process);
    const struct profile_process *y = profile_see_process(s->p, b->threads[0]->thread->process);
    bool main = a->threads[0]->thread->main;
    return main == b->threads[0]->thread->main && x->comm.ix == y->comm.ix &&
           str_eq(a->threads[0]->group, b->threads[0]->group) &&
           (!main || (is_rank(s, a) && is_rank(s, b)) ||
            (work_of(s, a) == work_of(s, b) &&
             (!process_forked_from(s->p, a->threads[0]->thread->process) ||
              share_function(s, a, b))));
}

/* The only other group of ODD's kind, which has two threads or more; NULL: there is none. */
static struct thread_group *others_of(const struct judgement *s, struct thread_group *odd)
{
    struct thread_group *others = NULL;
    for (size_t i = 0; i < s->g->n; i++) {
        struct thread_group *g = &s->g->items[i];
        if (g == odd || !same_kind(s, g, odd) || is_parent_of(s, odd, g) || is_parent_of(s, g, odd))
            continue;
        if (others)
            return NULL;
        others = g;
    }
    return others && others->n_threads >= 2 ? others : NULL;
}

/* Is OTHERS' biggest place a wait for somebody?  Then the odd one may be whom they wait for. */
static bool waits_for_somebody(const struct judgement *s, const struct thread_group *others)
{
    if (!others->n_paths)
        return false;
    enum wait_class class = class_of_node(s->g->tree, others->paths[0].node);
    return (class == CLASS_ORDINARY || class == CLASS_SPIN) &&
           share_of(others->paths[0].ns, others->wall_ns) >= alike_share;
}

/* How long GROUP is in PATH, another one's; by all ways, if PATH is what many call. */
static int64_t place_ns(const struct judgement *s, struct thread_group *group,
                        const struct call_path *path)
{
    if (path->callers)
        return function_ns(s, group, path->node);
    bool *nodes = call_path_nodes(&group->tally, path->node);
    int64_t ns = call_path_ns(&group->tally, nodes);
    free(nodes);
    return ns;
}

/* The shares of PATH in ODD and in OTHERS.  What the kernel's counts deny is no difference: on busy
 * CPUs samples find a thread at rest that has just run. */
static void shares_of_place(const struct judgement *s, const struct call_path *path,
                            struct thread_group *odd, struct thread_group *others, double *ret_here,
                            double *ret_there)
{
    enum wait_class class = class_of_node(s->g->tree, path->node);
    bool waits = class != CLASS_NONE && class != CLASS_SPIN;
    *ret_here = share_of(path->ns, odd->wall_ns) *
                (waits ? off_cpu_scale(odd) : fmin(active_scale(odd), 1));
    *ret_there = share_of(place_ns(s, others, path), others->wall_ns) *
                 (waits ? 1 : fmax(active_scale(others), 1));
}

/* For what part of its time GROUP waits for work. */
static double idle_share(const struct thread_group *group)
{
    return share_of(group->tally.idle_ns, group->wall_ns);
}

/* The outermost of the user's functions on the way to ODD's place that OTHERS are never in, though
 * they may be in that place by another way; 0: none, or they hardly do anything. */
static uint32_t function_of_its_own(const struct judgement *s, struct thread_group *odd,
                                    struct thread_group *others)
{
    uint32_t found = 0;
    if (idle_share(others) >= alike_share)
        return 0;
    for (uint32_t at = odd->paths[0].node; at; at = call_tree_node(s->g->tree, at).parent)
        if (call_tree_node(s->g->tree, at).role == ROLE_OWN &&
            share_of(function_ns(s, others, at), others->wall_ns) < never_share)
            found = at;
    return found;
}

/* "in evaluate a.py:20 > compute a.py:3", or as add_place(). */
static void add_odd_place(const struct judgement *s, struct thread_group *odd, uint32_t function,
                          struct text *words)
{
    const struct call_path *path = &odd->paths[0];
    const struct call_path_keys keys = call_path_keys(s->g->tree, path->node);
    uint32_t key = function ? call_tree_node(s->g->tree, function).key : 0;
    if (!key || key == keys.caller || key == keys.inner) {
        add_place(words, path);
        return;
    }
    char *name = call_path_function(&odd->tally, function);
    text_add(words, "in ");
    add_name(words, name);
    text_add(words, " > ");
    add_way(words, path);
    free(name);
}

/* Are ODD and OTHERS in one function most of the time, at other lines of it? */
static bool are_in_one_function(const struct judgement *s, const struct thread_group *odd,
                                const struct thread_group *others)
{
    if (!others->n_paths)
        return false;
    const struct call_path_keys a = call_path_keys(s->g->tree, odd->paths[0].node);
    const struct call_path_keys b = call_path_keys(s->g->tree, others->paths[0].node);
    return (a.caller || a.inner) && a.caller == b.caller && a.inner == b.inner;
}

struct odd_facts {
    struct thread_group *odd, *others;
    uint32_t function;  /* function_of_its_own() */
    double here, there; /* shares of the place in both */
    bool waits;         /* the others wait for somebody */
};

/* Makes ODD against OTHERS the BEST, if they differ by more. */
static void judge_odd(const struct judgement *s, struct thread_group *odd,
                      struct thread_group *others, struct odd_facts *best)
{
    struct odd_facts now = {odd, others, .function = function_of_its_own(s, odd, others)};
    if (now.function) {
        now.here = share_of(function_ns(s, odd, now.function), odd->wall_ns);
        now.there = share_of(function_ns(s, others, now.function), others->wall_ns);
    } else {
        shares_of_place(s, &odd->paths[0], odd, others, &now.here, &now.there);
    }
    if (now.here - now.there < differing_share || (best->odd && now.here <= best->here))
        return;
    if (!now.function && !odd->threads[0]->thread->main && are_in_one_function(s, odd, others))
        return;
    now.waits = idle_share(others) < alike_share && waits_for_somebody(s, others);
    *best = now;
}

/* Do OTHERS wait for ODD, as far as can be told?  Of threads that take turns to poll the others
 * wait for their turn. */
static bool is_waited_for(const struct judgement *s, const struct thread_group *odd,
                          const struct thread_group *others)
{
    return waits_for_somebody(s, others) && !may_be_for_work(s->g->tree, odd->paths[0].node, 1);
}

/* Threads of one process that take turns differ by chance: of them only one that others wait for
 * counts. */
static void find_odd(const struct judgement *s, bool ranks, struct odd_facts *best)
{
    for (size_t i = 0; i < s->g->n; i++) {
        struct thread_group *odd = &s->g->items[i];
        if (odd->idle || odd->n_threads != 1 || !odd->n_paths || !is_judged(odd) ||
            is_rank(s, odd) != ranks)
            continue;
        struct thread_group *others = others_of(s, odd);
        if (!others || others->idle || !is_judged(others))
            continue;
        if (odd->threads[0]->thread->main || is_waited_for(s, odd, others))
            judge_odd(s, odd, others, best);
    }
}

/* Ranks do the work together; what else differs among their helpers says less. */
void rule_differs(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct odd_facts odd = {.odd = NULL};
    (void)group;
    find_odd(s, true, &odd);
    if (!odd.odd)
        find_odd(s, false, &odd);
    if (!odd.odd)
        return;
    f->share = odd.here;
    f->about = odd.odd->noun;
    f->like = odd.others->noun;
    f->also = odd.waits ? odd.others->noun : NULL;
    add_figure(f, "share", odd.here);
    add_figure(f, "others_share", odd.there);
    finding_applies(f, &odd, sizeof odd);
}

void tell_differs(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct odd_facts *facts = f->facts;
    const struct thread_group *others = facts->others;
    text_addf(words, "%s differs: ", facts->odd->noun);
    add_percent(words, facts->here);
    text_add(words, " of its time ");
    add_odd_place(s, facts->odd, facts->function, words);
    text_add(words, ", against ");
    add_percent(words, facts->there);
    text_addf(words, " in %s.", others->noun);
    if (facts->waits) {
        text_add(words, " Meanwhile they are in ");
        add_way(words, &others->paths[0]);
        text_add(words, ", ");
        add_percent(words, share_of(others->paths[0].ns, others->wall_ns));
        text_add(words, ".");
    } else if (idle_share(others) >= alike_share) {
        text_add(words, " They wait for work for ");
        add_percent(words, idle_share(others));
        text_add(words, " of their time.");
    }
}

/* ---- children ---- */

/* Did all recorded threads of process ID do nothing but wait? */
static bool only_waits(const struct judgement *s, process_id id)
{
    int64_t wall_ns = 0;
    int64_t ran_ns = 0;
    int64_t main_ns = 0;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *t = &s->g->summaries.threads[i];
        if (t->thread->process.ix != id.ix)
            continue;
        wall_ns = t->wall_ns > wall_ns ? t->wall_ns : wall_ns;
        ran_ns += t->cpu_ns + t->runqueue_ns;
        main_ns = t->thread->main ? t->wall_ns : main_ns;
    }
    return main_ns > NS_PER_S / 2 && share_of(ran_ns, wall_ns) < 0.05;
}

/* Children of P that ran and are not recorded. */
static size_t count_children(const struct profile_process *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_children; i++)
        n += !p->children[i].recorded && p->children[i].cpu_ns > 0;
    return n;
}

/* The group of the main thread of process ID; NULL: it has none. */
static const struct thread_group *group_of_main(const struct judgement *s, process_id id)
{
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        if (t->main && t->process.ix == id.ix)
            return groups_of(s->g, t);
    }
    return NULL;
}

/* Is MAIN mostly in a call that waits for a child? */
static bool waits_for_child(const struct judgement *s, const struct thread_group *main)
{
    if (!main || !main->n_paths)
        return false;
    const char *call = call_tree_node(s->g->tree, main->paths[0].node).frame->call;
    return call && str_starts(call, "wait");
}

static bool is_child(const struct profile_process *p, pid_t pid)
{
    for (size_t i = 0; i < p->n_children; i++)
        if (p->children[i].pid == pid)
            return true;
    return false;
}

/* Does RUN, of P, wait for another machine, or for a process that is no child of P's? */
static bool is_for_another(const struct judgement *s, const struct profile_process *p,
                           const struct run *run)
{
    const struct wait *wait = profile_see_wait(s->p, run->at.wait);
    if (run->state != RUN_BLOCKED || !wait)
        return false;
    const struct blocker *b = &wait->side.blocker;
    return holders_is_remote(s->holders, run->at) ||
           (blocker_is_process(b) && b->pid != p->pid && !is_child(p, b->pid));
}

/* Does MAIN, of P, mostly? */
static bool waits_for_another(const struct judgement *s, const struct profile_process *p,
                              const struct thread_group *main)
{
    int64_t ns = 0;
    const struct profile_thread *t = main->threads[0]->thread;
    for (size_t i = 0; i < t->n_runs; i++)
        ns += is_for_another(s, p, &t->runs[i]) ? t->runs[i].weights.wall_ns : 0;
    return 2 * ns > main->wall_ns;
}

/* The CPUs that children of P used which are not recorded.  Those that a list of processes did not
 * find had ended, and the kernel has added their whole lives. */
static double cpus_of_children(const struct judgement *s, const struct profile_process *p)
{
    bool recorded = false;
    for (size_t i = 0; i < p->n_children; i++)
        recorded |= p->children[i].recorded;
    double seen = rule_unrecorded_cpus(s, p);
    double ended = share_of(p->children_cpu_ns, s->wall_ns);
    return recorded || ended > profile_see_host(s->p)->cpus_online ? seen : fmax(seen, ended);
}

struct parent_facts {
    const struct profile_process *process;
    double cpus; /* of its children */
};

static void judge_parent(const struct judgement *s, process_id id, struct finding *f)
{
    const struct profile_process *p = profile_see_process(s->p, id);
    const struct parent_facts facts = {p, cpus_of_children(s, p)};
    const struct thread_group *main = group_of_main(s, id);
    if (!only_waits(s, id) || facts.cpus < (waits_for_child(s, main) ? 0.02 : busy_children) ||
        (main && waits_for_another(s, p, main)))
        return;
    f->share = 1;
    f->about = main ? main->noun : NULL;
    add_figure(f, "children_cpus", facts.cpus);
    add_figure(f, "children", (double)count_children(p));
    finding_applies(f, &facts, sizeof facts);
}

void rule_only_children(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    (void)group;
    for (uint32_t i = 1; i <= profile_process_count(s->p) && !f->applies; i++)
        judge_parent(s, (process_id){i}, f);
}

void tell_only_children(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct parent_facts *facts = f->facts;
    const char *comm = profile_text(s->p, facts->process->comm);
    pid_t pid = facts->process->pid;
    text_addf(words, "%d (", pid);
    text_add_tame(words, comm, strlen(comm));
    text_add(words, ") only waits for its children, which used ");
    text_addf(words, "%.1f CPU%s and are not sampled", facts->cpus, facts->cpus < 1.05 ? "" : "s");
    if (rule_goes_on(s->p, pid))
        text_addf(words, ". To sample them: wallspy -s -p %d", pid);
    else
        text_add(words, ": record it again with -s.");
}
