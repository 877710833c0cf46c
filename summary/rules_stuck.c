/* The rule about a process all of whose threads wait for each other, though in no circle that can
 * be read: a wake-up was lost, a pool waits for itself, a lock was inherited. */
#include "base/clock.h"
#include "summary/group_facts.h"
#include "summary/process_name.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/starved_pool.h"
#include "summary/verdict_words.h"

enum { MOST_NAMED = 3 };

static void add_group(const struct judgement *s, const struct thread_group *group,
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
    add_meaning(s, node, words);
    add_interrupted(s, last, words);
    call_path_release(&path);
}

/* Groups that wait for nobody in particular come first, then those that wait for them. */
static void add_groups(const struct judgement *s, const struct stuck *stuck, struct text *words)
{
    size_t n = 0;
    for (int named = 0; named <= 1; named++) {
        for (size_t i = 0; i < s->g->n && n < MOST_NAMED; i++) {
            struct thread_group *group = &s->g->items[i];
            const struct run *last = stuck_wait_of(s, stuck, group);
            if (!last || group->idle || (holders_thread(s->holders, last) != NULL) != named)
                continue;
            add_group(s, group, stuck_thread_of(stuck, group), last, words);
            n++;
        }
    }
}

static void add_starved_pool(const struct judgement *s, const struct stuck *stuck,
                             struct text *words)
{
    for (size_t i = 0; i < s->g->n; i++) {
        const struct run *last = stuck_wait_of(s, stuck, &s->g->items[i]);
        if (last && starved_pool_add(s, &s->g->items[i], last, words))
            return;
    }
}

/* Does STUCK's only thread wait for a lock? */
static bool is_alone_for_lock(const struct judgement *s, const struct stuck *stuck)
{
    for (size_t i = 0; i < s->g->n; i++) {
        const struct run *last = stuck_wait_of(s, stuck, &s->g->items[i]);
        if (!last)
            continue;
        enum futex_kind kind = call_tree_node(s->g->tree, call_tree_of(s->g->tree, last->at)).futex;
        return kind == FUTEX_LOCK || kind == FUTEX_RWLOCK;
    }
    return false;
}

/* A child of fork(2) that has not called execve has the memory of its parent, and of the threads
 * that one. */
static void add_fork(const struct judgement *s, const struct stuck *stuck, struct text *words)
{
    const struct profile_process *child = profile_see_process(s->p, stuck->process);
    const struct profile_process *parent = process_forked_from(s->p, stuck->process);
    if (stuck->threads > 1 || !parent || parent->threads < 2)
        return;
    text_addf(words, " %d was forked by %d, which had %llu threads: fork copied one of them. ",
              child->pid, parent->pid, (unsigned long long)parent->threads);
    text_add(words, child->python_version.ix
                        ? "multiprocessing's start methods spawn and forkserver avoid this."
                        : "Start threads after fork(), not before.");
}

/* Whose time it takes: everybody's, if the leader is of that process. */
static const char *noun_of(const struct judgement *s, const struct stuck *stuck)
{
    if (!s->lead || stuck_has(stuck, s->lead))
        return NULL;
    for (size_t i = 0; i < s->g->n; i++)
        if (!s->g->items[i].idle && stuck_has(stuck, &s->g->items[i]))
            return s->g->items[i].noun;
    return NULL;
}

void rule_stuck(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    const struct stuck *stuck = &s->facts->stuck;
    (void)group;
    if (!stuck->threads)
        return;
    f->share = 1; /* it lasts */
    f->about = noun_of(s, stuck);
    add_figure(f, "threads", (double)stuck->threads);
    add_figure(f, "seconds", (double)(stuck->end_ns - stuck->start_ns) / NS_PER_S);
    finding_applies(f, NULL, 0);
}

void tell_stuck(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct stuck *stuck = &s->facts->stuck;
    (void)f;
    bool for_lock = stuck->threads == 1 && is_alone_for_lock(s, stuck);
    verdict_add_stuck(words, stuck->threads, for_lock, stuck->end_ns - stuck->start_ns);
    add_groups(s, stuck, words);
    add_fork(s, stuck, words);
    add_starved_pool(s, stuck, words);
}
