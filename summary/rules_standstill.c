/* Rules about what does not go on: nobody ran, or a process is stopped. */
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "summary/accepting.h"
#include "summary/delays.h"
#include "summary/kernel_side.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/shared_place.h"
#include "summary/starved_pool.h"
#include "summary/verdict_words.h"
#include "summary/wait_text.h"

enum { LEAST_STOPPED_NS = NS_PER_S / 2, MOST_TOLD = 3 };
static const double ran_at_all = 0.001, idle_share = 0.95;

/* ---- who ran ---- */

struct ran {
    size_t threads; /* that are there at the end */
    int64_t ns;
    double share;
    int64_t still_ns; /* for which none has run at the end */
};

/* For how long none of the threads that are there has run at the end, by their run counts. */
static int64_t still_ns(const struct judgement *s)
{
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->ended || t->n_folded || !t->n_runs)
            continue;
        const struct run *last = &t->runs[t->n_runs - 1];
        if (last->state != RUN_BLOCKED && last->state != RUN_STOPPED)
            return 0;
        start_ns = max_i64(start_ns, t->still_since_ns);
        end_ns = max_i64(end_ns, run_end_ns(last));
    }
    return max_i64(end_ns - start_ns, 0);
}

static struct ran who_ran(const struct judgement *s)
{
    struct ran ran = {.still_ns = still_ns(s)};
    for (size_t i = 0; i < s->g->n; i++)
        ran.ns += s->g->items[i].cpu_ns + s->g->items[i].runqueue_ns;
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        ran.threads += t->process.ix && !t->ended; /* no empty row of the table */
    }
    ran.share = share_of(ran.ns, s->wall_ns);
    return ran;
}

/* Does a thread wake up again and again?  Then it goes on, however short what it does is. */
static bool goes_on(const struct judgement *s)
{
    enum { TIMES_A_SECOND = 5 };
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        uint64_t wakes = t->usage.voluntary - min_u64(t->own_switches, t->usage.voluntary);
        if (!t->n_folded && rule_per_second(wakes, s) >= TIMES_A_SECOND)
            return true;
    }
    return false;
}

static bool is_standstill(const struct judgement *s, const struct ran *ran)
{
    bool still = ran->still_ns >= NS_PER_S && 2 * ran->still_ns >= s->wall_ns;
    return (still || (ran->share <= ran_at_all && !goes_on(s))) && s->wall_ns >= NS_PER_S;
}

static bool has_no_work(const struct thread_group *group)
{
    return group->idle || share_of(group->tally.idle_ns, group->wall_ns) >= idle_share;
}

/* ---- stopped ---- */

/* A process all of whose threads are stopped when the recording ends. */
struct halted {
    process_id process;
    size_t threads;
    int64_t ns;          /* for which all of them have been */
    bool frozen;         /* its cgroup is */
    const char *reading; /* the terminal in whose read one of them was stopped; NULL: none */
};

static const struct wait *stop_of(const struct judgement *s, const struct run *run)
{
    const struct wait *wait = profile_see_wait(s->p, run->at.wait);
    bool stopped = run->state == RUN_STOPPED && wait && wait->kind == WAIT_STOPPED;
    return stopped || (wait && wait->kind == WAIT_FROZEN) ? wait : NULL;
}

/* For how long T has been stopped at the end. */
static int64_t stopped_ns(const struct judgement *s, const struct profile_thread *t)
{
    int64_t ns = 0;
    for (size_t i = t->n_runs; i-- > 0 && stop_of(s, &t->runs[i]);)
        ns += t->runs[i].weights.wall_ns;
    return ns;
}

static bool is_halted(const struct judgement *s, process_id id, struct halted *ret)
{
    *ret = (struct halted){.process = id, .ns = INT64_MAX};
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->process.ix != id.ix || t->ended || t->n_folded || !t->n_runs)
            continue;
        const struct wait *stop = stop_of(s, &t->runs[t->n_runs - 1]);
        if (!stop)
            return false;
        ret->threads++;
        ret->frozen |= stop->kind == WAIT_FROZEN;
        ret->ns = min_i64(ret->ns, stopped_ns(s, t));
        ret->reading = ret->reading ? ret->reading : wait_terminal_read(s->p, stop);
    }
    return ret->threads && ret->ns >= LEAST_STOPPED_NS;
}

static bool is_halted_group(const struct judgement *s, const struct thread_group *group)
{
    struct halted halted;
    return is_halted(s, group->threads[0]->thread->process, &halted);
}

