/* The words of findings that no rule makes alone. */
#include "summary/findings_tell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/leader.h"
#include "summary/rule_words.h"
#include "summary/wait_side.h"
#include "summary/wait_text.h"

#define OF(cause) (1U << CAUSE_##cause)

/* ---- whom a finding is true of, too ---- */

void others_add(struct finding_others *others, const struct finding *f)
{
    bool has_share = f->n_figures && str_eq(f->figures[0].name, "share");
    if (others->n < MOST_ALIKE)
        others->items[others->n] =
            (struct finding_other){.noun = xstrdup(f->group->noun),
                                   .plural = f->group->plural,
                                   .share = has_share ? f->figures[0].value : -1,
                                   .about = f->about};
    others->n++;
}

void others_set(struct finding *f, struct finding_others *others)
{
    f->others = *others;
    *others = (struct finding_others){0};
    for (size_t i = 0; i < f->others.n && i < MOST_ALIKE && !f->also; i++)
        f->also = f->others.items[i].about == f->about ? NULL : f->others.items[i].about;
}

void others_release(struct finding_others *others)
{
    for (size_t i = 0; i < MOST_ALIKE; i++)
        free(others->items[i].noun);
    *others = (struct finding_others){0};
}

void tell_others(struct finding *f, const char *alike)
{
    const struct finding_others *others = &f->others;
    struct text words = {0};
    size_t named = others->n < MOST_ALIKE ? others->n : MOST_ALIKE;
    bool plural = others->n > 1 || others->items[0].plural;
    text_addf(&words, "%s ", f->words);
    for (size_t i = 0; i < named; i++) {
        text_add(&words, !i ? "" : i + 1 == others->n ? " and " : ", ");
        text_add(&words, others->items[i].noun);
        if (others->items[i].share < 0)
            continue;
        text_add(&words, " (");
        add_percent(&words, others->items[i].share);
        text_add(&words, ")");
    }
    if (others->n > named)
        text_addf(&words, " and %zu other%s", others->n - named, others->n - named == 1 ? "" : "s");
    text_add(&words, " ");
    text_addf(&words, alike, plural ? "" : "s");
    text_add(&words, ", too.");
    free(f->words);
    f->words = words.s;
}

/* ---- what the ledger knows beside the first sentence ---- */

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
void tell_what_ends(const struct findings *all, struct finding *f)
{
    add_end_of_chain(all, f);
    add_bound(&all->ledger, f);
}

/* ---- no rule applies ---- */

/* The most samples of one group. */
static uint64_t most_samples(const struct judgement *s)
{
    uint64_t most = 0;
    for (size_t i = 0; i < s->g->n; i++)
        most = s->g->items[i].tally.samples > most ? s->g->items[i].tally.samples : most;
    return most;
}

struct finding tell_too_short(const struct judgement *s)
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

struct finding tell_nothing(const struct judgement *s, const struct ledger *l)
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

/* Where nobody is what the user asked for: said first. */
void tell_no_leader(struct findings *f, const struct groups *g)
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
