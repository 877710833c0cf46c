/* Rules about long waits that nothing explains. */
#include <math.h>

#include "summary/accepting.h"
#include "summary/commands.h"
#include "summary/delays.h"
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/herd.h"
#include "summary/known.h"
#include "summary/leader.h"
#include "summary/lockstep.h"
#include "summary/other_groups.h"
#include "summary/polling.h"
#include "summary/returns.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/standoff.h"
#include "summary/unknown_lock.h"
#include "summary/work_beside.h"

static const double most_share = 0.95; /* that is as good as all */
/* Of a thread's time: that two things coincide for less says little of either. */
static const double long_wait = 0.3;
static const double plain_wait = 0.5, works_share = 0.02;
static const double idle_leader = 0.75; /* of its time: the rest takes requests, starts threads */
static const double imports_much = 0.3; /* of the time of processes that another one starts */

/* What rule_waits() tells of a group. */
struct told_wait {
    enum wait_class class;
    bool lock;
    int64_t ns;
    double least; /* of the group's time: for less it is not told */
};
struct wait_facts {
    struct told_wait wait;
    struct call_path path;
    struct kernel_side side;         /* whom PATH's wait is for */
    struct other_groups others;      /* who may end it, then */
    bool joins;                      /* it waits for their ends, and that is all */
    double children_cpus;            /* of the children that it waits for; 0: of none */
    const struct thread_group *asks; /* another process meanwhile; NULL: nobody */
    struct intervals waits;          /* in which the others' doing is told; none: it is not */
    struct lockstep lockstep;
    size_t commands;                    /* that it starts one after the other */
    const struct thread_group *started; /* most of these; NULL: none */
};

/* ---- the other side ---- */

/* Who holds the locks that GROUP waits for, as far as no other rule tells. */
static void add_lock_holder(const struct judgement *s, const struct thread_group *group,
                            uint32_t node, struct text *words)
{
    const struct group_facts *facts = facts_about(s, group);
    const struct thread_group *holder = facts->locks.holder;
    switch (facts->locks_held) {
    case HELD_BY_SEVERAL:
        text_add(words, " Several threads hold that lock in turn.");
        break;
    case HELD_BY_ONE:
        if (holder && !facts->holder_told)
            text_addf(words, " %s hold%s it.", holder->noun, verb_s(holder));
        break;
    case HELD_UNKNOWN:
        add_unknown_lock(s, group, node, words);
        break;
    }
}

/* How often each thread of GROUP was woken in its wait at NODE; 0: not for a condition. */
static double times_woken(const struct judgement *s, struct thread_group *group, uint32_t node)
{
    bool condition = call_tree_node(s->g->tree, node).futex == FUTEX_CONDITION;
    return condition ? polling_at(s, group, node).sleeps : 0;
}

static bool is_memory_lock(enum futex_kind kind)
{
    return kind == FUTEX_LOCK || kind == FUTEX_RWLOCK;
}

static bool is_epoll(const struct call_tree *t, uint32_t node, const void *unused)
{
    const struct shown_frame *f = call_tree_node(t, node).frame;
    (void)unused;
    return f->kind == SHOWN_WAIT && f->wait == WAIT_CALL && str_starts(f->call, "epoll_");
}

/* The CPUs that the children used which GROUP waits for at NODE; 0: it waits for none, or for such
 * as hardly ran. */
static double cpus_of_children(const struct judgement *s, const struct thread_group *group,
                               const struct call_node *node)
{
    static const double worth_a_word = 0.05;
    const struct profile_process *process =
        profile_see_process(s->p, group->threads[0]->thread->process);
    double ended = share_of(process->children_cpu_ns, s->wall_ns);
    /* The kernel adds a child's whole life when it ends. */
    bool in_time = ended <= profile_see_host(s->p)->cpus_online;
    double cpus = fmax(in_time ? ended : 0, rule_unrecorded_cpus(s, process));
    bool waits = node->frame->call && str_starts(node->frame->call, "wait");
    return waits && cpus >= worth_a_word ? cpus : 0;
}