/* "All 3 threads of 4711 (python3) are stopped", "4711 (sh) is stopped because …" */
static void add_halted(const struct judgement *s, const struct halted *h, struct text *words)
{
    const struct profile_process *process = profile_see_process(s->p, h->process);
    const char *comm = profile_text(s->p, process->comm);
    text_add(words, words->len ? " " : "");
    if (h->threads > 1) {
        add_all_threads(h->threads, words);
        text_add(words, " of ");
    }
    text_addf(words, "%d (", process->pid);
    text_add_tame(words, comm, strlen(comm));
    text_add(words, ") ");
    if (h->frozen)
        verdict_add_frozen(words, h->threads > 1, true);
    else
        verdict_add_stopped(words, h->threads > 1, process->pid, h->reading);
    text_add(words, ".");
}

/* Those that a terminal stopped come first: the others of the job are stopped with them. */
static size_t find_halted(const struct judgement *s, struct halted *ret, size_t max)
{
    size_t n = 0;
    for (int reads = 1; reads >= 0; reads--) {
        for (uint32_t i = 1; i <= profile_process_count(s->p); i++) {
            struct halted halted;
            if (!is_halted(s, (process_id){i}, &halted) || (halted.reading != NULL) != reads)
                continue;
            if (n < max)
                ret[n] = halted;
            n++;
        }
    }
    return n;
}

struct stopped_facts {
    struct halted first[2];
    size_t n;   /* processes */
    bool still; /* nobody else runs, and whom the user misses is not stopped */
};

void rule_stopped(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct stopped_facts facts = {.n = 0};
    struct ran ran = who_ran(s);
    (void)group;
    facts.n = find_halted(s, facts.first, 2);
    add_figure(f, "stopped", (double)facts.n);
    if (!facts.n || !is_exact_at_end(s->p, LEAST_STOPPED_NS))
        return;
    bool leads = s->lead && is_halted_group(s, s->lead);
    bool still = is_standstill(s, &ran);
    facts.still = still && !leads;
    if (leads || still) {
        f->kind = FINDING_VERDICT;
        f->share = 1;
    }
    add_figure(f, "seconds", (double)facts.first->ns / NS_PER_S);
    finding_applies(f, &facts, sizeof facts);
}

/* ---- nobody ran ---- */

/* The thread that all of GROUP, in RUN and alike, wait for; NULL: there is none, or each waits for
 * another one. */
static const struct profile_thread *
awaited_by_all(const struct judgement *s, const struct thread_group *group, const struct run *run)
{
    const struct profile_thread *awaited = holders_thread(s->holders, run);
    for (size_t i = 0; i < group->n && awaited; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        if (!t->ended && !t->n_folded && t->n_runs &&
            holders_thread(s->holders, &t->runs[t->n_runs - 1]) != awaited)
            awaited = NULL;
    }
    return awaited;
}

/* Is GROUP in a wait for somebody, or for what should not take so long?  Who has ended hangs
 * nowhere. */
static bool hangs(const struct judgement *s, const struct thread_group *group)
{
    if (!group->n_paths || !groups_last_run(group) || has_no_work(group) ||
        is_halted_group(s, group) || !is_judged(group))
        return false;
    enum wait_class class = class_of_node(s->g->tree, group->paths[0].node);
    return class == CLASS_ORDINARY || class == CLASS_UNUSUAL || class == CLASS_FILE ||
           class == CLASS_PAGE;
}

/* Who waits in a function of the user's comes before who waits in a library's only. */
static size_t list_hanging(const struct judgement *s, struct thread_group **ret, size_t max)
{
    size_t n = 0;
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < s->g->n; i++) {
            struct thread_group *group = &s->g->items[i];
            if (!hangs(s, group) || is_in_own_code(s->g->tree, group->paths[0].node) != own)
                continue;
            if (n < max)
                ret[n] = group;
            n++;
        }
    return n;
}

static size_t count_threads(const struct judgement *s, process_id process)
{
    size_t n = 0;
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        n += t->process.ix == process.ix && !t->ended;
    }
    return n;
}

