#include "summary/launchers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/share.h"
#include "base/text.h"
#include "summary/cause.h"
#include "summary/commands.h"
#include "summary/holders.h"
#include "summary/idle.h"

enum { LAUNCHER_PART = 20 }; /* a launcher ran, or could, for less than this part of the time */
static const double least_share = 0.1; /* of a thread's time: so much is no chance */

static bool has_recorded_child(const struct profile_process *process)
{
    size_t i = 0;
    while (i < process->n_children && !process->children[i].recorded)
        i++;
    return i < process->n_children;
}

/* Does G, of T's tree, sleep for most of its time in the user's code, as who looks again and again
 * whether something has come? */
static bool sleeps(struct thread_group *g, const struct call_tree *t)
{
    int64_t ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(t); node++)
        ns += sleeps_in_own_code(t, node) ? tally_self(&g->tally, node) : 0;
    return ns > g->wall_ns / 2;
}

/* Has G an event loop that idles for a twentieth of its time or more, and is kept from polling for
 * a tenth?  Others wait for that, whatever keeps it. */
static bool keeps_a_loop(const struct thread_group *g, const struct groups *all)
{
    int64_t idle_ns = 0;
    for (size_t i = 0; i < g->n; i++) {
        const struct profile_thread *t = g->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs; k++)
            idle_ns += run_is_in_idle_loop(all->tree, all->v, &t->runs[k])
                           ? t->runs[k].weights.wall_ns
                           : 0;
    }
    return idle_ns > g->wall_ns / 20 && idle_ns < g->wall_ns / 10 * 9;
}

/* Is NODE, in the user's code, work, or a wait that a launcher has not: for a lock, a file, a peer,
 * an answer?  It waits for its children, by their pipes, too; for time; for a thread of its own. */
static bool is_of_work(const struct call_tree *t, uint32_t node)
{
    static const unsigned meets = 1U << FUTEX_SEMAPHORE | 1U << FUTEX_BARRIER;
    static const unsigned works = 1U << CLASS_NONE | 1U << CLASS_SPIN | 1U << CLASS_GIL |
                                  1U << CLASS_FILE | 1U << CLASS_PAGE | 1U << CLASS_UNUSUAL;
    const struct call_node at = call_tree_node(t, node);
    const char *call = at.frame->call ? at.frame->call : "";
    bool answer = (str_starts(call, "epoll_") && is_for_result(t, node)) ||
                  (str_starts(call, "futex") && is_for_known_result(t, node));
    return call_tree_own(t, node) &&
           (works >> class_of_node(t, node) & 1 || meets >> at.futex & 1 || at.sockets || answer ||
            is_for_lock(t, node));
}

/* Who works now and then may sleep in between. */
static bool is_of_workers(struct thread_group *g, const struct call_tree *t)
{
    int64_t work_ns = 0;
    int64_t sleep_ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(t) && !g->idle; node++) {
        work_ns += is_of_work(t, node) ? tally_self(&g->tally, node) : 0;
        sleep_ns += sleeps_in_own_code(t, node) ? tally_self(&g->tally, node) : 0;
    }
    return work_ns + sleep_ns > g->wall_ns / 2 && share_of(work_ns, g->wall_ns) >= least_share;
}

static bool is_futex(const struct call_tree *t, uint32_t node)
{
    const char *call = call_tree_node(t, node).frame->call;
    return call_tree_own(t, node) && call && str_starts(call, "futex");
}

/* Are they alike threads of the program's own, as its pool's, that work or wait by a futex: for
 * each other, or for what main hands out?  Of a single one that may be anything. */
static bool is_crew(struct thread_group *g, const struct call_tree *t)
{
    int64_t ns = 0;
    if (g->n < 2 || g->mixed || g->threads[0]->thread->main)
        return false;
    for (uint32_t node = 1; node <= call_tree_count(t) && !g->idle; node++)
        if (is_of_work(t, node) || is_futex(t, node))
            ns += tally_self(&g->tally, node);
    return ns > g->wall_ns / 2;
}