/* Has a process that is not recorded the lock that is waited for at NODE, SIDE? */
static bool is_held_outside(const struct judgement *s, const struct kernel_side *side,
                            uint32_t node)
{
    return side->told && is_for_lock(s->g->tree, node);
}

/* Who may end GROUP's wait at NODE in futex(2).  Mostly a thread of the same process wakes it. */
static void find_waker(const struct judgement *s, struct thread_group *group, uint32_t node,
                       struct wait_facts *ret)
{
    bool inside = other_groups_list(s, group, true, 0, NULL, 0) > 0;
    ret->others = other_groups_of(s, group, inside, times_woken(s, group, node));
    if (!inside)
        ret->asks = go_between_of(s, group, node);
}

/* The others that work while GROUP waits, who may be of other processes: one of them has what it
 * waits for. */
static void find_others_meanwhile(const struct judgement *s, const struct thread_group *group,
                                  struct wait_facts *ret)
{
    struct thread_group *others[MOST_OTHERS];
    size_t n = other_groups_list(s, group, false, 0, others, MOST_OTHERS);
    ret->waits = intervals_of(s, group->threads[0]->thread, 1U << CLASS_ORDINARY);
    for (size_t i = 0; i < n && n <= MOST_OTHERS && ret->waits.n; i++)
        ret->others.items[ret->others.n++] = (struct other_group){.group = others[i]};
}

/* The other side of the wait of GROUP's that RET's path ends in, as far as it is known. */
static void find_other_side(const struct judgement *s, struct thread_group *group,
                            struct wait_facts *ret)
{
    const uint32_t at = ret->path.node;
    const struct call_node node = call_tree_node(s->g->tree, at);
    if (node.frame->asleep)
        return; /* what is queued for a device, by its own words */
    /* What an epoll lists says how it is woken, and not why, where that is known. */
    if (!meaning_of(s->g->tree, at) || !is_epoll(s->g->tree, at, NULL))
        ret->side = kernel_side_of(s, group, at);
    ret->children_cpus = cpus_of_children(s, group, &node);
    if (ret->children_cpus > 0 || is_held_outside(s, &ret->side, at))
        return;
    if (is_memory_lock(node.futex)) {
        if (facts_about(s, group)->locks_held == HELD_UNKNOWN)
            ret->others = other_groups_of(s, group, true, 0);
    } else if (node.frame->call && str_starts(node.frame->call, "futex")) {
        find_waker(s, group, at, ret);
    } else if (waits_for_sqlite(s->g->tree, at)) {
        find_others_meanwhile(s, group, ret);
    } else {
        ret->asks = go_between_of(s, group, at);
    }
}

static void add_other_side(const struct judgement *s, struct thread_group *group,
                           const struct wait_facts *facts, struct text *words, struct finding *f)
{
    const uint32_t node = facts->path.node;
    const double cpus = facts->children_cpus;
    enum futex_kind kind = call_tree_node(s->g->tree, node).futex;
    add_meaning(s, node, words);
    kernel_side_add(s, group, &facts->side, words, f);
    add_serves_one(s, group, words);
    add_turns_to_serve(s, group, node, words);
    add_delay(s, group, node, words, f);
    if (cpus > 0) {
        add_figure(f, "children_cpus", cpus);
        text_addf(words, " Its children used %.1f CPU%s.", cpus, cpus < 1.05 ? "" : "s");
    }
    if (is_memory_lock(kind) && !is_held_outside(s, &facts->side, node))
        add_lock_holder(s, group, node, words);
    for (size_t i = 0; i < facts->others.n && facts->waits.n; i++)
        (void)add_meanwhile(s, facts->others.items[i].group, &facts->waits, words, f);
    if (!facts->waits.n)
        other_groups_add(s, &facts->others, words, f);
    add_go_between(s, facts->asks, words);
}

/* ---- commands ---- */

