#include "summary/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/findings_tell.h"
#include "summary/group_facts.h"
#include "summary/leader.h"
#include "summary/ranking.h"
#include "summary/rule_words.h"
#include "summary/slow_code.h"
#include "summary/wait_text.h"

/* The rules.  Of findings that explain about as much the earlier rule's comes first. */
#define OF(cause) (1U << CAUSE_##cause)
enum {
    COMPUTING = OF(COMPUTES) | OF(CPU),
    WAITS = OF(LOCK) | OF(JOIN) | OF(CONDITION) | OF(CHILD) | OF(PEER) | OF(GIL),
    ANY = ~0U >> 1,
    WAITS_FOR_WORK = OF(IDLE) | OF(PEER) | OF(CONDITION) | OF(TIMER),
};
static const struct rule {
    const char *key;
    rule_judge *judge;
    rule_tell *tell;
    rule_release *release; /* NULL: its facts own nothing */
    unsigned causes;       /* that it speaks of, in the ledger */
    bool of_all;           /* judges everything at once, not one group after the other */
    /* What others do that it applies to, too, "import%s modules": they are named.  NULL: not. */
    const char *alike;
    enum finding_kind kind; /* unless the judge says another one */
    bool aside;             /* as in struct finding */
    bool of_threads;        /* judges each thread of a group by itself */
    rule_may *may;          /* judges only if this says that it may find any; NULL: always */
    /* Judges by the kernel's counts, which are exact however few samples there are. */
    bool counted;
    bool of_cpu;       /* as in struct finding */
    bool of_launchers; /* judges them, too: who starts one child after the other hardly runs */
} rules[] = {
    {.key = "only_children",
     .judge = rule_only_children,
     .tell = tell_only_children,
     .causes = OF(CHILD),
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "deadlock",
     .judge = rule_deadlock,
     .tell = tell_circle,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "circular_wait",
     .judge = rule_circular_wait,
     .tell = tell_circle,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "stuck",
     .judge = rule_stuck,
     .tell = tell_stuck,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "stopped",
     .judge = rule_stopped,
     .tell = tell_stopped,
     .causes = OF(STOPPED),
     .of_all = true},
    {.key = "differs", .judge = rule_differs, .tell = tell_differs, .causes = ANY, .of_all = true},
    /* Before those that only say whose connecting the leader waits for. */
    {.key = "unanswered",
     .judge = rule_connect,
     .tell = tell_connect,
     .release = release_path,
     .causes = OF(PEER),
     .of_all = true},
    {.key = "waits_for",
     .judge = rule_held,
     .tell = tell_held,
     .release = release_held,
     .causes = OF(LOCK) | OF(JOIN)},
    {.key = "uneven",
     .judge = rule_uneven,
     .tell = tell_uneven,
     .release = release_uneven,
     .causes = OF(CONDITION) | OF(LOCK),
     .of_all = true},
    {.key = "waits_meanwhile",
     .judge = rule_waits_meanwhile,
     .tell = tell_waits_meanwhile,
     .release = release_waits_meanwhile,
     .causes = WAITS},
    {.key = "exhausted",
     .judge = rule_exhausted,
     .tell = tell_exhausted,
     .release = release_exhausted,
     .causes = OF(CONDITION) | OF(LOCK),
     .of_all = true,
     .aside = true},
    {.key = "polls",
     .judge = rule_polls,
     .tell = tell_polls,
     .release = release_polls,
     .causes = OF(TIMER) | WAITS,
     .of_launchers = true},
    {.key = "thread_starts",
     .judge = rule_starts,
     .tell = tell_starts,
     .release = release_path,
     .causes = OF(STARTS) | OF(JOIN),
     .alike = "start%s threads",
     .of_threads = true,
     .may = rule_may_see_starts},
    {.key = "gil", .judge = rule_gil, .tell = tell_gil, .release = release_gil, .causes = OF(GIL)},
    {.key = "contention",
     .judge = rule_contention,
     .tell = tell_contention,
     .release = release_contention,
     .causes = OF(LOCK)},
    {.key = "malloc_arena",
     .judge = rule_malloc_arena,
     .tell = tell_malloc_arena,
     .causes = OF(LOCK)},
    {.key = "libc_lock", .judge = rule_libc_lock, .tell = tell_libc_lock, .causes = OF(LOCK)},
    {.key = "slow_files",
     .judge = rule_files,
     .tell = tell_files,
     .release = release_files,
     .causes = OF(FILE)},
    {.key = "gc",
     .judge = rule_collects,
     .tell = tell_collects,
     .release = release_path,
     .causes = OF(GC),
     .alike = "collect%s garbage"},
    {.key = "imports",
     .judge = rule_imports,
     .tell = tell_imports,
     .release = release_imports,
     .causes = OF(IMPORTS),
     .alike = "import%s modules"},
    {.key = "messages",
     .judge = rule_messages,
     .tell = tell_messages,
     .release = release_path,
     .causes = OF(PICKLES),
     .of_all = true,
     .of_cpu = true},
    {.key = "cpu_wait",
     .judge = rule_cpu_wait,
     .tell = tell_cpu_wait,
     .causes = COMPUTING,
     .counted = true,
     .alike = "wait%s for a CPU"},
    {.key = "openmp_runtimes",
     .judge = rule_openmp_runtimes,
     .tell = tell_openmp_runtimes,
     .causes = OF(SPINS),
     .of_all = true,
     .of_cpu = true},
    {.key = "major_faults",
     .judge = rule_major_faults,
     .tell = tell_major_faults,
     .release = release_path,
     .causes = OF(PAGE)},
    {.key = "numa_balancing",
     .judge = rule_numa_balancing,
     .tell = tell_numa_balancing,
     .causes = OF(NUMA),
     .counted = true},
    {.key = "page_faults",
     .judge = rule_page_faults,
     .tell = tell_page_faults,
     .release = release_path,
     .causes = OF(FAULTS),
     .counted = true},
    {.key = "switches",
     .judge = rule_switches,
     .tell = tell_switches,
     .release = release_path,
     .causes = COMPUTING | WAITS,
     .counted = true,
     .kind = FINDING_BEHIND,
     .aside = true},
    {.key = "spinning",
     .judge = rule_spinning,
     .tell = tell_spinning,
     .release = release_spinning,
     .causes = OF(SPINS)},
    {.key = "no_free_thread",
     .judge = rule_executor,
     .tell = tell_executor,
     .causes = OF(IDLE),
     .alike = "lack%s a free thread",
     .of_threads = true,
     .may = rule_may_see_tasks},
    {.key = "tasks_wait",
     .judge = rule_tasks,
     .tell = tell_tasks,
     .causes = OF(IDLE),
     .alike = "run%s a loop whose tasks wait",
     .of_threads = true,
     .may = rule_may_see_tasks},
    {.key = "ready_loop",
     .judge = rule_ready_loop,
     .tell = tell_ready_loop,
     .release = release_ready_loop,
     .causes = COMPUTING,
     .alike = "run%s such a loop",
     .of_threads = true,
     .may = rule_may_see_loops},
    {.key = "event_loop",
     .judge = rule_event_loop,
     .tell = tell_event_loop,
     .release = release_event_loop,
     .causes = OF(IDLE),
     .kind = FINDING_BEHIND},
    {.key = "stalls",
     .judge = rule_stalls,
     .tell = tell_stalls,
     .release = release_stalls,
     .causes = ANY & ~WAITS_FOR_WORK,
     .kind = FINDING_BEHIND},
    {.key = "none_ran",
     .judge = rule_none_ran,
     .tell = tell_none_ran,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_DESCRIBES},
    {.key = "waits",
     .judge = rule_waits,
     .tell = tell_waits,
     .release = release_waits,
     .causes = WAITS | OF(TIMER) | OF(DEVICE) | OF(PAGE) | OF(UNKNOWN),
     .kind = FINDING_DESCRIBES},
    {.key = "waits_lock",
     .judge = rule_waits_for_lock,
     .tell = tell_waits,
     .release = release_waits,
     .causes = OF(LOCK)},
    {.key = "computes",
     .judge = rule_computes,
     .tell = tell_computes,
     .release = release_computes,
     .causes = COMPUTING,
     .kind = FINDING_DESCRIBES},
};
enum { N_RULES = sizeof rules / sizeof *rules, OWN_FINDINGS = 2 };