/* By process: has it threads that work?  However little these run, it is no launcher. */
static bool *processes_with_workers(const struct groups *all)
{
    bool *work = xcalloc(profile_process_count(all->p) + (size_t)1, sizeof *work);
    for (size_t i = 0; i < all->n; i++) {
        struct thread_group *g = &all->items[i];
        bool workers = is_of_workers(g, all->tree) || is_crew(g, all->tree);
        for (size_t k = 0; k < g->n && workers; k++)
            work[g->threads[k]->thread->process.ix] = true;
    }
    return work;
}

/* ---- who answers its children ---- */

/* Does RUN wait for one message or answer of PID, at a pipe or a socket? */
static bool is_for_process(struct holders *h, const struct run *run, pid_t pid)
{
    const struct wait_side *side = run->at.wait.ix ? holders_side(h, run->at) : NULL;
    if (run->state != RUN_BLOCKED || !side || !wait_side_is_for_one(side))
        return false;
    const struct listed_blocker *first = profile_see_blocker(h->p, side->list);
    const struct blocker *b =
        side->thing == THING_EVENTS && first ? &first->blocker : &side->blocker;
    return side->thing != THING_CHILD && blocker_is_process(b) && b->pid == pid;
}

/* Is T's wait for PID a tenth of its time or more, outside of a pool's? */
static bool waits_for_process(const struct groups *g, struct holders *h,
                              const struct profile_thread *t, pid_t pid)
{
    int64_t all_ns = 0;
    int64_t ns = 0;
    for (size_t k = 0; k < t->n_runs; k++) {
        const struct run *run = &t->runs[k];
        all_ns += run->weights.wall_ns;
        if (is_for_process(h, run, pid) && class_of_run(g->tree, run) == CLASS_ORDINARY)
            ns += run->weights.wall_ns;
    }
    return all_ns > 0 && share_of(ns, all_ns) >= least_share;
}

/* Marks in WORK the parents whose children's main threads wait for their messages: who asks its
 * child, and gets its answers, works with it.  A launcher's children want nothing of it. */
static void mark_asked(const struct groups *g, bool *work)
{
    struct holders h;
    if (profile_process_count(g->p) < 2)
        return;
    holders_init(&h, g->p, g->v);
    for (size_t i = 0; i < g->summaries.n; i++) {
        const struct profile_thread *t = g->summaries.threads[i].thread;
        process_id parent = profile_see_process(g->p, t->process)->parent;
        if (t->main && parent.ix && !work[parent.ix])
            work[parent.ix] = waits_for_process(g, &h, t, profile_see_process(g->p, parent)->pid);
    }
    holders_release(&h);
}

static bool runs_commands(const struct profile *p, process_id process)
{
    struct commands c = commands_of(p, process);
    return commands_in_turn(p, &c);
}

/* It says nothing of the work: torchrun, gunicorn, `sh -c`.  Who does the same as processes without
 * children works itself, and so does who starts one after the other.  WORK:
 * processes_with_workers(), mark_asked(). */
static bool launches(struct thread_group *g, const struct groups *all, const bool *work)
{
    for (size_t i = 0; i < g->n; i++) {
        process_id process = g->threads[i]->thread->process;
        if (work[process.ix] || !has_recorded_child(profile_see_process(all->p, process)) ||
            runs_commands(all->p, process))
            return false;
    }
    return g->cpu_ns + g->runqueue_ns < g->wall_ns / LAUNCHER_PART && !sleeps(g, all->tree) &&
           !keeps_a_loop(g, all);
}

void launchers_mark(struct groups *g)
{
    bool *work = processes_with_workers(g);
    mark_asked(g, work);
    for (size_t i = 0; i < g->n; i++)
        g->items[i].launches = launches(&g->items[i], g, work);
    free(work);
}
