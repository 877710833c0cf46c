#include "summary/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
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
    unsigned causes; /* that it speaks of, in the ledger */
    bool of_all;     /* judges everything at once, not one group after the other */
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
     .causes = OF(CHILD),
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "deadlock",
     .judge = rule_deadlock,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "circular_wait",
     .judge = rule_circular_wait,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_VERDICT},
    {.key = "stuck", .judge = rule_stuck, .causes = WAITS, .of_all = true, .kind = FINDING_VERDICT},
    {.key = "stopped", .judge = rule_stopped, .causes = OF(STOPPED), .of_all = true},
    {.key = "differs", .judge = rule_differs, .causes = ANY, .of_all = true},
    {.key = "waits_for", .judge = rule_held, .causes = OF(LOCK) | OF(JOIN)},
    {.key = "uneven", .judge = rule_uneven, .causes = OF(CONDITION) | OF(LOCK), .of_all = true},
    {.key = "waits_meanwhile", .judge = rule_waits_meanwhile, .causes = WAITS},
    {.key = "exhausted",
     .judge = rule_exhausted,
     .causes = OF(CONDITION) | OF(LOCK),
     .of_all = true,
     .aside = true},
    {.key = "polls", .judge = rule_polls, .causes = OF(TIMER) | WAITS, .of_launchers = true},
    {.key = "gil", .judge = rule_gil, .causes = OF(GIL)},
    {.key = "contention", .judge = rule_contention, .causes = OF(LOCK)},
    {.key = "malloc_arena", .judge = rule_malloc_arena, .causes = OF(LOCK)},
    {.key = "libc_lock", .judge = rule_libc_lock, .causes = OF(LOCK)},
    {.key = "slow_files", .judge = rule_files, .causes = OF(FILE)},
    {.key = "gc", .judge = rule_collects, .causes = OF(GC), .alike = "collect%s garbage"},
    {.key = "imports", .judge = rule_imports, .causes = OF(IMPORTS), .alike = "import%s modules"},
    {.key = "messages",
     .judge = rule_messages,
     .causes = OF(PICKLES),
     .of_all = true,
     .of_cpu = true},
    {.key = "thread_starts",
     .judge = rule_starts,
     .causes = OF(STARTS) | OF(JOIN),
     .alike = "start%s threads",
     .of_threads = true,
     .may = rule_may_see_starts},
    {.key = "cpu_wait",
     .judge = rule_cpu_wait,
     .causes = COMPUTING,
     .counted = true,
     .alike = "wait%s for a CPU"},
    {.key = "openmp_runtimes",
     .judge = rule_openmp_runtimes,
     .causes = OF(SPINS),
     .of_all = true,
     .of_cpu = true},
    {.key = "major_faults", .judge = rule_major_faults, .causes = OF(PAGE)},
    {.key = "numa_balancing", .judge = rule_numa_balancing, .causes = OF(NUMA), .counted = true},
    {.key = "page_faults", .judge = rule_page_faults, .causes = OF(FAULTS), .counted = true},
    {.key = "switches",
     .judge = rule_switches,
     .causes = COMPUTING | WAITS,
     .counted = true,
     .kind = FINDING_BEHIND,
     .aside = true},
    {.key = "spinning", .judge = rule_spinning, .causes = OF(SPINS)},
    {.key = "no_free_thread",
     .judge = rule_executor,
     .causes = OF(IDLE),
     .alike = "lack%s a free thread",
     .of_threads = true,
     .may = rule_may_see_tasks},
    {.key = "tasks_wait",
     .judge = rule_tasks,
     .causes = OF(IDLE),
     .alike = "run%s a loop whose tasks wait",
     .of_threads = true,
     .may = rule_may_see_tasks},
    {.key = "ready_loop",
     .judge = rule_ready_loop,
     .causes = COMPUTING,
     .alike = "run%s such a loop",
     .of_threads = true,
     .may = rule_may_see_loops},
    {.key = "event_loop", .judge = rule_event_loop, .causes = OF(IDLE), .kind = FINDING_BEHIND},
    {.key = "stalls",
     .judge = rule_stalls,
     .causes = ANY & ~WAITS_FOR_WORK,
     .kind = FINDING_BEHIND},
    {.key = "none_ran",
     .judge = rule_none_ran,
     .causes = WAITS,
     .of_all = true,
     .kind = FINDING_DESCRIBES},
    {.key = "waits",
     .judge = rule_waits,
     .causes = WAITS | OF(TIMER) | OF(DEVICE) | OF(PAGE) | OF(UNKNOWN),
     .kind = FINDING_DESCRIBES},
    {.key = "waits_lock", .judge = rule_waits_for_lock, .causes = OF(LOCK)},
    {.key = "computes", .judge = rule_computes, .causes = COMPUTING, .kind = FINDING_DESCRIBES},
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

