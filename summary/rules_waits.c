/* Rules about long waits that nothing explains. */
#include <stdlib.h>

#include "summary/commands.h"
#include "summary/delays.h"
#include "summary/group_facts.h"
#include "summary/heaviest_paths.h"
#include "summary/kernel_side.h"
#include "summary/known.h"
#include "summary/leader.h"
#include "summary/lockstep.h"
#include "summary/polling.h"
#include "summary/returns.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/where.h"

static const double most_share = 0.95; /* that is as good as all */
/* Of a thread's time: that two things coincide for less says little of either. */
static const double long_wait = 0.3;
static const double plain_wait = 0.5, works_share = 0.02;
static const double idle_leader = 0.75; /* of its time: the rest takes requests, starts threads */
static const double imports_much = 0.3; /* of the time of processes that another one starts */
enum { MOST_KINDS = 2 };                /* of others that are told */

/* ---- what the others do ---- */

/* Does GROUP mostly wait for somebody to wake it? */
static bool is_to_be_woken(const struct judgement *s, const struct thread_group *group)
{
    return group->n_paths &&
           call_tree_node(s->g->tree, group->paths[0].node).futex == FUTEX_CONDITION;
}

/* Does OTHER only sleep, and wakes up far too seldom to end that many WAITS?  Threads that come and
 * go may be waited for until they end. */
static bool sleeps_too_long(const struct judgement *s, const struct thread_group *other,
                            double waits)
{
    enum { WAITS_A_SLEEP = 4 };
    return !group_comes_and_goes(s->g, other) &&
           share_of(other->class_ns[CLASS_SLEEP], other->wall_ns) >= most_share &&
           (double)rule_usage_of(other).voluntary * WAITS_A_SLEEP < waits;
}

/* The groups but GROUP that have something to do, of its process if INSIDE, at most MAX: those
 * first who may wake the others; none that could not end WAITS (0: whoever).  Returns how many
 * there are. */
static size_t others_of(const struct judgement *s, const struct thread_group *group, bool inside,
                        double waits, struct thread_group **ret, size_t max)
{
    uint32_t process = group->threads[0]->thread->process.ix;
    size_t n = 0;
    for (int woken = 0; woken <= 1; woken++)
        for (size_t i = 0; i < s->g->n; i++) {
            struct thread_group *other = &s->g->items[i];
            bool elsewhere = other->threads[0]->thread->process.ix != process;
            if (other == group || other->idle || other->launches || (inside && elsewhere) ||
                is_to_be_woken(s, other) != woken || sleeps_too_long(s, other, waits))
                continue;
            if (n < max)
                ret[n] = other;
            n++;
        }
    return n;
}

/* ": it sleeps 100 times a second, 10 ms each." where OTHER does at NODE, or waits with a time-out;
 * else the full stop. */
static void add_how_it_sleeps(const struct judgement *s, struct thread_group *other, uint32_t node,
                              struct text *words)
{
    bool sleeps = node && class_of_node(s->g->tree, node) == CLASS_SLEEP;
    bool timed = node && !sleeps && polling_has_time_out(s, other, node);
    struct polling p = {0};
    if (sleeps || timed)
        p = polling_at(s, other, node);
    if (polling_is_often(&p)) {
        text_addf(words, "%s: %s ", timed ? ", with a time-out" : "",
                  other->plural ? "each" : "it");
        polling_add_times(&p, timed ? "waits" : "sleeps", words);
    } else {
        text_add(words, ".");
    }
}

/* " 4 till threads are 75% in sell till.py:20 > mutex.", and whom they wait for. */
static void add_other(const struct judgement *s, struct thread_group *other,
                      const struct where *where, struct text *words, struct finding *f)
{
    f->also = f->also ? f->also : other->noun;
    text_addf(words, " %s %s ", other->noun, other->plural ? "are" : "is");
    where_add(s->g->tree, where, words);
    add_how_it_sleeps(s, other, where->node, words);
    if (where->node && add_kernel_side(s, other, where->node, true, words, f))
        add_what_it_does(s, other, where->node, words, f);
}