/* Was a group watched for long enough for its counts to say something? */
static bool is_counted(const struct thread_group *group)
{
    return group->wall_ns >= INT64_C(2) * NS_PER_S * (int64_t)group->n_threads;
}

/* What a stopped or frozen thread was about when it was stopped takes none of its time. */
static bool was_stopped(const struct thread_group *group)
{
    static const double most_of_it = 0.9;
    return share_of(group->class_ns[CLASS_STOPPED], group->wall_ns) >= most_of_it;
}

static bool may_judge(const struct rule *rule, const struct thread_group *group)
{
    if (group->idle || (group->launches && !rule->of_launchers) || was_stopped(group))
        return false;
    return is_judged(group) || (rule->counted && is_counted(group));
}

/* What a rule found so far, and how much it is about whom the user asks for: leading(). */
struct judged {
    struct finding *best;
    const struct ledger *ledger;
    int leads;
    struct finding_others others;
};

static struct finding new_finding(const struct rule *rule)
{
    return (struct finding){.rule = rule->key,
                            .kind = rule->kind,
                            .of_cpu = rule->of_cpu,
                            .counted = rule->counted,
                            .aside = rule->aside,
                            .causes = rule->causes};
}

/* Whom does the user ask for?  For the main thread, and for those whose time it is. */
static int leading(const struct judgement *s, const struct thread_group *group)
{
    return group->leads ? 2 : group == s->lead;
}