/* Does GROUP wait for the other end of a pipe or socket that nobody but its own thread has? */
static bool waits_for_itself(const struct judgement *s, const struct thread_group *group)
{
    const process_id process = group->threads[0]->thread->process;
    const struct run *last = groups_last_run(group);
    const struct wait_side *side =
        last && last->at.wait.ix ? holders_side(s->holders, last->at) : NULL;
    return side && (side->thing == THING_PIPE || side->thing == THING_SOCKET) &&
           blocker_is_process(&side->blocker) &&
           side->blocker.pid == profile_see_process(s->p, process)->pid &&
           count_threads(s, process) == 1;
}

/* " main waits in f a.py:3, for load to end.  It waits for …": returns whether one is named. */
static bool add_hanging(const struct judgement *s, const struct thread_group *group,
                        struct text *words, struct finding *f)
{
    const struct run *last = groups_last_run(group);
    uint32_t node = group->paths[0].node;
    bool named = false;
    text_addf(words, " %s wait%s ", group->noun, verb_s(group));
    add_place(words, &group->paths[0]);
    if (last && call_tree_of(s->g->tree, last->at) == node && awaited_by_all(s, group, last)) {
        text_add(words, ",");
        named = add_thing_of(s, last, node, words);
    } else if (last) {
        add_shared_place(s, last, node, words);
    }
    text_add(words, ".");
    if (last) {
        add_interrupted(s, last, words);
        add_killed_holder(s, last, node, words);
    }
    if (call_tree_node(s->g->tree, node).futex == FUTEX_JOIN)
        add_meaning(s, node, words);
    named |= add_kernel_side(s, group, node, false, words, f);
    if (waits_for_itself(s, group))
        text_add(words, " No other thread is there to end that wait.");
    add_serves_one(s, group, words);
    add_delay(s, group, node, words, f);
    return named;
}

static size_t add_waits(const struct judgement *s, bool *ret_known, struct text *words,
                        struct finding *f)
{
    struct thread_group *groups[MOST_TOLD];
    size_t threads = 0;
    size_t n = list_hanging(s, groups, MOST_TOLD);
    *ret_known = false;
    for (size_t i = 0; i < n && i < MOST_TOLD; i++) {
        *ret_known |= add_hanging(s, groups[i], words, f);
        threads += groups[i]->n_threads;
    }
    return threads;
}

void tell_stopped(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct stopped_facts *facts = f->facts;
    bool known;
    add_halted(s, facts->first, words);
    if (facts->n == 2)
        text_addf(words, " %d is stopped, too.",
                  profile_see_process(s->p, facts->first[1].process)->pid);
    else if (facts->n > 2)
        text_addf(words, " %zu more processes are stopped, too.", facts->n - 1);
    if (facts->still)
        (void)add_waits(s, &known, words, f);
}

/* Does NODE wait for the result of a task that its pool may have lost? */
static bool waits_for_pool(const struct judgement *s, uint32_t node)
{
    for (; node; node = call_tree_node(s->g->tree, node).parent)
        if (known_does(call_tree_node(s->g->tree, node).frame, DOES_LOSE_TASKS))
            return true;
    return false;
}

/* Does GROUP wait for work at the end of the recording? */
static bool waits_for_work(const struct judgement *s, const struct thread_group *group)
{
    const struct run *last = groups_last_run(group);
    return has_no_work(group) || !last || class_of_run(s->g->tree, last) == CLASS_IDLE;
}

/* Does everybody but GROUP, and some other process, wait for work? */
static bool has_idle_workers(const struct judgement *s, const struct thread_group *group)
{
    process_id own = group->threads[0]->thread->process;
    bool workers = false;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *other = &s->g->items[i];
        if (other == group || !groups_last_run(other))
            continue;
        if (!waits_for_work(s, other))
            return false;
        workers |= other->threads[0]->thread->process.ix != own.ix;
    }
    return workers;
}

static bool add_lost_result(const struct judgement *s, struct text *words)
{
    struct thread_group *group;
    if (list_hanging(s, &group, 1) != 1 || !waits_for_pool(s, group->paths[0].node) ||
        !has_idle_workers(s, group))
        return false;
    text_add(words, " All workers of its pool wait for work, so that result will not come: when a "
                    "worker is killed (out of memory?), multiprocessing.Pool loses its task and "
                    "says nothing. concurrent.futures reports it.");
    return true;
}

static void add_starved_pool(const struct judgement *s, struct text *words)
{
    struct thread_group *groups[MOST_TOLD];
    size_t n = list_hanging(s, groups, MOST_TOLD);
    for (size_t i = 0; i < n && i < MOST_TOLD; i++)
        if (starved_pool_add(s, groups[i], groups_last_run(groups[i]), words))
            return;
}