/* Is OTHER a main thread that only sleeps, or waits for others' end?  It looks after them. */
static bool looks_after(const struct judgement *s, const struct thread_group *other)
{
    if (!other->threads[0]->thread->main || !other->n_paths)
        return false;
    bool joins = call_tree_node(s->g->tree, other->paths[0].node).futex == FUTEX_JOIN;
    int64_t ns = joins ? other->paths[0].ns : other->class_ns[CLASS_SLEEP];
    return share_of(ns, other->wall_ns) >= most_share;
}

/* Who waits for others, for their end or a result of theirs, is no news: what these do is, unless
 * there are many kinds of them.  " 4 till threads are 75% in sell till.py:20 > mutex." */
static void add_others(const struct judgement *s, const struct thread_group *group, bool inside,
                       double waits, struct text *words, struct finding *f)
{
    struct thread_group *others[MOST_KINDS];
    struct where where;
    size_t n = others_of(s, group, inside, waits, others, MOST_KINDS);
    for (size_t i = 0; i < n && n <= MOST_KINDS; i++) {
        if ((n > 1 && looks_after(s, others[i])) || !where_of(&others[i]->tally, &where))
            continue;
        if (where_share(&where) >= worth_telling) /* who else idles */
            add_other(s, others[i], &where, words, f);
        where_release(&where);
    }
}

/* What the others do while GROUP waits, who may be of other processes: one of them has what it
 * waits for. */
static void add_others_meanwhile(const struct judgement *s, const struct thread_group *group,
                                 struct text *words, struct finding *f)
{
    struct thread_group *others[MOST_KINDS];
    size_t n = others_of(s, group, false, 0, others, MOST_KINDS);
    struct intervals waits = intervals_of(s, group->threads[0]->thread, 1U << CLASS_ORDINARY);
    for (size_t i = 0; i < n && n <= MOST_KINDS && waits.n; i++) {
        (void)add_meanwhile(s, others[i], &waits, words, f);
        f->also = f->also ? f->also : others[i]->noun;
    }
    intervals_release(&waits);
}

/* One of the others has the lock, then. */
static void add_unknown_holder(const struct judgement *s, const struct thread_group *group,
                               enum futex_kind kind, struct text *words, struct finding *f)
{
    text_addf(words, " The lock's holder is unknown%s.",
              kind == FUTEX_RWLOCK ? ": readers leave no name in an rwlock" : "");
    add_others(s, group, true, 0, words, f);
}

/* Who holds the locks that GROUP waits for, as far as no other rule tells. */
static void add_lock_holder(const struct judgement *s, const struct thread_group *group,
                            enum futex_kind kind, struct text *words, struct finding *f)
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
        add_unknown_holder(s, group, kind, words, f);
        break;
    }
}

/* How often each thread of GROUP was woken in its wait at NODE; 0: not for a condition. */
static double times_woken(const struct judgement *s, struct thread_group *group, uint32_t node)
{
    bool condition = call_tree_node(s->g->tree, node).futex == FUTEX_CONDITION;
    return condition ? polling_at(s, group, node).sleeps : 0;
}

static bool is_epoll(const struct call_tree *t, uint32_t node, const void *unused)
{
    const struct shown_frame *f = call_tree_node(t, node).frame;
    (void)unused;
    return f->kind == SHOWN_WAIT && f->wait == WAIT_CALL && str_starts(f->call, "epoll_");
}

static void add_who_asks(const struct judgement *s, const struct thread_group *group, uint32_t node,
                         struct text *words, struct finding *f)
{
    const struct thread_group *found = go_between_of(s, group, node);
    add_go_between(s, found, words);
    f->also = !f->also && found ? found->noun : f->also;
}