/* For how long T imports modules. */
static int64_t imports_ns(const struct judgement *s, const struct profile_thread *t)
{
    struct stack_times times = rule_times_of(s, t, COUNTED_ALL, rule_is_import);
    intervals_release(&times.when);
    return times.wall_ns;
}

/* " For 49% of their time they are in …", of the processes whose time SUM is, which import for NS
 * of it. */
static void add_what_they_do(const struct judgement *s, struct tally *sum, int64_t ns,
                             struct text *words)
{
    double imports = share_of(ns, sum->all_ns);
    if (imports >= imports_much) {
        text_add(words, " For ");
        add_percent(words, imports);
        text_add(words, " of their time they import modules: a pool's processes do so once.");
        return;
    }
    struct doing d = doing_of(s, sum);
    if (d.told) {
        text_add(words, " For ");
        add_percent(words, share_of(d.ns, sum->all_ns));
        text_add(words, " of their time they are ");
        doing_add(s, &d, words);
        text_add(words, ".");
    }
    doing_release(&d);
}

/* " Meanwhile 690 processes and threads start a second on this machine.", where GROUP's children
 * take CPU time: a shell's loop starts programs that are too short for a sample.  Nothing where
 * most of them are the N commands that the answer tells of. */
static void add_starts(const struct judgement *s, const struct thread_group *group, size_t n,
                       struct text *words, struct finding *f)
{
    static const double many = 50, times_more = 5, least_cpus = 0.1;
    const struct profile_machine *m = &profile_see_host(s->p)->machine;
    const struct profile_process *process =
        profile_see_process(s->p, group->threads[0]->thread->process);
    double per_s = m->starts_known ? rule_per_second(m->starts, s) : 0;
    if (per_s < many || per_s < times_more * rule_per_second(n, s) ||
        share_of(process->children_cpu_ns, s->wall_ns) < least_cpus)
        return;
    text_add(words, " Meanwhile ");
    text_add_thousands(words, per_s);
    text_add(words, " processes and threads start a second on this machine.");
    add_figure(f, "machine_starts_per_s", per_s);
}

/* The processes that GROUP's starts one after the other: none where it does not. */
static void find_commands(const struct judgement *s, const struct thread_group *group,
                          struct wait_facts *ret)
{
    const struct profile_thread *parent = group->threads[0]->thread;
    struct commands c = commands_of(s->p, parent->process);
    if (!parent->main || !commands_in_turn(s->p, &c))
        return;
    ret->commands = c.n;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        const struct thread_group *one =
            commands_has(s->p, t, parent->process) ? groups_of(s->g, t) : NULL;
        if (one && (!ret->started || one->n_threads > ret->started->n_threads))
            ret->started = one;
    }
}

/* " It starts one process after the other: 33 in 6.0 s." and what these N do. */
static void add_commands(const struct judgement *s, const struct thread_group *group, size_t n,
                         struct text *words, struct finding *f)
{
    const process_id parent = group->threads[0]->thread->process;
    struct tally sum;
    int64_t ns = 0;
    text_addf(words, " It starts one process after the other: %zu in ", n);
    add_time(words, s->wall_ns);
    text_add(words, ".");
    add_figure(f, "commands", (double)n);
    tally_init(&sum, s->g->tree, TALLY_ALL);
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        if (!commands_has(s->p, t, parent))
            continue;
        tally_add_thread(&sum, t);
        ns += imports_ns(s, t);
    }
    add_what_they_do(s, &sum, ns, words);
    tally_release(&sum);
}

/* ---- which wait ---- */

/* Does GROUP only wait for the end of threads that are busy themselves?  Then they are the
 * story. */
static bool joins_others(const struct judgement *s, const struct thread_group *group,
                         const struct call_path *path)
{
    return call_tree_node(s->g->tree, path->node).futex == FUTEX_JOIN &&
           rule_others_active_ns(s, group) > group->wall_ns / 10;
}

static const enum wait_class told_classes[] = {CLASS_ORDINARY, CLASS_UNUSUAL, CLASS_PAGE,
                                               CLASS_SLEEP};