/* Is F, of a group that LEADS so, leading(), better than the best so far? */
static bool is_better(const struct finding *f, int leads, const struct judged *j)
{
    const struct finding *best = j->best;
    if (!f->applies || !best->applies)
        return f->applies || (!best->applies && (!best->n_figures || f->share > best->share));
    /* Below, each explains a part of its own group's time: these are not compared. */
    bool comparable = f->level >= LEVEL_PLACES || f->level != best->level;
    if (comparable && (ranking_is_before(f, best) || ranking_is_before(best, f)))
        return ranking_is_before(f, best);
    if (leads != j->leads)
        return leads > j->leads;
    return f->explains > best->explains;
}

static void release_facts(const struct rule *rule, struct finding *f)
{
    if (rule->release && f->facts)
        rule->release(f->facts);
    free(f->facts);
    if (f->one)
        groups_release_one(f->one);
    free(f->one);
    f->group = f->one = NULL;
    f->facts = NULL;
}

/* RULE, of GROUP: OF itself, or one thread of OF, which is the finding's own then. */
static void judge_one(const struct judgement *s, const struct rule *rule,
                      struct thread_group *group, const struct thread_group *of, struct judged *j)
{
    struct finding f = new_finding(rule);
    f.about = of->noun;
    f.group = group;
    f.one = group == of ? NULL : group;
    rule->judge(s, group, &f);
    ranking_set(&f, s->g, j->ledger);
    bool better = is_better(&f, leading(s, group), j);
    if (better)
        j->leads = leading(s, group);
    struct finding worse = better ? *j->best : f;
    if (better)
        *j->best = f;
    if (worse.applies)
        others_add(&j->others, &worse);
    release_facts(rule, &worse);
}

static void judge_each(const struct judgement *s, const struct rule *rule,
                       struct thread_group *group, struct judged *j)
{
    for (size_t i = 0; i < group->n; i++) {
        struct thread_group *one = xmalloc(sizeof *one);
        *one = groups_one_of(s->g, group, i);
        struct judgement of_one = *s;
        if (s->lead == group)
            of_one.lead = one;
        if (is_judged(one)) {
            judge_one(&of_one, rule, one, group, j);
        } else {
            groups_release_one(one);
            free(one);
        }
    }
}

