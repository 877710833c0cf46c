#include "summary/leader.h"
#include "summary/accepting.h"

#include <stdio.h>

#include "base/minmax.h"
#include "base/share.h"
#include "base/text.h"
#include "summary/cause.h"
#include "summary/wait_class.h"

/* Who is busy, or waits for something, for this part of its time. */
static const double does_something = 0.1;
static const double does_much = 0.2; /* of it: then a main thread leads */
enum { FAR_MORE = 4 };               /* times what it does: else they lead, whom it serves */

enum {
    RESTS = 1U << CAUSE_IDLE | 1U << CAUSE_TIMER,
    SUPERVISES = RESTS | 1U << CAUSE_JOIN,
    MAY_REST = SUPERVISES | 1U << CAUSE_CONDITION, /* a helper waits there for work */
};

/* Does RUN, whose stack ends in AT, wait for signals, by itself or by a descriptor of nothing else?
 * A daemon's main thread does so until it is told to end. */
static bool waits_for_signal(const struct groups *g, struct holders *h, const struct run *run,
                             const struct shown_frame *at)
{
    static const char *const calls[] = {"rt_sigtimedwait", "rt_sigsuspend", NULL};
    if (at->kind != SHOWN_WAIT || at->wait != WAIT_CALL)
        return false;
    const struct wait_side *side = run->at.wait.ix ? holders_side(h, run->at) : NULL;
    const struct listed_blocker *one = side ? profile_see_blocker(g->p, side->list) : NULL;
    bool listed = one && !side->more;
    for (; one; one = profile_see_blocker(g->p, one->next))
        listed &= one->blocker.thing == THING_SIGNALS;
    return listed || str_is_one_of(at->call, calls) ||
           (at->object && str_eq(at->object, "signalfd"));
}

/* Who decides whose time it is, and by what. */
struct choice {
    const struct groups *g;
    struct holders *h;
    bool accepted; /* somebody is there for whoever connects */
};

/* Does RUN wait for a client that keeps all others out? */
static bool is_kept_by_client(const struct choice *c, const struct run *run)
{
    return !c->accepted && waits_long_for_client(c->h, run);
}

/* Does RUN wait for whoever comes: for connections, requests of clients, signals?  What a server's
 * epoll_wait(2) is for may not have been read. */
static bool waits_for_anybody(const struct groups *g, struct holders *h, const struct run *run)
{
    static const unsigned anybody = 1U << BLOCKER_LISTENER | 1U << BLOCKER_CLIENT;
    if (run->state != RUN_BLOCKED)
        return false;
    const uint32_t node = call_tree_of(g->tree, run->at);
    if (meaning_of(g->tree, node))
        return false;
    const struct shown_frame *at = call_tree_node(g->tree, node).frame;
    if (at && waits_for_signal(g, h, run, at))
        return true;
    if (!run->at.wait.ix || holders_side(h, run->at)->thing == THING_UNKNOWN)
        return at && at->kind == SHOWN_WAIT && at->wait == WAIT_CALL &&
               str_starts(at->call, "epoll_") && !is_for_result(g->tree, node);
    return holders_is_for(h, run->at, anybody);
}

bool leader_is_of_jobs(const struct groups *g, const struct thread_group *group)
{
    enum { LEAST_THREADS = 10, LIVES = 10 }; /* one after the other while the main thread lives */
    const struct thread_group *main = groups_main(g);
    size_t ended = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        ended += t->n_folded ? t->n_folded : t->ended;
    }
    return main && group->n_threads >= LEAST_THREADS && 2 * ended > group->n_threads &&
           LIVES * group->wall_ns / (int64_t)group->n_threads <=
               main->wall_ns / (int64_t)main->n_threads;
}

/* Of a helper (N threads) a wait that may be for work is rest; but of a known pool's, whose waits
 * for work are known.  Who waits for a result has work. */
static bool is_rest(const struct groups *g, const struct run *run, unsigned causes, size_t n,
                    bool of_pool)
{
    enum cause cause = cause_of_run(g->tree, g->v, run);
    uint32_t node = call_tree_of(g->tree, run->at);
    bool helper = causes == MAY_REST;
    if (call_tree_node(g->tree, node).idle) /* also on the way to its wait */
        return true;
    if (cause == CAUSE_PEER)
        return helper && !of_pool && run->state == RUN_BLOCKED &&
               may_be_for_work(g->tree, node, n) && !is_for_result(g->tree, node) &&
               !meaning_of(g->tree, node);
    if ((cause == CAUSE_CONDITION || cause == CAUSE_TIMER) && meaning_of(g->tree, node))
        return false;
    return causes >> cause & 1 && !(cause == CAUSE_CONDITION && is_for_result(g->tree, node));
}

/* Is one wait all that T did?  Beside a server's loop that works it is for what comes now and then:
 * a subscription's messages, an end. */
static bool is_one_wait(const struct profile_thread *t)
{
    uint64_t waits = 0;
    bool waited = t->n_runs > 0;
    for (size_t k = 0; k < t->n_runs; k++) {
        waited &= t->runs[k].state == RUN_BLOCKED || t->runs[k].state == RUN_MISSED;
        waits += t->runs[k].waits;
    }
    return waited && waits <= 1 && !t->n_folded;
}

static bool is_loop_at_work(const struct thread_group *main, int64_t main_ns)
{
    static const double works = 0.02;
    return main && 2 * main->class_ns[CLASS_IDLE] > main->wall_ns &&
           share_of(main_ns, main->wall_ns) >= works;
}

/* GROUP's time that is not in CAUSES, 1 << enum cause, nor in waits for anybody.  BESIDE a server's
 * loop at work. */