/* Whom a finding is about: a group, or one thread of it. */
struct judged_one {
    char *noun; /* owned */
    bool plural;
    const char *about; /* its group's noun */
    double share;      /* the rule's figure; below 0: it has none */
};
/* What a rule found so far, and whom else it is true of: the first few of them. */
enum { MOST_ALIKE = 2 };
struct judged {
    struct finding *best;
    const struct ledger *ledger;
    int leads; /* how much it is about whom the user asks for: leading() */
    struct judged_one who, others[MOST_ALIKE];
    size_t n_others; /* with those behind the first few */
};

static void add_other(struct judged *j, struct judged_one *who)
{
    if (j->n_others < MOST_ALIKE)
        j->others[j->n_others] = *who;
    else
        free(who->noun);
    j->n_others++;
}

static struct judged_one one_of(const struct finding *f, const struct thread_group *group)
{
    bool has_share = f->n_figures && str_eq(f->figures[0].name, "share");
    return (struct judged_one){.noun = xstrdup(group->noun),
                               .plural = group->plural,
                               .about = f->about,
                               .share = has_share ? f->figures[0].value : -1};
}

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
    if (!f->words || !best->words)
        return f->words || (!best->words && (!best->n_figures || f->share > best->share));
    /* Below, each explains a part of its own group's time: these are not compared. */
    bool comparable = f->level >= LEVEL_PLACES || f->level != best->level;
    if (comparable && (ranking_is_before(f, best) || ranking_is_before(best, f)))
        return ranking_is_before(f, best);
    if (leads != j->leads)
        return leads > j->leads;
    return f->explains > best->explains;
}

/* RULE, of GROUP, whose finding is about ABOUT. */
static void judge_one(const struct judgement *s, const struct rule *rule,
                      struct thread_group *group, const char *about, struct judged *j)
{
    struct finding f = new_finding(rule);
    f.about = about;
    rule->judge(s, group, &f);
    ranking_set(&f, s->g, j->ledger);
    struct finding *best = j->best;
    bool better = is_better(&f, leading(s, group), j);
    struct judged_one who = one_of(&f, group);
    struct finding worse = better ? *best : f;
    struct judged_one other = better ? j->who : who;
    if (better) {
        *best = f;
        j->who = who;
        j->leads = leading(s, group);
    }
    if (worse.words)
        add_other(j, &other);
    else
        free(other.noun);
    /* The judges write nothing but F: of two findings one is kept, and the other's words go. */
    free(worse.words); /* NOLINT(clang-analyzer-unix.Malloc) */
}

static void judge_each(const struct judgement *s, const struct rule *rule,
                       struct thread_group *group, struct judged *j)
{
    for (size_t i = 0; i < group->n; i++) {
        struct thread_group one = groups_one_of(s->g, group, i);
        struct judgement of_one = *s;
        if (s->lead == group)
            of_one.lead = &one;
        if (is_judged(&one))
            judge_one(&of_one, rule, &one, group->noun, j);
        groups_release_one(&one);
    }
}