enum { TOLD_CLASSES = sizeof told_classes / sizeof *told_classes };

/* The class of waits but WITHOUT that GROUP is in for longest.  A sleep is meant, so that a wait
 * for something that takes nearly as long comes first. */
static enum wait_class longest_but(const struct thread_group *group, enum wait_class without)
{
    static const double nearly = 0.8;
    enum wait_class best = without == CLASS_ORDINARY ? CLASS_UNUSUAL : CLASS_ORDINARY;
    for (size_t i = 0; i < TOLD_CLASSES; i++) {
        enum wait_class class = told_classes[i];
        double ns = (double)group->class_ns[class] * (class == CLASS_SLEEP ? nearly : 1);
        if (class != without && ns > (double)group->class_ns[best])
            best = class;
    }
    return best;
}

/* The class of GROUP's other long wait, beside those of CLASS; CLASS_NONE: there is none. */
static enum wait_class second_wait(const struct thread_group *group, enum wait_class class)
{
    enum wait_class second = longest_but(group, class);
    int64_t ns = group->class_ns[second];
    bool is_long = share_of(ns, group->wall_ns) >= long_wait && 2 * ns >= group->class_ns[class];
    return is_long ? second : CLASS_NONE;
}

/* Of two long waits both are told, so none needs half of the time. */
static struct told_wait longest_wait(const struct thread_group *group)
{
    enum wait_class class = longest_but(group, CLASS_NONE);
    bool one = second_wait(group, class) == CLASS_NONE;
    return (struct told_wait){
        .class = class, .ns = group->class_ns[class], .least = one ? plain_wait : long_wait};
}

/* The wait of GROUP that the user asks about: for a lock, or the longest. */
static struct told_wait wait_to_tell(const struct judgement *s, struct thread_group *group)
{
    struct told_wait ret = longest_wait(group);
    struct call_path path;
    int64_t others_ns = group->class_ns[CLASS_ORDINARY];
    if (share_of(others_ns, group->wall_ns) >= long_wait &&
        heaviest_in_class(&group->tally, CLASS_ORDINARY, &path)) {
        if (is_for_lock(s->g->tree, path.node))
            ret = (struct told_wait){CLASS_ORDINARY, true, others_ns, long_wait};
        call_path_release(&path);
    }
    if (ret.class == CLASS_ORDINARY && ret.ns > 0)
        ret.ns += rule_ways_to_waits_ns(s, group);
    return ret;
}

/* For how long LEADER has nothing to do, as far as that can be told: an epoll_wait() may be for
 * work, too. */
static int64_t leader_idle_ns(struct thread_group *leader)
{
    struct call_path path;
    int64_t ns = leader->class_ns[CLASS_IDLE];
    if (!call_path_of_nodes(&leader->tally, is_epoll, NULL, &path))
        return ns;
    ns += path.ns;
    call_path_release(&path);
    return ns;
}

/* Does GROUP do the work of a leading thread that is idle, as the threads of servers do? */
static bool serves(const struct judgement *s, const struct thread_group *group,
                   enum wait_class class, const struct call_path *path)
{
    struct thread_group *leader = groups_main(s->g);
    if (!leader || group->idle || group->launches || group->mixed ||
        (class == CLASS_SLEEP && group->n_threads < 2) ||
        (may_be_for_work(s->g->tree, path->node, group->n_threads) &&
         !leader_is_of_jobs(s->g, group)))
        return false;
    return share_of(leader_idle_ns(leader), leader->wall_ns) >= idle_leader;
}

/* Is GROUP's wait for work?  Nobody asks for what a helper waits that hardly ever ran; but of a
 * known pool, whose waits for work are known.  Nor does one for a sleep of a library's thread. */
