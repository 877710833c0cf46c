/* Rules about the CPU: why threads wait for one, what the kernel does for them, what they
 * compute. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/cpu_shortage.h"
#include "summary/group_facts.h"
#include "summary/known.h"
#include "summary/lockstep.h"
#include "summary/rule_classes.h"
#include "summary/rule_doing.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"
#include "summary/where.h"

static const double compute_share = 0.5;
static const double spins_share = 0.5;    /* of the time on a CPU and waiting for one */
static const double mostly_known = 0.5;   /* likewise */
static const double crowded_share = 0.25; /* of the time: a wait without a limit */

/* ---- waiting for a CPU ---- */

/* The counts of a thread are known up to its last sample.  Of one that lives for a tick or two that
 * is its birth, when it waits for its first CPU. */
static bool is_short_lived(const struct judgement *s, const struct thread_group *group)
{
    enum { LEAST_TICKS = 5 };
    double rate_hz = profile_number(s->p, METRIC_RATE_HZ);
    double ticks = rate_hz * (double)group->wall_ns / NS_PER_S;
    return rate_hz > 0 && ticks < LEAST_TICKS * (double)group->n_threads;
}

/* Where a thread waits for a CPU for less than twice as long as it runs, as it does where there are
 * two for each CPU, the wait belongs to what it computes, and rule_computes() says it, unless a
 * limit is the cause. */
static bool is_of_computing(const struct thread_group *group)
{
    return group->runqueue_ns < 2 * group->cpu_ns;
}

static bool is_worth_a_sentence(const struct thread_group *group, double share, bool limited)
{
    return limited || (share >= crowded_share && !is_of_computing(group));
}

/* Who spins in a function of their own while they wait for a CPU has nothing to do with one:
 * rule_spinning() says so. */
static bool mostly_spins(const struct thread_group *group, int64_t spins_ns)
{
    int64_t wanted_ns = group->cpu_ns + group->runqueue_ns;
    return share_of(spins_ns, wanted_ns) >= spins_share;
}

/* " Python's re compiles patterns for 82% of the time in which main runs or waits for a CPU: …" */
static void add_known_of_wanted(const struct judgement *s, const struct slow_part *known,
                                const struct thread_group *group, struct text *words,
                                struct finding *f)
{
    char *of = xasprintf("the time in which %s run%s or wait%s for a CPU", group->noun,
                         verb_s(group), verb_s(group));
    add_slow_code(s, known, group, of, words, f);
    free(of);
}

/* "4 ranks wait 40% of their time for a CPU, mainly in work a.py:2" */
static void add_wait(const struct judgement *s, const struct thread_group *group, const char *noun,
                     double share, struct text *words)
{
    struct call_path path;
    double part;
    text_addf(words, "%s wait%s ", noun, verb_s(group));
    add_percent(words, share);
    text_addf(words, " of %s time for a CPU", possessive(group));
    if (rule_path_of(s, group, WEIGHT_WALL, TALLY_RUNNING | TALLY_RUNNABLE, &path, &part)) {
        text_add(words, ", mainly ");
        add_place(words, &path);
        call_path_release(&path);
    }
}

/* Does KNOWN take most of what they want of a CPU?  Then their lack is its price. */
static bool is_known_price(const struct slow_part *known)
{
    return known->share >= mostly_known;
}

struct cpu_facts {
    struct cpu_shortage shortage;
    struct slow_part known; /* of what they want of a CPU */
};

void rule_cpu_wait(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    double share = share_of(group->runqueue_ns, group->wall_ns);
    add_figure(f, "share", share);
    f->share = share;
    if (share < worth_telling || is_short_lived(s, group) ||
        mostly_spins(group, group->class_ns[CLASS_SPIN]))
        return;
    const struct cpu_facts facts = {cpu_shortage_of(s, group), slow_code_of(s, group)};
    const bool limited = facts.shortage.limited;
    add_shortage_figures(&facts.shortage, f);
    if (facts.known.row)
        add_figure(f, "known_share", facts.known.share);
    /* On a busy machine each thread that wakes up waits for a moment, also who has little to do. */
    f->for_leaders = !limited;
    if (!limited && !is_known_price(&facts.known))
        f->kind = FINDING_BEHIND;
    bool spins = !limited && mostly_spins(group, rule_spins_ns(s, group));
    if (is_worth_a_sentence(group, share, limited) && !spins)
        finding_applies(f, &facts, sizeof facts);
}