/* The other side of the wait that PATH ends in, as far as it is known. */
static void add_other_side(const struct judgement *s, struct thread_group *group,
                           const struct call_path *path, struct text *words, struct finding *f)
{
    const struct call_node node = call_tree_node(s->g->tree, path->node);
    const struct profile_process *process =
        profile_see_process(s->p, group->threads[0]->thread->process);
    double cpus = share_of(process->children_cpu_ns, s->wall_ns);
    /* The kernel adds a child's whole life when it ends. */
    bool in_time = cpus <= profile_see_host(s->p)->cpus_online;
    add_meaning(s, path->node, words);
    /* What an epoll lists says how it is woken, and not why, where that is known. */
    bool told = meaning_of(s->g->tree, path->node) && is_epoll(s->g->tree, path->node, NULL);
    if (!told && add_kernel_side(s, group, path->node, true, words, f))
        add_what_it_does(s, group, path->node, words, f);
    add_turns_to_serve(s, group, path->node, words);
    add_delay(s, group, path->node, words, f);
    if (node.frame->call && str_starts(node.frame->call, "wait") && cpus > 0 && in_time) {
        add_figure(f, "children_cpus", cpus);
        text_addf(words, " Its children used %.1f CPU%s.", cpus, cpus < 1.05 ? "" : "s");
    } else if (node.futex == FUTEX_LOCK || node.futex == FUTEX_RWLOCK) {
        add_lock_holder(s, group, node.futex, words, f);
    } else if (node.frame->call && str_starts(node.frame->call, "futex")) {
        /* Mostly a thread of the same process wakes it. */
        bool inside = others_of(s, group, true, 0, NULL, 0) > 0;
        add_others(s, group, inside, times_woken(s, group, path->node), words, f);
        if (!inside)
            add_who_asks(s, group, path->node, words, f);
    } else if (waits_for_sqlite(s->g->tree, path->node)) {
        add_others_meanwhile(s, group, words, f);
    } else {
        add_who_asks(s, group, path->node, words, f);
    }
}

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
    if (d.words) {
        text_add(words, " For ");
        add_percent(words, share_of(d.ns, sum->all_ns));
        text_addf(words, " of their time they are %s.", d.words);
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

/* " It starts one process after the other: 33 in 6.0 s." and what they do: nothing where GROUP's
 * does not.  Returns how many there were. */
static size_t add_commands(const struct judgement *s, const struct thread_group *group,
                           struct text *words, struct finding *f)
{
    const struct profile_thread *parent = group->threads[0]->thread;
    struct commands c = commands_of(s->p, parent->process);
    if (!parent->main || !commands_in_turn(s->p, &c))
        return 0;
    text_addf(words, " It starts one process after the other: %zu in ", c.n);
    add_time(words, s->wall_ns);
    text_add(words, ".");
    add_figure(f, "commands", (double)c.n);
    struct tally sum;
    tally_init(&sum, s->g->tree, TALLY_ALL);
    const struct thread_group *most = NULL;
    int64_t ns = 0;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct profile_thread *t = s->g->summaries.threads[i].thread;
        if (!commands_has(s->p, t, parent->process))
            continue;
        const struct thread_group *one = groups_of(s->g, t);
        most = one && (!most || one->n_threads > most->n_threads) ? one : most;
        tally_add_thread(&sum, t);
        ns += imports_ns(s, t);
    }
    add_what_they_do(s, &sum, ns, words);
    f->also = !f->also && most ? most->noun : f->also;
    tally_release(&sum);
    return c.n;
}

/* Does GROUP only wait for the end of threads that are busy themselves?  Then they are the
 * story. */
static bool joins_others(const struct judgement *s, const struct thread_group *group,
                         const struct call_path *path)
{
    return call_tree_node(s->g->tree, path->node).futex == FUTEX_JOIN &&
           rule_others_active_ns(s, group) > group->wall_ns / 10;
}

/* What rule_waits() tells of a group. */
struct told_wait {
    enum wait_class class;
    bool lock;
    int64_t ns;
    double least; /* of the group's time: for less it is not told */
};

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

/* "handler-0 is 100% in ask a.py:20 > recvfrom socket.  main only waits for them to end.": who only
 * joins others is no news, these are.  False: there are many kinds of them, or none. */