/* " rank1 (38%), rank2 (37%) and 2 others wait for a CPU, too." */
static void add_alike(const struct judged *j, const char *alike)
{
    struct finding *f = j->best;
    struct text words = {0};
    size_t named = j->n_others < MOST_ALIKE ? j->n_others : MOST_ALIKE;
    bool plural = j->n_others > 1 || j->others[0].plural;
    text_addf(&words, "%s ", f->words);
    for (size_t i = 0; i < named; i++) {
        text_add(&words, !i ? "" : i + 1 == j->n_others ? " and " : ", ");
        text_add(&words, j->others[i].noun);
        if (j->others[i].share < 0)
            continue;
        text_add(&words, " (");
        add_percent(&words, j->others[i].share);
        text_add(&words, ")");
    }
    if (j->n_others > named)
        text_addf(&words, " and %zu other%s", j->n_others - named,
                  j->n_others - named == 1 ? "" : "s");
    text_add(&words, " ");
    text_addf(&words, alike, plural ? "" : "s");
    text_add(&words, ", too.");
    free(f->words);
    f->words = words.s;
    for (size_t i = 0; i < named && !f->also; i++)
        f->also = str_eq(j->others[i].about, f->about) ? NULL : j->others[i].about;
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
            judge_one(s, rule, group, group->noun, &j);
    }
    if (rule->alike && j.n_others)
        add_alike(&j, rule->alike);
    free(j.who.noun);
    for (size_t i = 0; i < MOST_ALIKE; i++)
        free(j.others[i].noun);
}

/* The most samples of one group. */
static uint64_t most_samples(const struct judgement *s)
{
    uint64_t most = 0;
    for (size_t i = 0; i < s->g->n; i++)
        most = s->g->items[i].tally.samples > most ? s->g->items[i].tally.samples : most;
    return most;
}

static struct finding too_short(const struct judgement *s)
{
    struct text words = {0};
    struct finding f = {.rule = "too_short"};
    uint64_t samples = most_samples(s);
    if (s->wall_ns < INT64_C(2) * NS_PER_S) {
        text_add(&words, "too short for a finding: ");
        add_time(&words, s->wall_ns);
        text_add(&words, "; -r 1000 takes more samples");
    } else {
        text_addf(&words, "too few samples for a finding: %llu in ", (unsigned long long)samples);
        add_time(&words, s->wall_ns);
        text_add(&words, " of the thread with most samples");
    }
    add_figure(&f, "seconds", (double)s->wall_ns / NS_PER_S);
    add_figure(&f, "samples", (double)samples);
    f.words = words.s;
    return f;
}

/* ": 50% of main's time ends in append a.py:6 > flock /x, for 7012 (python3); 49% in …": what no
 * rule speaks of, if it is much. */
static void add_ends(const struct ledger *l, struct text *words, struct finding *f)
{
    enum { MOST_ENDS = 2 };
    static const double least_share = 0.3;
    for (size_t i = 0; i < l->n && i < MOST_ENDS; i++) {
        double share = share_of(l->rows[i].ns, l->wall_ns);
        if (share < least_share)
            break;
        text_add(words, i ? "; " : ": ");
        add_percent(words, share);
        if (!i) {
            text_addf(words, " of the time of %s ends", l->leader->noun);
            add_figure(f, "ends_share", share);
        }
        text_add(words, " in ");
        ledger_add_end(words, l, &l->rows[i]);
    }
}

static struct finding nothing(const struct judgement *s, const struct ledger *l)
{
    double most = 0;
    double runqueue = 0;
    for (size_t i = 0; i < s->g->n; i++) {
        const struct thread_group *group = &s->g->items[i];
        if (group->n_paths)
            most = most > share_of(group->paths[0].ns, group->wall_ns)
                       ? most
                       : share_of(group->paths[0].ns, group->wall_ns);
        double waits = share_of(group->runqueue_ns, group->wall_ns);
        runqueue = runqueue > waits ? runqueue : waits;
    }
    struct text words = {0};
    struct finding f = {.rule = "nothing"};
    add_figure(&f, "heaviest_path_share", most);
    add_figure(&f, "wait_cpu_share", runqueue);
    text_add(&words, "Nothing stands out in ");
    add_time(&words, s->wall_ns);
    add_ends(l, &words, &f);
    text_add(&words, ".");
    f.words = words.s;
    return f;
}

