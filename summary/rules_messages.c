/* The rule about the CPU time that processes spend on data for each other. */
#include <inttypes.h>

#include "summary/rule_classes.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"

static const double told_share = 0.3; /* of all CPU time */
static const double least_cpus = 0.2;
enum {
    LEAST_READS = 1000, /* of those that do little else */
    SHORT_READ = 4096,  /* bytes; a message takes two reads or more, one for each 64 KiB */
};
static const double mostly = 0.5;     /* of a thread's CPU time, or of what all work */
static const double much_of_it = 0.5; /* of a main thread's time */

/* A group that does, and its thread that does for longest. */
struct passer {
    const struct thread_group *group;
    const struct profile_thread *thread;
    int64_t ns, thread_ns;
    int64_t reading_ns;         /* of NS, of the threads that do little else */
    uint64_t reads, read_bytes; /* of those threads: what others read may be files */
};

static struct passer passer_of(const struct judgement *s, const struct thread_group *group)
{
    struct passer ret = {.group = group};
    for (size_t i = 0; i < group->n; i++) {
        const struct profile_thread *thread = group->threads[i]->thread;
        struct stack_times times = rule_times_of(s, thread, 1U << COUNTED_CPU, frame_passes_data);
        ret.ns += times.counted_ns;
        if (share_of(times.counted_ns, group->threads[i]->cpu_ns) >= mostly) {
            ret.reading_ns += times.counted_ns;
            ret.reads += thread->usage.reads;
            ret.read_bytes += thread->usage.read_bytes;
        }
        if (times.counted_ns > ret.thread_ns) {
            ret.thread = thread;
            ret.thread_ns = times.counted_ns;
        }
        intervals_release(&times.when);
    }
    return ret;
}

/* " Most of it is in 4 python3 processes, in main a.py:6 > SimpleQueue.get." */
static void add_passer(const struct judgement *s, const struct passer *p, struct text *out)
{
    struct call_path path;
    struct stack_times times = rule_times_of(s, p->thread, 1U << COUNTED_CPU, frame_passes_data);
    if (rule_path_in(s, p->thread, &times, &path)) {
        text_addf(out, " Most of it is in %s, in ", p->group->noun);
        add_way(out, &path);
        text_add(out, ".");
        call_path_release(&path);
    }
    intervals_release(&times.when);
}

struct message_facts {
    struct call_path line;           /* of the user, who has it done */
    double line_share;               /* of USER's time, there */
    const struct thread_group *user; /* NULL: nobody */
    struct passer best, all;
};

/* The user's line that has it done, of the leader, or of the main thread that is there for longest:
 * that of a manager's process is where it was forked.  None of the threads that do it is called by
 * the user; a worker, P's, is in its own first function.  Where the leader passes them itself the
 * sentence of P has its line. */
static void find_user(const struct judgement *s, const struct passer *p,
                      struct message_facts *facts)
{
    const struct thread_group *user = NULL;
    struct call_path best = {.caller = NULL};
    double most = much_of_it;
    for (size_t i = 0; i < s->g->n && p->group != s->lead; i++) {
        struct thread_group *group = &s->g->items[i];
        if (group->idle || group == p->group || !group->threads[0]->thread->main)
            continue;
        struct call_path own = call_path_own(&group->tally);
        double share = share_of(own.ns, group->wall_ns);
        double least = group == s->lead ? much_of_it : most;
        bool better = own.caller && share >= least && user != s->lead;
        struct call_path worse = better ? best : own;
        best = better ? own : best;
        most = better ? share : most;
        user = better ? group : user;
        call_path_release(&worse);
    }
    facts->line = best;
    facts->line_share = most;
    facts->user = user;
}

/* ", while main is 99% in score a.py:15" */
static void add_user(const struct message_facts *facts, struct text *out)
{
    text_addf(out, ", while %s %s ", facts->user->noun, facts->user->plural ? "are" : "is");
    add_percent(out, facts->line_share);
    text_add(out, " in ");
    add_name(out, facts->line.caller);
}

/* What threads work in some time, and how much of that is data. */
struct work {
    int64_t passing_ns, busy_ns;
};

static void add_work(const struct judgement *s, const struct profile_thread *thread,
                     const struct intervals *when, struct work *w)
{
    const unsigned works = 1U << COUNTED_CPU | 1U << COUNTED_RUNQUEUE;
    for (struct run_parts p = run_parts_of(thread, when->items, when->n); run_parts_next(&p);) {
        if (!(works >> run_counted(p.run) & 1))
            continue;
        w->busy_ns += p.when.end_ns - p.when.start_ns;
        if (rule_stack_has(s, p.run->at, frame_passes_data))
            w->passing_ns += p.when.end_ns - p.when.start_ns;
    }
}