static bool has_nothing_to_do(const struct judgement *s, const struct thread_group *group,
                              const struct told_wait *wait, const struct call_path *path)
{
    bool works = share_of(group->cpu_ns, group->wall_ns) >= works_share;
    bool is_server = !group->leads && serves(s, group, wait->class, path);
    if (group == s->lead)
        return false;
    if (wait->class == CLASS_SLEEP && !is_in_own_code(s->g->tree, path->node))
        return true;
    return !works && !is_server && !wait->lock && !group->threads[0]->of_pool;
}

/* Does GROUP, which does not lead, wait for a lock whose holder nobody can read, as an rwlock's
 * readers?  Other rules tell of those who are known. */
static bool waits_for_unknown(const struct judgement *s, const struct thread_group *group,
                              const struct told_wait *wait)
{
    const struct group_facts *facts = facts_about(s, group);
    return group != s->lead && wait->lock && facts->locks_held == HELD_UNKNOWN &&
           !facts->in_circle && !facts->stuck;
}

/* ---- the rules ---- */

/* GROUP only joins others?  That is no news, what these do is, unless there are many kinds. */
static bool find_joined(const struct judgement *s, struct thread_group *group, double share,
                        struct wait_facts *ret)
{
    if (call_tree_node(s->g->tree, ret->path.node).futex != FUTEX_JOIN || share < most_share)
        return false;
    ret->others = other_groups_of(s, group, true, 0);
    return ret->others.n > 0;
}

/* Whom the words of FACTS name beside those that wait; NULL: nobody.  Before one who waits comes
 * whom that one waits for. */
static const struct thread_group *named_in(const struct wait_facts *facts)
{
    const struct thread_group *ret = facts->side.other;
    for (size_t i = 0; i < facts->others.n; i++) {
        const struct other_group *one = &facts->others.items[i];
        ret = ret ? ret : one->group;
        ret = one->side.other ? one->side.other : ret;
    }
    ret = ret ? ret : facts->asks;
    if (!ret && facts->lockstep.n)
        ret = facts->lockstep.items[0].group;
    return ret ? ret : facts->started;
}

/* What GROUP waits for longest: of those that waits_for_unknown(), if LOCKS, or of all others. */
static void judge_waits(const struct judgement *s, struct thread_group *group, bool locks,
                        struct finding *f)
{
    struct wait_facts facts = {.wait = wait_to_tell(s, group)};
    f->share = share_of(facts.wait.ns, group->wall_ns);
    add_figure(f, "share", f->share);
    if (locks != waits_for_unknown(s, group, &facts.wait) || f->share < facts.wait.least ||
        !heaviest_in_class(&group->tally, facts.wait.class, &facts.path))
        return;
    if (has_nothing_to_do(s, group, &facts.wait, &facts.path) ||
        joins_others(s, group, &facts.path)) {
        call_path_release(&facts.path);
        return;
    }
    facts.joins = find_joined(s, group, f->share, &facts);
    if (!facts.joins) {
        find_other_side(s, group, &facts);
        facts.lockstep = lockstep_of(s, group, facts.path.node);
        find_commands(s, group, &facts);
    }
    const struct thread_group *named = named_in(&facts);
    f->also = named ? named->noun : NULL;
    if (facts.wait.class == CLASS_SLEEP)
        f->kind = FINDING_SLEEPS;
    if (facts.commands) /* what each of these does comes behind that there are so many */
        f->kind = FINDING_EXPLAINS;
    finding_applies(f, &facts, sizeof facts);
}

void rule_waits(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    judge_waits(s, group, false, f);
}

/* A finding of its own beside what the leader waits for, which may be those who have the lock. */
void rule_waits_for_lock(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    judge_waits(s, group, true, f);
}

/* "handler-0 is 100% in ask a.py:20 > recvfrom socket.  main only waits for them to end." */
static void add_joined(const struct judgement *s, const struct wait_facts *facts,
                       struct text *words, struct finding *f)
{
    struct text others = {0};
    struct thread_group *joined[MOST_OTHERS];
    other_groups_add(s, &facts->others, &others, f);
    text_addf(words, "%s %s only wait%s for them to end.", others.s + 1, f->group->noun,
              verb_s(f->group));
    if (other_groups_list(s, f->group, true, 0, joined, MOST_OTHERS) == 1)
        add_in_turn(s, joined[0], words);
    text_release(&others);
}