/* Do all that hang wait for clients, who just do not come? */
static bool all_serve(const struct judgement *s)
{
    static const unsigned anybody = 1U << BLOCKER_LISTENER | 1U << BLOCKER_CLIENT;
    struct thread_group *groups[MOST_TOLD];
    size_t n = list_hanging(s, groups, MOST_TOLD);
    size_t i = 0;
    while (i < n && i < MOST_TOLD &&
           holders_is_for(s->holders, groups_last_run(groups[i])->at, anybody) &&
           !serves_one(s, groups[i]))
        i++;
    return n > 0 && i == n;
}

static void add_who(const struct judgement *s, const struct ran *ran, struct text *words)
{
    bool idle = all_serve(s);
    bool stopped_running = ran->share > ran_at_all;
    const char *hardly = ran->ns > 0 && !stopped_running ? " more than an instant" : "";
    const char *last = stopped_running ? "the last " : "";
    if (ran->threads == 1) {
        text_addf(words, "The only thread %sdid not run%s in %s", idle ? "is idle: it " : "",
                  hardly, last);
    } else if (idle) {
        add_all_threads(ran->threads, words);
        text_addf(words, " are idle: %s ran%s in %s", ran->threads == 2 ? "neither" : "none",
                  hardly, last);
    } else if (ran->threads == 2) {
        text_addf(words, "Neither thread ran%s in %s", hardly, last);
    } else {
        text_addf(words, "None of the %zu threads ran%s in %s", ran->threads, hardly, last);
    }
    add_time(words, stopped_running ? ran->still_ns : s->wall_ns);
}

static bool all_wait_for_work(const struct judgement *s)
{
    size_t i = 0;
    while (i < s->g->n && has_no_work(&s->g->items[i]))
        i++;
    return i == s->g->n && s->g->n;
}

/* Does the main thread wait for work, as a server's does, while others have something to do?  What
 * they wait for, rule_waits() says.  Who waits for others' ends, or sleeps, is no server. */
static bool main_serves(const struct judgement *s)
{
    const struct thread_group *main = groups_main(s->g);
    bool joins = main && main->n_paths &&
                 call_tree_node(s->g->tree, main->paths[0].node).futex == FUTEX_JOIN;
    bool sleeps = main && 2 * main->class_ns[CLASS_SLEEP] > main->wall_ns;
    return main && s->lead != main && !joins && !sleeps;
}

struct none_ran_facts {
    struct ran ran;
    size_t hanging; /* groups; 0: all wait for work */
};

void rule_none_ran(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct none_ran_facts facts = {who_ran(s), .hanging = 0};
    struct thread_group *first;
    (void)group;
    add_figure(f, "ran_share", facts.ran.share);
    if (!is_standstill(s, &facts.ran) || main_serves(s))
        return;
    if (all_wait_for_work(s)) {
        f->kind = FINDING_SLEEPS;
    } else {
        facts.hanging = list_hanging(s, &first, 1);
        /* Where the meaning of a sleep is known, rule_waits() says more. */
        if (!facts.hanging ||
            (meaning_of(s->g->tree, first->paths[0].node) &&
             call_tree_node(s->g->tree, first->paths[0].node).futex != FUTEX_JOIN))
            return;
    }
    f->share = 1;
    finding_applies(f, &facts, sizeof facts);
}

/* Who hangs, N groups, and why, as far as that is known. */
static void add_all_hanging(const struct judgement *s, size_t n, struct text *words,
                            struct finding *f)
{
    bool known = false;
    size_t told = add_waits(s, &known, words, f);
    if (n > MOST_TOLD)
        text_addf(words, " %zu more group%s of threads wait%s elsewhere.", n - MOST_TOLD,
                  n - MOST_TOLD == 1 ? "" : "s", n - MOST_TOLD == 1 ? "s" : "");
    if (add_lost_result(s, words))
        return;
    if (!known)
        text_addf(words, " Whom %s for could not be read: idle or stuck cannot be told from here.",
                  told > 1 ? "they wait" : "it waits");
    add_starved_pool(s, words);
}

void tell_none_ran(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct none_ran_facts *facts = f->facts;
    add_who(s, &facts->ran, words);
    if (facts->hanging) {
        text_add(words, ".");
        add_all_hanging(s, facts->hanging, words, f);
    } else {
        text_add(words, facts->ran.threads == 1 ? ": it waits for work." : ": all wait for work.");
    }
}