/* Does F tell SHARE already, or nearly so, as what is waited or what ends there? */
static bool tells_share(const struct finding *f, double share)
{
    static const double same_share = 0.03;
    for (size_t i = 0; i < f->n_figures; i++) {
        const struct figure *figure = &f->figures[i];
        if ((str_eq(figure->name, "share") || str_eq(figure->name, "ends_share")) &&
            fabs(figure->value - share) <= same_share)
            return true;
    }
    return false;
}

/* " If query cache.c:12 > memcpy took no time, main would save at most 79% of its time.": what it
 * can bring to mend what F speaks of, if that is not the share that it tells already.  The bound is
 * that of the whole way: the function may have others. */
static void add_bound(const struct ledger *l, struct finding *f)
{
    const struct ledger_row *row = f->row;
    if (!row || !row->bound_ns || f->kind != FINDING_EXPLAINS)
        return;
    double share = share_of(row->bound_ns, l->wall_ns);
    if (tells_share(f, share))
        return;
    struct text words = {0};
    text_add(&words, f->words);
    text_add(&words, " If ");
    add_way(&words, &row->place);
    text_addf(&words, " took no time, %s would save at most ", l->leader->noun);
    add_percent(&words, share);
    text_addf(&words, " of %s time.", possessive(l->leader));
    add_figure(f, "at_most", share);
    free(f->words);
    f->words = words.s;
}

/* Does a printed finding speak of GROUP as one whom others wait for, or before all others? */
static bool is_named(const struct findings *all, const struct thread_group *group)
{
    for (size_t i = 0; i < all->n_printed; i++) {
        const struct finding *f = all->printed[i];
        bool apart = i > 0 && f->kind == FINDING_DESCRIBES;
        if ((f->about == group->noun && !apart) || f->blames == group->noun ||
            f->also == group->noun || f->like == group->noun)
            return true;
    }
    return false;
}

/* Does ROW end a chain of waits that was read at its beginning, at least?  Of whom one joins, the
 * end is awaited.  Of a process whose thread was not read, one that rests is not it. */
static bool ends_chain(const struct ledger *l, const struct ledger_row *row)
{
    static const unsigned rests = OF(TIMER) | OF(IDLE);
    bool begins =
        row->way == LEDGER_READ || (row->way == LEDGER_MEANWHILE && wait_side_is_told(&row->via) &&
                                    !(rests >> row->cause & 1));
    return begins && row->group != l->leader && row->waits_cause != CAUSE_JOIN;
}

/* What of the leader's time ends in GROUP, another one, by such chains. */
static int64_t ends_ns(const struct ledger *l, const struct thread_group *group)
{
    int64_t ns = 0;
    for (size_t i = 0; i < l->n; i++)
        ns += l->rows[i].group == group && ends_chain(l, &l->rows[i]) ? l->rows[i].ns : 0;
    return ns;
}

/* The heaviest row of those in whom most of the leader's time ends by such a chain; NULL: none. */
static const struct ledger_row *end_of_chain(const struct ledger *l)
{
    const struct ledger_row *most = NULL;
    for (size_t i = 0; i < l->n; i++) {
        const struct ledger_row *row = &l->rows[i];
        if (ends_chain(l, row) && (!most || ends_ns(l, row->group) > ends_ns(l, most->group)))
            most = row;
    }
    return most;
}

/* " 65% of feed's time ends in clean, which computes in strip a.py:3 > sub.": the end of a chain of
 * waits, of which the sentences name the next one only. */
