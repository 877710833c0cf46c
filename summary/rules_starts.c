/* The rule about threads that start others all the time. */
#include "base/clock.h"
#include "summary/group_times.h"
#include "summary/known.h"
#include "summary/rule_classes.h"
#include "summary/rule_words.h"

static const double start_share = 0.25;        /* of a thread's time */
enum { LEAST_STARTS = 30, LEAST_JOINS = 100 }; /* fewer are a slow start of a few */
static const int64_t short_join_ns = NS_PER_MS / 2;
static const double most_computed = 0.5; /* of a join, by the thread that it waits for */

/* How many threads of PROCESS, at least, began and ended while it was recorded: no pool's do. */
static size_t seen_starts(const struct judgement *s, process_id process)
{
    size_t n = 0;
    for (size_t i = 0; i < s->g->summaries.n; i++) {
        const struct thread_summary *summary = &s->g->summaries.threads[i];
        const struct profile_thread *t = summary->thread;
        bool lived = (t->ended && t->start_ns > NS_PER_S / 10) || t->n_folded;
        n += t->process.ix == process.ix && lived ? summary->n_threads : 0;
    }
    if (profile_process_count(s->p) == 1) /* whose the others are is not known */
        n += (size_t)profile_number(s->p, METRIC_THREADS_WITHOUT_A_SAMPLE);
    return n;
}

static bool starts_thread(const struct shown_frame *f)
{
    return known_does(f, DOES_START_THREAD);
}

static bool joins_thread(const struct shown_frame *f)
{
    return known_does(f, DOES_JOIN_THREAD);
}

/* How often, and for how long each time, THREAD waits for a thread's end: by the kernel's count of
 * its switches there. */
static uint64_t joins_of(const struct judgement *s, const struct profile_thread *thread,
                         int64_t *ret_each)
{
    uint64_t n = 0;
    int64_t ns = 0;
    for (size_t k = 0; k < thread->n_runs; k++) {
        const struct run *run = &thread->runs[k];
        if (run->state != RUN_BLOCKED || !rule_stack_has(s, run->at, joins_thread))
            continue;
        n += run->weights.events.switches;
        ns += run->weights.wall_ns;
    }
    *ret_each = n ? ns / (int64_t)n : 0;
    return n;
}

/* Do the threads that THREAD joins, N for EACH_NS, hardly live?  What they compute is none of the
 * price of their starts, as what the kernel does for them is; it is at most what the process used
 * without THREAD. */
static bool hardly_live(const struct judgement *s, const struct profile_thread *thread, uint64_t n,
                        int64_t each_ns)
{
    const struct profile_process *process = profile_see_process(s->p, thread->process);
    double computed_ns = (double)(process->usage.user_ns - thread->usage.user_ns);
    double joined_ns = (double)n * (double)each_ns;
    return n >= LEAST_JOINS && each_ns <= short_join_ns && computed_ns <= most_computed * joined_ns;
}

static bool starts_or_joins(const struct shown_frame *f)
{
    return starts_thread(f) || joins_thread(f);
}

static bool starts_too_few(const struct judgement *s, const struct thread_group *group)
{
    struct stack_times times =
        rule_times_of(s, group->threads[0]->thread, COUNTED_ALL, starts_or_joins);
    intervals_release(&times.when);
    return share_of(times.wall_ns, group->wall_ns) < start_share ||
           seen_starts(s, group->threads[0]->thread->process) < LEAST_STARTS;
}

/* How long THREAD's RUN, a wait for the GIL, is for what another thread does in the user's code. */
static int64_t kept_ns(const struct judgement *s, const struct profile_thread *thread,
                       const struct run *run)
{
    const struct profile_thread *holder = holders_thread(s->holders, run);
    struct interval wait = interval_of_run(run);
    int64_t ns = 0;
    if (!holder || holder == thread || holder->n_folded || thread->n_folded)
        return 0;
    for (struct run_parts p = run_parts_of(holder, &wait, 1); run_parts_next(&p);)
        if (is_in_own_code(s->g->tree, call_tree_of(s->g->tree, p.run->at)))
            ns += p.when.end_ns - p.when.start_ns;
    return ns;
}