/* " main sleeps another 44% in pace a.py:13 > clock_nanosleep.", "another 40%, 18% in …": GROUP's
 * other long wait, beside those of CLASS. */
static void add_second_wait(struct thread_group *group, enum wait_class class, struct text *words)
{
    struct call_path path;
    enum wait_class second = second_wait(group, class);
    if (second == CLASS_NONE || !heaviest_in_class(&group->tally, second, &path))
        return;
    const char *verb = second == CLASS_SLEEP ? "sleep" : "wait";
    text_addf(words, " %s %s%s another ", group->noun, verb, verb_s(group));
    add_percent(words, share_of(group->class_ns[second], group->wall_ns));
    if ((double)path.ns < most_share * (double)group->class_ns[second]) {
        text_add(words, ", ");
        add_percent(words, share_of(path.ns, group->wall_ns));
    }
    text_add(words, " in ");
    add_way(words, &path);
    text_add(words, ".");
    call_path_release(&path);
}

/* How long GROUP waits in the user's function that PATH is in, if that is PATH or on the way to it;
 * else PATH's own time. */
static int64_t waits_on_path(const struct judgement *s, struct thread_group *group,
                             unsigned classes, const struct call_path *path)
{
    const struct call_tree *t = s->g->tree;
    uint32_t key = call_path_own_key(t, path->node);
    int64_t others_ns = -path->ns;
    for (uint32_t node = 1; key && node <= call_tree_count(t); node++)
        if (classes >> class_of_node(t, node) & 1 && call_path_own_key(t, node) == key)
            others_ns += tally_self(&group->tally, node);
    bool alone = share_of(others_ns, group->wall_ns) < 1 - most_share;
    return alone ? rule_waits_in_function(s, group, classes, path) : path->ns;
}

/* " in ask a.py:20 > recvfrom socket", or " for the GPU, in cudaEventSynchronize", of a wait that
 * is shown as LEAF. */
static void add_wait_place(const struct shown_frame *leaf, const struct call_path *path,
                           struct text *words)
{
    if (leaf->asleep) {
        text_addf(words, " %s, ", spinning_words(leaf->asleep));
        add_place(words, path);
    } else {
        text_add(words, " in ");
        add_way(words, path);
    }
}

/* "main waits 60% of its time, 40% in ask a.py:20 > recvfrom socket." and for whom. */
void tell_waits(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct wait_facts *facts = f->facts;
    const struct call_path *path = &facts->path;
    const enum wait_class class = facts->wait.class;
    if (facts->joins) {
        add_joined(s, facts, words, f);
        return;
    }
    double here = share_of(waits_on_path(s, group, 1U << class, path), group->wall_ns);
    add_opening_part(group, class == CLASS_SLEEP ? "sleep" : "wait", f->share, here, words);
    add_wait_place(call_tree_node(s->g->tree, path->node).frame, path, words);
    text_add(words, ".");
    if (class == CLASS_SLEEP)
        add_polling(s, group, path->node, words);
    add_in_turn(s, group, words);
    add_kept_loop(s, group, path->node, words);
    add_other_side(s, group, facts, words, f);
    add_standoff(s, group, words, f);
    add_herd(s, group, path->node, words);
    lockstep_add(&facts->lockstep, group, words);
    add_second_wait(group, class, words);
    if (facts->commands)
        add_commands(s, group, facts->commands, words, f);
    add_starts(s, group, facts->commands, words, f);
    add_work_beside(s, group, path->node, words, f);
    returns_add_rest(s, group, words);
}

void release_waits(void *facts)
{
    struct wait_facts *f = facts;
    call_path_release(&f->path);
    kernel_side_release(&f->side);
    other_groups_release(&f->others);
    intervals_release(&f->waits);
    lockstep_release(&f->lockstep);
}