static int64_t other_ns(const struct choice *c, const struct thread_group *group, unsigned causes,
                        bool beside)
{
    int64_t ns = 0;
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        for (size_t k = 0; k < t->n_runs && !(beside && is_one_wait(t)); k++) {
            const struct run *run = &t->runs[k];
            bool rests = is_rest(c->g, run, causes, group->n_threads, group->threads[i]->of_pool) ||
                         waits_for_anybody(c->g, c->h, run);
            bool counts = run->state != RUN_MISSED && (!rests || is_kept_by_client(c, run));
            ns += counts ? run->weights.wall_ns : 0;
        }
    }
    return ns;
}

static bool is_something(const struct thread_group *group, int64_t ns)
{
    return share_of(ns, group->wall_ns) >= does_something;
}

/* Does MAIN wait for the end of others for most of its time?  These are of its own process. */
static bool joins(const struct groups *g, const struct thread_group *main)
{
    const struct profile_thread *t = main->threads[0]->thread;
    int64_t ns = 0;
    for (size_t k = 0; k < t->n_runs; k++)
        if (t->runs[k].state == RUN_BLOCKED &&
            cause_of_run(g->tree, g->v, &t->runs[k]) == CAUSE_JOIN)
            ns += t->runs[k].weights.wall_ns;
    return 2 * ns > main->wall_ns;
}

static bool is_of_process(const struct thread_group *group, process_id process)
{
    return group->threads[0]->thread->process.ix == process.ix;
}

/* The group but MAIN that does most, and far more than MAIN_NS, what MAIN does; INSIDE: of MAIN's
 * process.  NULL: there is none. */
static struct thread_group *most_busy(const struct choice *c, const struct thread_group *main,
                                      int64_t main_ns, bool inside)
{
    const struct groups *g = c->g;
    struct thread_group *most = NULL;
    int64_t little_ns = main ? (int64_t)(does_something * (double)main->wall_ns) : 0;
    int64_t most_ns = max_i64(little_ns, FAR_MORE * main_ns);
    for (size_t i = 0; i < g->n; i++) {
        struct thread_group *group = &g->items[i];
        if (group == main || group->idle || group->launches ||
            (inside && !is_of_process(group, main->threads[0]->thread->process)))
            continue;
        unsigned causes = leader_is_of_jobs(g, group) ? SUPERVISES : MAY_REST;
        int64_t ns = other_ns(c, group, causes, is_loop_at_work(main, main_ns));
        if (ns <= most_ns || !is_something(group, ns))
            continue;
        most = group;
        most_ns = ns;
    }
    return most;
}

/* The group of the only thread whose end MAIN waits for; NULL: it waits for nobody's, or for
 * several.  java starts such a thread to run a program's main(). */
static struct thread_group *stand_in(const struct groups *g, struct holders *h,
                                     const struct thread_group *main)
{
    const struct profile_thread *t = main->threads[0]->thread, *only = NULL;
    for (size_t k = 0; k < t->n_runs; k++) {
        const struct run *run = &t->runs[k];
        if (run->state != RUN_BLOCKED || cause_of_run(g->tree, g->v, run) != CAUSE_JOIN)
            continue;
        const struct profile_thread *who = holders_thread(h, run);
        if (!who || (only && who != only))
            return NULL;
        only = who;
    }
    struct thread_group *group = only ? groups_of(g, only) : NULL;
    return group && group->n_threads == 1 && !group->mixed ? group : NULL;
}

static bool is_called(const struct thread_summary *thread, const char *wanted)
{
    char tid[sizeof "-2147483648"];
    (void)snprintf(tid, sizeof tid, "%d", thread->thread->tid);
    return str_eq(thread->name, wanted) || str_eq(tid, wanted);
}

struct thread_group *leader_asked_for(const struct groups *g)
{
    const char *wanted = view_options(g->v)->leader;
    for (size_t i = 0; wanted && i < g->n; i++)
        for (size_t k = 0; k < g->items[i].n; k++)
            if (is_called(g->items[i].threads[k], wanted))
                return &g->items[i];
    return NULL;
}

/* What MAIN does.  One that rests most of its time waits for a CPU no longer than it runs, where a
 * CPU is free: so who takes the CPUs decides nothing. */
static int64_t main_does_ns(const struct choice *c, const struct thread_group *main)
{
    const struct profile_thread *t = main->threads[0]->thread;
    int64_t ns = other_ns(c, main, SUPERVISES, false);
    int64_t run_ns = 0;
    int64_t runnable_ns = 0;
    for (size_t k = 0; k < t->n_runs; k++) {
        run_ns += t->runs[k].state == RUN_RUNNING ? t->runs[k].weights.wall_ns : 0;
        runnable_ns += t->runs[k].state == RUN_RUNNABLE ? t->runs[k].weights.wall_ns : 0;
    }
    return 2 * ns < main->wall_ns ? ns - max_i64(runnable_ns - run_ns, 0) : ns;
}

struct thread_group *leader_of(const struct groups *g, struct holders *h)
{
    struct thread_group *main = leader_asked_for(g);
    if (main)
        return main;
    main = groups_main(g);
    const struct choice c = {g, h, somebody_accepts(g, h)};
    int64_t main_ns = main ? main_does_ns(&c, main) : 0;
    if (main && share_of(main_ns, main->wall_ns) >= does_much)
        return main;
    struct thread_group *joined = main && joins(g, main) ? stand_in(g, h, main) : NULL;
    if (joined) {
        main = joined;
        main_ns = main_does_ns(&c, main);
        if (share_of(main_ns, main->wall_ns) >= does_much)
            return main;
    }
    struct thread_group *most = main && joins(g, main) ? most_busy(&c, main, main_ns, true) : NULL;
    most = most ? most : most_busy(&c, main, main_ns, false);
    return most ? most : main;
}