static void add_end_of_chain(const struct findings *all, struct finding *f)
{
    static const double much = 0.3, most_of_it = 0.95;
    static const unsigned computing = OF(COMPUTES) | OF(CPU) | OF(FAULTS) | OF(GC) | OF(IMPORTS);
    const struct ledger *l = &all->ledger;
    const struct ledger_row *row = end_of_chain(l);
    if (f->kind == FINDING_VERDICT || !row || f->about != l->leader->noun ||
        !(f->causes >> row->waits_cause & 1) || is_named(all, row->group))
        return;
    int64_t ns = ends_ns(l, row->group);
    if (share_of(ns, l->wall_ns) < much)
        return;
    struct text words = {0};
    text_addf(&words, "%s ", f->words);
    add_percent(&words, share_of(ns, l->wall_ns));
    text_addf(&words, l->leader->plural ? " of the time of %s ends in " : " of %s's time ends in ",
              l->leader->noun);
    if (computing >> row->cause & 1)
        text_addf(&words, "%s, which compute%s ", row->group->noun, verb_s(row->group));
    else
        text_addf(&words, "%s, which %s ", row->group->noun, row->group->plural ? "are" : "is");
    text_add(&words, (double)row->ns < most_of_it * (double)ns ? "mainly in " : "in ");
    add_way(&words, &row->place);
    text_add(&words, ".");
    add_figure(f, "chain_share", share_of(ns, l->wall_ns));
    free(f->words);
    f->words = words.s;
}

/* What the ledger knows beside F, the first sentence. */
static void add_what_ends(const struct findings *all, struct finding *f)
{
    add_end_of_chain(all, f);
    add_bound(&all->ledger, f);
}

/* Where nobody is what the user asked for: said first. */
static void tell_no_leader(struct findings *f, const struct groups *g)
{
    const char *wanted = view_options(g->v)->leader;
    if (!wanted || leader_asked_for(g) || !f->ledger.leader)
        return;
    struct text words = {0};
    text_add(&words, "No recorded thread is called ");
    text_add_tame(&words, wanted, strlen(wanted));
    text_addf(&words,
              ", or has that tid: the answer is about the time of %s. The table has the "
              "names.",
              f->ledger.leader->noun);
    f->n_printed -= f->n_printed == MAX_FINDINGS;
    memmove(f->printed + 1, f->printed, f->n_printed * sizeof(const struct finding *));
    f->items[f->n] = (struct finding){.rule = "no_leader", .words = words.s};
    f->printed[0] = &f->items[f->n++];
    f->n_printed++;
}

static bool any_judged(const struct judgement *s)
{
    for (size_t i = 0; i < s->g->n; i++)
        if (is_judged(&s->g->items[i]))
            return true;
    return false;
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
    struct facts facts;
    facts_init(&facts, &s);
    s.facts = &facts;
    for (; f->n < N_RULES; f->n++) {
        f->items[f->n] = new_finding(&rules[f->n]);
        if (rules[f->n].of_all) {
            rules[f->n].judge(&s, NULL, &f->items[f->n]);
            ranking_set(&f->items[f->n], g, &f->ledger);
        } else {
            judge_groups(&s, &rules[f->n], &f->ledger, &f->items[f->n]);
        }
    }
    ranking_choose(f);
    if (f->n_printed)
        add_what_ends(f, &f->items[f->printed[0] - f->items]);
    if (!f->n_printed) {
        f->items[f->n] = any_judged(&s) ? nothing(&s, &f->ledger) : too_short(&s);
        f->printed[f->n_printed++] = &f->items[f->n++];
    }
    tell_no_leader(f, g);
    facts_release(&facts);
    slow_code_release(&slow);
    holders_release(&holders);
}

void findings_release(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->items[i].words);
    free(f->items);
    ledger_release(&f->ledger);
    *f = (struct findings){0};
}

void findings_write(const struct findings *f, int width, struct text *out)
{
    enum { INDENT = 2 };
    for (size_t i = 0; i < f->n_printed; i++) {
        text_add(out, "  ");
        (void)text_add_wrapped(out, f->printed[i]->words, INDENT, INDENT, (size_t)width);
        text_add(out, "\n");
    }
    if (f->n_printed)
        text_add(out, "\n");
}