static bool add_joined(const struct judgement *s, const struct thread_group *group,
                       const struct call_path *path, double share, struct text *words,
                       struct finding *f)
{
    struct text others = {0};
    struct thread_group *joined[MOST_KINDS];
    if (call_tree_node(s->g->tree, path->node).futex != FUTEX_JOIN || share < most_share)
        return false;
    add_others(s, group, true, 0, &others, f);
    if (others.len) {
        text_addf(words, "%s %s only wait%s for them to end.", others.s + 1, group->noun,
                  verb_s(group));
        if (others_of(s, group, true, 0, joined, MOST_KINDS) == 1)
            add_in_turn(joined[0], words);
    }
    text_release(&others);
    return words->len > 0;
}

/* " main sleeps another 44% in pace a.py:13 > clock_nanosleep.": GROUP's other long wait, beside
 * those of CLASS. */
static void add_second_wait(struct thread_group *group, enum wait_class class, struct text *words)
{
    struct call_path path;
    enum wait_class second = second_wait(group, class);
    if (second == CLASS_NONE || !heaviest_in_class(&group->tally, second, &path))
        return;
    const char *verb = second == CLASS_SLEEP ? "sleep" : "wait";
    text_addf(words, " %s %s%s another ", group->noun, verb, verb_s(group));
    add_percent(words, share_of(group->class_ns[second], group->wall_ns));
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

/* "main waits 60% of its time, 40% in ask a.py:20 > recvfrom socket." and for whom, in CLASS. */
static void add_own_wait(const struct judgement *s, struct thread_group *group,
                         const struct call_path *path, enum wait_class class, double share,
                         struct text *words, struct finding *f)
{
    double here = share_of(waits_on_path(s, group, 1U << class, path), group->wall_ns);
    add_opening_part(group, class == CLASS_SLEEP ? "sleep" : "wait", share, here, words);
    text_add(words, " in ");
    add_way(words, path);
    text_add(words, ".");
    if (class == CLASS_SLEEP)
        add_polling(s, group, path->node, words);
    add_in_turn(group, words);
    add_kept_loop(s, group, path->node, words);
    add_other_side(s, group, path, words, f);
    add_lockstep(s, group, path->node, words, f);
    add_second_wait(group, class, words);
    size_t commands = add_commands(s, group, words, f);
    if (commands) /* what each of these does comes behind that there are so many */
        f->kind = FINDING_EXPLAINS;
    add_starts(s, group, commands, words, f);
    returns_add_rest(s, group, words);
}

/* Is GROUP's wait for work?  Nobody asks for what a helper waits that hardly ever ran; but of a
 * known pool, whose waits for work are known. */
static bool has_nothing_to_do(const struct judgement *s, const struct thread_group *group,
                              const struct told_wait *wait, const struct call_path *path)
{
    bool works = share_of(group->cpu_ns, group->wall_ns) >= works_share;
    bool is_server = !group->leads && serves(s, group, wait->class, path);
    return group != s->lead && !works && !is_server && !wait->lock && !group->threads[0]->of_pool;
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

/* What GROUP waits for longest: of those that waits_for_unknown(), if LOCKS, or of all others. */
static void judge_waits(const struct judgement *s, struct thread_group *group, bool locks,
                        struct finding *f)
{
    struct told_wait wait = wait_to_tell(s, group);
    double share = share_of(wait.ns, group->wall_ns);
    struct call_path path;
    add_figure(f, "share", share);
    f->share = share;
    if (locks != waits_for_unknown(s, group, &wait) || share < wait.least ||
        !heaviest_in_class(&group->tally, wait.class, &path))
        return;
    if (has_nothing_to_do(s, group, &wait, &path)) {
        call_path_release(&path);
        return;
    }
    if (wait.class == CLASS_SLEEP)
        f->kind = FINDING_SLEEPS;
    struct text words = {0};
    if (!add_joined(s, group, &path, share, &words, f))
        add_own_wait(s, group, &path, wait.class, share, &words, f);
    if (joins_others(s, group, &path))
        text_release(&words);
    f->words = words.s;
    call_path_release(&path);
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