static void judge_groups(const struct judgement *s, const struct rule *rule, const struct ledger *l,
                         struct finding *best)
{
    struct judged j = {.best = best, .ledger = l};
    if (rule->may && !rule->may(s))
        return;
    for (size_t i = 0; i < s->g->n; i++) {
        struct thread_group *group = &s->g->items[i];
        if (!may_judge(rule, group))
            continue;
        if (rule->of_threads && group->n > 1)
            judge_each(s, rule, group, &j);
        else
            judge_one(s, rule, group, group, &j);
    }
    if (rule->alike)
        others_set(best, &j.others);
    others_release(&j.others);
}

static bool any_judged(const struct judgement *s)
{
    for (size_t i = 0; i < s->g->n; i++)
        if (is_judged(&s->g->items[i]))
            return true;
    return false;
}

/* S as F's judge had it. */
static struct judgement judgement_of(const struct judgement *s, const struct finding *f)
{
    struct judgement of_one = *s;
    if (f->one && s->lead && s->lead->noun == f->about)
        of_one.lead = f->one;
    return of_one;
}

static void judge_all(const struct judgement *s, struct findings *f)
{
    for (; f->n < N_RULES; f->n++) {
        struct finding *item = &f->items[f->n];
        *item = new_finding(&rules[f->n]);
        if (rules[f->n].of_all) {
            rules[f->n].judge(s, NULL, item);
            ranking_set(item, s->g, &f->ledger);
        } else {
            judge_groups(s, &rules[f->n], &f->ledger, item);
        }
    }
}

static void tell(const struct judgement *s, const struct rule *rule, struct finding *f)
{
    struct judgement its = judgement_of(s, f);
    struct text words = {0};
    rule->tell(&its, f, &words);
    f->words = words.s;
    if (f->others.n)
        tell_others(f, rule->alike);
    release_facts(rule, f);
}

/* The printed ones in their order, then all others that apply: dump and `report --thread` show
 * some of these alone. */
static void tell_all(const struct judgement *s, struct findings *f)
{
    for (size_t k = 0; k < f->n_printed; k++) {
        size_t i = (size_t)(f->printed[k] - f->items);
        tell(s, &rules[i], &f->items[i]);
    }
    for (size_t i = 0; i < N_RULES; i++) {
        *s->told = (struct slow_told){.n = 0};
        if (!f->items[i].applies)
            release_facts(&rules[i], &f->items[i]);
        else if (!f->items[i].words)
            tell(s, &rules[i], &f->items[i]);
    }
    if (f->n_printed)
        tell_what_ends(f, &f->items[f->printed[0] - f->items]);
}

void findings_init(struct findings *f, const struct groups *g)
{
    struct holders holders;
    struct judgement s = {.g = g, .p = g->p, .holders = &holders, .wall_ns = profile_end_ns(g->p)};
    *f = (struct findings){.items = xcalloc(N_RULES + OWN_FINDINGS, sizeof *f->items)};
    if (!g->n)
        return;
    holders_init(&holders, g->p, g->v);
    ledger_init(&f->ledger, g, &holders);
    s.lead = f->ledger.leader;
    struct slow_code slow;
    slow_code_init(&slow, g->v);
    s.slow = &slow;
    struct slow_told told = {.n = 0};
    s.told = &told;
    struct facts facts;
    facts_init(&facts, &s);
    s.facts = &facts;
    judge_all(&s, f);
    ranking_choose(f);
    tell_all(&s, f);
    if (!f->n_printed) {
        f->items[f->n] = any_judged(&s) ? tell_nothing(&s, &f->ledger) : tell_too_short(&s);
        f->printed[f->n_printed++] = &f->items[f->n++];
    }
    tell_no_leader(f, g);
    facts_release(&facts);
    slow_code_release(&slow);
    holders_release(&holders);
}

void findings_release(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        free(f->items[i].words);
        others_release(&f->items[i].others);
    }
    free(f->items);
    ledger_release(&f->ledger);
    *f = (struct findings){0};
}

void findings_write(const struct findings *f, int width, struct text *out)
{
    enum { INDENT = 2 };
    for (size_t i = 0; i < f->n_printed; i++)
        text_add_line(out, f->printed[i]->words, INDENT, INDENT, (size_t)width);
    if (f->n_printed)
        text_add(out, "\n");
}