/* The same of all of its waits there: who computes is to blame, not the starts.  A thread that
 * begins has the GIL, too, and that is their price. */
static int64_t gil_ns(const struct judgement *s, const struct profile_thread *thread,
                      frame_test *there)
{
    int64_t ns = 0;
    for (size_t k = 0; k < thread->n_runs; k++) {
        const struct run *run = &thread->runs[k];
        if (class_of_run(s->g->tree, run) == CLASS_GIL && rule_stack_has(s, run->at, there))
            ns += kept_ns(s, thread, run);
    }
    return ns;
}

bool rule_may_see_starts(const struct judgement *s)
{
    return rule_has_frame(s, starts_or_joins);
}

/* When the only thread of GROUP starts threads or joins them, and for how long by the kernel's
 * counts: samples find one that sleeps ten thousand times a second asleep too often. */
static struct stack_times starts_and_joins_of(const struct judgement *s,
                                              const struct thread_group *group)
{
    static const unsigned active = 1U << COUNTED_CPU | 1U << COUNTED_RUNQUEUE;
    const struct profile_thread *thread = group->threads[0]->thread;
    struct stack_times ret = rule_times_of(s, thread, COUNTED_ALL, starts_or_joins);
    struct stack_times runs = rule_times_of(s, thread, active, starts_or_joins);
    int64_t sleeps_ns = ret.wall_ns - runs.wall_ns;
    ret.wall_ns = (int64_t)((double)runs.wall_ns * active_scale(group) +
                            (double)sleeps_ns * off_cpu_scale(group)) -
                  gil_ns(s, thread, starts_or_joins);
    intervals_release(&runs.when);
    return ret;
}

struct start_facts {
    struct call_path path;
    double joins; /* a second, whose waits are told, too */
};

/* The wait for a thread that hardly lives is a price of its start: for one that works it is not.
 * Where the starts alone are much, they are told alone. */
void rule_starts(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    const struct profile_thread *thread = group->threads[0]->thread;
    if (starts_too_few(s, group))
        return;
    size_t starts = seen_starts(s, thread->process);
    int64_t each_ns;
    uint64_t joins = joins_of(s, thread, &each_ns);
    struct stack_times times = rule_times_of(s, thread, COUNTED_ALL, starts_thread);
    times.wall_ns -= gil_ns(s, thread, starts_thread);
    if (share_of(times.wall_ns, group->wall_ns) >= start_share ||
        !hardly_live(s, thread, joins, each_ns)) {
        joins = 0;
    } else {
        intervals_release(&times.when);
        times = starts_and_joins_of(s, group);
    }
    struct start_facts facts = {.joins = rule_per_second_of_life(joins, group)};
    double share = share_of(times.wall_ns, group->wall_ns);
    add_figure(f, "share", share);
    add_figure(f, "starts_per_s", rule_per_second_of_life(joins > starts ? joins : starts, group));
    f->share = share;
    if (share >= start_share && rule_path_in(s, thread, &times, &facts.path))
        finding_applies(f, &facts, sizeof facts);
    intervals_release(&times.when);
}

/* "main spends 63% of its time starting threads and waiting for their ends, in f a.c:9: 4,100
 * threads a second." */
void tell_starts(const struct judgement *s, struct finding *f, struct text *words)
{
    const struct start_facts *facts = f->facts;
    const bool joins = facts->joins > 0;
    (void)s;
    add_opening(f->group, "spend", f->share, words);
    text_addf(words, " starting threads%s, ", joins ? " and waiting for their ends" : "");
    add_place(words, &facts->path);
    if (joins) {
        text_add(words, ": ");
        text_add_thousands(words, facts->joins);
        text_add(words, " threads a second");
    }
    text_add(words, ". Use a thread pool.");
}
