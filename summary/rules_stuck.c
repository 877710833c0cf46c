/* The rule about a process all of whose threads wait for each other, though in no circle that can
 * be read: a wake-up was lost, a pool waits for itself, a lock was inherited. */
#include "base/clock.h"
#include "base/minmax.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"

enum { LEAST_STUCK_NS = NS_PER_S / 2, MOST_NAMED = 3 };

struct stuck {
    process_id process;
    size_t threads;
    int64_t start_ns, end_ns; /* for which all of them have waited together */
};

/* The run of T that waits, when the recording ends, for what only a thread of its process can do;
 * NULL: it does not. */
static const struct run *last_wait(const struct scene *s, const struct profile_thread *t)
{
    const struct run *last = t->n_runs ? &t->runs[t->n_runs - 1] : NULL;
    const struct wait *wait = last ? profile_see_wait(s->p, last->at.wait) : NULL;
    return wait && last->state == RUN_BLOCKED && wait->side.inside ? last : NULL;
}

/* Do all threads of process ID wait so?  Each has to be known: any other could wake them. */
static bool is_stuck(const struct scene *s, process_id id, struct stuck *ret)
{
    *ret = (struct stuck){.process = id, .start_ns = INT64_MIN, .end_ns = INT64_MAX};
    for (uint32_t i = 1; i <= profile_thread_count(s->p); i++) {
        const struct profile_thread *t = profile_see_thread(s->p, (thread_id){i});
        if (t->process.ix != id.ix || t->ended || t->n_folded)
            continue;
        const struct run *last = last_wait(s, t);
        /* Somebody who is gone has it: that says more. */
        if (!last || holders_side(s->holders, last->at)->blocker.kind == BLOCKER_GONE)
            return false;
        ret->threads++;
        ret->start_ns = max_i64(ret->start_ns, t->still_since_ns);
        ret->end_ns = min_i64(ret->end_ns, last->start_ns + last->weights.wall_ns);
    }
    return ret->threads && ret->threads == profile_see_process(s->p, id)->threads &&
           ret->end_ns - ret->start_ns >= LEAST_STUCK_NS;
}

static bool is_of(const struct thread_group *group, process_id id)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->threads[i]->thread->process.ix == id.ix)
            return true;
    return false;
}

/* The thread of GROUP that is there at the end; NULL: none is. */
static const struct profile_thread *thread_of(const struct thread_group *group, process_id id)
{
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *t = group->threads[i]->thread;
        if (t->process.ix == id.ix && !t->ended && !t->n_folded)
            return t;
    }
    return NULL;
}

static const struct run *wait_of(const struct scene *s, const struct thread_group *group,
                                 process_id id)
{
    const struct profile_thread *t = thread_of(group, id);
    return t ? last_wait(s, t) : NULL;
}

/* A circle says more; a pool that waits for work has done nothing wrong. */
static bool is_worth_telling(const struct scene *s, const struct stuck *stuck)
{
    bool any = false;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *group = &s->g->items[i];
        if (!is_of(group, stuck->process))
            continue;
        if (rule_finds_circle_of(s, group))
            return false;
        any |= !group->idle && is_judged(group) && wait_of(s, group, stuck->process);
    }
    return any;
}

/* The first process that is. */
static bool find_stuck(const struct scene *s, struct stuck *ret)
{
    if (profile_time_step_ns(s->p) >= LEAST_STUCK_NS)
        return false;
    for (uint32_t i = 1; i <= profile_process_count(s->p); i++)
        if (is_stuck(s, (process_id){i}, ret) && is_worth_telling(s, ret))
            return true;
    return false;
}

bool rule_finds_stuck_of(const struct scene *s, const struct thread_group *group)
{
    struct stuck stuck;
    return find_stuck(s, &stuck) && is_of(group, stuck.process);
}

/* ---- words ---- */

static void add_group(const struct scene *s, const struct thread_group *group,
                      const struct profile_thread *thread, const struct run *last,
                      struct text *words)
{
    uint32_t node = call_tree_of(s->g->tree, last->at);
    struct call_path path = call_path_of_run(s->g->tree, thread, last);
    text_addf(words, " %s wait%s", group->noun, verb_s(group));
    (void)add_thing_of(s, last, node, words);
    text_add(words, " ");
    add_place(words, &path);
    text_add(words, ".");
    call_path_release(&path);
}

/* Groups that wait for nobody in particular come first, then those that wait for them. */
static void add_groups(const struct scene *s, const struct stuck *stuck, struct text *words)
{
    size_t n = 0;
    for (int named = 0; named <= 1; named++) {
        for (size_t i = 0; i < s->g->n && n < MOST_NAMED; i++) {
            struct thread_group *group = &s->g->items[i];
            const struct run *last = wait_of(s, group, stuck->process);
            if (!last || group->idle || (holders_thread(s->holders, last) != NULL) != named)
                continue;
            add_group(s, group, thread_of(group, stuck->process), last, words);
            n++;
        }
    }
}

/* Does STUCK's only thread wait for a lock? */
static bool is_alone_for_lock(const struct scene *s, const struct stuck *stuck)
{
    for (size_t i = 0; i < s->g->n; i++) {
        const struct run *last = wait_of(s, &s->g->items[i], stuck->process);
        if (!last)
            continue;
        enum futex_kind kind = call_tree_node(s->g->tree, call_tree_of(s->g->tree, last->at)).futex;
        return kind == FUTEX_LOCK || kind == FUTEX_RWLOCK;
    }
    return false;
}

/* A child of fork(2) that has not called execve has the memory of its parent, and of the threads
 * that one. */
static void add_fork(const struct scene *s, const struct stuck *stuck, struct text *words)
{
    const struct profile_process *child = profile_see_process(s->p, stuck->process);
    const struct profile_process *parent =
        child->parent.ix ? profile_see_process(s->p, child->parent) : NULL;
    bool forked = parent && parent->command.ix == child->command.ix && parent->threads > 1;
    if (stuck->threads > 1 || !forked)
        return;
    text_addf(words,
              " %d was forked by %d, and of that one's %llu threads it has none but its own. ",
              child->pid, parent->pid, (unsigned long long)parent->threads);
    text_add(words, child->python_version.ix
                        ? "multiprocessing's start methods spawn and forkserver begin anew."
                        : "Start threads after fork(), not before.");
}

void rule_stuck(const struct scene *s, struct thread_group *group, struct finding *f)
{
    struct stuck stuck;
    (void)group;
    f->weight = 2;
    if (!find_stuck(s, &stuck))
        return;
    struct text words = {0};
    int64_t ns = stuck.end_ns - stuck.start_ns;
    if (stuck.threads == 1 && is_alone_for_lock(s, &stuck))
        text_add(&words, "The only thread can never get its lock: it holds it already, its owner "
                         "ended, or it was copied by fork while held. It has waited for ");
    else if (stuck.threads == 1)
        text_add(&words, "The process has one thread, and that waits to be woken by another, for ");
    else
        text_addf(&words, "All %zu threads wait for one another, without a time-out, for ",
                  stuck.threads);
    add_time(&words, ns);
    text_addf(&words, ": only a signal can wake %s.", stuck.threads == 1 ? "it" : "them");
    add_groups(s, &stuck, &words);
    add_fork(s, &stuck, &words);
    add_figure(f, "threads", (double)stuck.threads);
    add_figure(f, "seconds", (double)ns / NS_PER_S);
    f->words = words.s;
}