/* For how long THREAD, of the leader, passes data itself, or waits for others who do: their work in
 * its waits stands for these, if most of it is that. */
static double taken_ns(const struct judgement *s, const struct profile_thread *thread)
{
    struct stack_times own =
        rule_times_of(s, thread, 1U << COUNTED_CPU | 1U << COUNTED_RUNQUEUE, frame_passes_data);
    struct intervals waits = intervals_of(s, thread, 1U << CLASS_ORDINARY);
    struct work others = {0};
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *group = &s->g->items[i];
        for (size_t k = 0; group != s->lead && k < group->n; k++)
            if (!group->threads[k]->thread->n_folded)
                add_work(s, group->threads[k]->thread, &waits, &others);
    }
    double part = share_of(others.passing_ns, others.busy_ns);
    double ns = (double)own.wall_ns + (part >= mostly ? part * (double)intervals_ns(&waits) : 0);
    intervals_release(&own.when);
    intervals_release(&waits);
    return ns;
}

/* Of the leader's time; of many threads the first few stand for all. */
static double taken_of_leader(const struct judgement *s)
{
    enum { MOST_ASKING = 16 };
    double ns = 0;
    int64_t all_ns = 0;
    for (size_t i = 0; s->lead && i < s->lead->n && i < MOST_ASKING; i++) {
        const struct profile_thread *thread = s->lead->threads[i]->thread;
        if (thread->n_folded)
            continue;
        ns += taken_ns(s, thread);
        all_ns += thread->end_ns - thread->start_ns;
    }
    return all_ns ? ns / (double)all_ns : 0;
}

/* Is it the number of messages that costs, and not their size, by ALL of those that pass them? */
static bool are_small(const struct passer *all)
{
    return all->reads >= LEAST_READS && 2 * all->reading_ns >= all->ns &&
           all->read_bytes / all->reads < SHORT_READ;
}

static bool is_of_tasks(const struct shown_frame *f)
{
    return known_does(f, DOES_SEND_TASKS);
}

/* " The messages are small: 84,000 reads a second. Send more in each (chunksize).", with what is
 * known of the library by which the user sends them, or else the passer. */
static void add_size(const struct judgement *s, const struct message_facts *facts, struct text *out,
                     struct finding *f)
{
    const struct passer *all = &facts->all;
    double reads = rule_per_second(all->reads, s);
    bool small = are_small(all);
    add_figure(f, "reads_per_s", reads);
    if (small) {
        text_addf(out, " The messages are small: %" PRIu64 " bytes a read, ",
                  all->read_bytes / all->reads);
        text_add_thousands(out, reads);
        text_add(out, " reads a second.");
    }
    if ((!facts->user || add_slow_code_of(s, facts->user, out, f) <= 0) &&
        add_slow_code_of(s, facts->best.group, out, f) <= 0)
        text_add(out, small ? " Send more in each (chunksize)."
                            : " Send less per message, or share memory.");
    if (!small && rule_thread_has(s, facts->best.group->threads[0]->thread, is_of_tasks))
        text_add(out, " A task that is a method takes its object along: initializer= gives it to "
                      "each process once.");
}

void rule_messages(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct passer best = {0};
    struct passer all = {0};
    int64_t cpu_ns = 0;
    (void)group;
    if (!rule_has_frame(s, frame_passes_data))
        return;
    for (size_t i = 0; i < s->g->n; i++) {
        struct passer p = passer_of(s, &s->g->items[i]);
        best = p.ns > best.ns ? p : best;
        all.ns += p.ns;
        all.reading_ns += p.reading_ns;
        all.reads += p.reads;
        all.read_bytes += p.read_bytes;
        cpu_ns += s->g->items[i].cpu_ns;
    }
    double share = share_of(all.ns, cpu_ns);
    add_figure(f, "share", share);
    add_figure(f, "cpus", share_of(all.ns, s->wall_ns));
    f->share = share;
    if (!best.thread || !is_judged(best.group) || share < told_share ||
        share_of(all.ns, s->wall_ns) < least_cpus)
        return;
    struct message_facts facts = {.best = best, .all = all};
    find_user(s, &best, &facts);
    f->of_leader = taken_of_leader(s);
    f->also = best.group->noun;
    finding_applies(f, &facts, sizeof facts);
}

void tell_messages(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct message_facts *facts = f->facts;
    text_add(words, "Passing data between processes takes ");
    add_percent(words, f->share);
    text_add(words, " of the CPU time");
    if (facts->user)
        add_user(facts, words);
    text_add(words, ".");
    add_passer(s, &facts->best, words);
    add_size(s, facts, words, f);
}