void tell_cpu_wait(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct cpu_facts *facts = f->facts;
    struct text known = {0};
    add_known_of_wanted(s, &facts->known, group, &known, f);
    bool first = known.s && is_known_price(&facts->known);
    if (first)
        text_addf(words, "%s ", known.s + strlen(" "));
    add_wait(s, group, first ? group->plural ? "They" : "It" : group->noun, f->share, words);
    add_shortage(s, group, &facts->shortage, words);
    text_add(words, first || !known.s ? "" : known.s);
    text_release(&known);
}

/* ---- computing ---- */

/* GROUP's waits for a CPU that belong to what it computes.  A limit's are none: rule_cpu_wait()
 * tells of those. */
static int64_t waited_ns(const struct thread_group *group, const struct cpu_shortage *shortage)
{
    return is_of_computing(group) && !shortage->limited ? group->runqueue_ns : 0;
}

/* " and waited 16% for a CPU" */
static void add_waited(double waited, struct text *words, struct finding *f)
{
    text_add(words, " and waited ");
    add_percent(words, waited);
    text_add(words, " for a CPU");
    add_figure(f, "wait_cpu_share", waited);
}

/* What GROUP does in PATH; NULL: it computes there, or would if memory were there. */
static const char *waits_verb(const struct judgement *s, const struct thread_group *group,
                              const struct call_path *path)
{
    enum wait_class class = class_of_node(s->g->tree, path->node);
    if (class == CLASS_NONE || class == CLASS_PAGE)
        return NULL;
    if (class == CLASS_SLEEP)
        return group->plural ? "sleep" : "sleeps";
    return group->plural ? "wait" : "waits";
}

/* "; it is idle 60%", or "; it waits 40% in ask a.py:9 > recvfrom": in the heaviest of its paths
 * that is a wait. */
static void add_waits(const struct judgement *s, const struct thread_group *group,
                      struct text *words)
{
    static const double least_share = 0.2;
    double idle = share_of(group->class_ns[CLASS_IDLE], group->wall_ns);
    if (idle >= least_share) {
        text_addf(words, "; %s idle ", group->plural ? "they are" : "it is");
        add_percent(words, idle);
        return;
    }
    for (size_t i = 0; i < group->n_paths; i++) {
        const struct call_path *path = &group->paths[i];
        double here = share_of(path->ns, group->wall_ns);
        const char *verb = waits_verb(s, group, path);
        if (!verb || here < least_share || class_of_node(s->g->tree, path->node) == CLASS_SPIN)
            continue;
        text_addf(words, "; %s %s ", group->plural ? "they" : "it", verb);
        add_percent(words, here);
        text_add(words, " in ");
        add_way(words, path);
        return;
    }
}

/* ", 52% in walk a.py:3 and 20% in main a.py:9 > fold": where GROUP computes. */
static void add_places(const struct judgement *s, struct thread_group *group, struct text *words,
                       struct finding *f)
{
    struct call_path own = where_own(&group->tally, &group->paths[0], group->paths[0].ns);
    unsigned told = 0;
    size_t n = 0;
    if (own.ns) {
        text_add(words, ", ");
        told = where_add_own(s->g->tree, &own, group->paths, group->n_paths, group->wall_ns, words);
        n++;
    }
    add_figure(f, "heaviest_path_share",
               share_of(own.ns ? own.ns : group->paths[0].ns, group->wall_ns));
    for (size_t i = 0; i < group->n_paths && n < 2; i++) {
        double here = share_of(group->paths[i].ns, group->wall_ns);
        bool waits = waits_verb(s, group, &group->paths[i]) != NULL;
        if ((n && here < 0.1) || waits || told >> i & 1)
            continue;
        text_add(words, n++ ? " and " : ", ");
        add_percent(words, here);
        text_add(words, " in ");
        add_way(words, &group->paths[i]);
    }
    call_path_release(&own);
}

/* "6.0 s"; "its time" of threads that were not there for most of that. */
static void add_lifetime(const struct judgement *s, const struct thread_group *group,
                         struct text *words)
{
    static const double most_of_it = 0.9;
    if ((double)group->wall_ns >= most_of_it * (double)s->wall_ns * (double)group->n_threads)
        add_time(words, s->wall_ns);
    else
        text_addf(words, "%s time", possessive(group));
}

/* What part of GROUP's time is much: who leads in the main thread's place does so by what it does
 * outside of its waits for work. */
static double least_computing(const struct judgement *s, const struct thread_group *group)
{
    if (group != s->lead || group == groups_main(s->g))
        return compute_share;
    int64_t busy_ns = group->wall_ns - group->class_ns[CLASS_IDLE];
    return fmax(worth_telling, compute_share * share_of(busy_ns, group->wall_ns));
}

struct compute_facts {
    struct cpu_shortage shortage;
    double ran, waited; /* of the time: for a CPU, as far as that is told */
    struct lockstep lockstep;
};

void rule_computes(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct compute_facts facts = {.shortage = cpu_shortage_of(s, group)};
    int64_t ran_ns = group->cpu_ns - spinning_cpu_ns(s, group); /* which is no work */
    double waited = share_of(waited_ns(group, &facts.shortage), group->wall_ns);
    facts.ran = share_of(ran_ns, group->wall_ns);
    facts.waited = waited >= worth_telling ? waited : 0;
    add_figure(f, "share", facts.ran);
    f->share = facts.ran + waited;
    bool spins = 2 * ran_ns < group->cpu_ns; /* rule_spinning() tells of that */
    if (f->share < least_computing(s, group) || !group->n_paths || spins)
        return;
    facts.lockstep = lockstep_of(s, group, group->paths[0].node);
    f->also = facts.lockstep.n ? facts.lockstep.items[0].group->noun : NULL;
    finding_applies(f, &facts, sizeof facts);
}

/* Its allocator tells: most of its checks are no functions. */
static void add_sanitizer(const struct judgement *s, const struct thread_group *group,
                          struct text *words)
{
    const process_id process = group->threads[0]->thread->process;
    const char *allocator = profile_text(s->p, profile_see_process(s->p, process)->allocator);
    if (strstr(allocator, "Sanitizer"))
        text_addf(words,
                  " The program was built with %s (-fsanitize), which slows it down: measure a "
                  "build without it.",
                  allocator);
}

void tell_computes(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct compute_facts *facts = f->facts;
    const struct slow_part known = slow_code_of(s, group);
    text_addf(words, "%s compute%s: %s ran ", group->noun, verb_s(group),
              group->plural ? "they" : "it");
    add_percent(words, facts->ran);
    text_add(words, " of ");
    add_lifetime(s, group, words);
    if (facts->waited > 0)
        add_waited(facts->waited, words, f);
    add_places(s, group, words, f);
    add_waits(s, group, words);
    text_add(words, ".");
    if (facts->waited > 0) {
        add_known_of_wanted(s, &known, group, words, f);
        add_wanted_cpus(s, group, &facts->shortage, words);
    } else {
        add_slow_code(s, &known, group, group->plural ? "their CPU time" : "its CPU time", words,
                      f);
    }
    if (!known.row)
        add_sanitizer(s, group, words);
    lockstep_add(&facts->lockstep, group, words);
    add_kept_loop(s, group, group->paths[0].node, words);
}

void release_computes(void *facts)
{
    lockstep_release(&((struct compute_facts *)facts)->lockstep);
}

/* Is NODE in what ends the interpreter, once the program's code has ended? */
static bool is_at_python_end(const struct judgement *s, uint32_t node)
{
    for (; node; node = call_tree_node(s->g->tree, node).parent)
        if (known_does(call_tree_node(s->g->tree, node).frame, DOES_END_PYTHON))
            return true;
    return false;
}

/* Of TALLY's time: what is collected while the interpreter ends. */
static int64_t collected_at_end_ns(const struct judgement *s, struct tally *tally)
{
    int64_t ns = 0;
    for (uint32_t node = 1; node <= call_tree_count(tally->tree); node++)
        if (node_collects(tally->tree, node) && is_at_python_end(s, node))
            ns += tally_total(tally, node);
    return ns;
}

struct gc_facts {
    struct call_path path; /* on which it is mainly called */
    int64_t ns;            /* in all */
};

void rule_collects(const struct judgement *s, struct thread_group *group, struct finding *f)
{
    struct gc_facts facts = {.ns = 0};
    (void)doing_collects(&group->tally, &facts.path, &facts.ns);
    f->share = share_of(facts.ns, group->wall_ns);
    add_figure(f, "share", f->share);
    if (f->share >= worth_telling && !facts_about(s, group)->pauses_told)
        finding_applies(f, &facts, sizeof facts);
    else
        call_path_release(&facts.path);
}

void tell_collects(const struct judgement *s, struct finding *f, struct text *words)
{
    struct thread_group *group = f->group;
    const struct gc_facts *facts = f->facts;
    int64_t end_ns = collected_at_end_ns(s, &group->tally);
    bool at_end = 2 * end_ns >= facts->ns;
    add_opening(group, "spend", share_of(at_end ? end_ns : facts->ns, group->wall_ns), words);
    text_add(words, " collecting garbage");
    if (at_end) {
        text_add(words, " while the interpreter ends. os._exit() skips that; what is open must be "
                        "flushed before.");
        return;
    }
    if (facts->path.caller && !is_at_python_end(s, facts->path.node))
        text_addf(words, ", mainly called from %s", facts->path.caller);
    text_add(words, ".");
    text_add(words, collector_remedy);
}
