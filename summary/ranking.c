#include "summary/ranking.h"

#include <math.h>

#include "base/share.h"
#include "base/text.h"

static const double about_the_same = 0.1; /* shares that differ by less */
static const double least_share = 0.1;    /* of the leader's time: what explains less is no news */
static const double much = 0.2;           /* of it: more than where it is spent, why counts */
static const double much_elsewhere = 0.3; /* of their time, where the leader loses none by it */

/* ---- ranks ---- */

/* Are both the noun of one group?  Two groups may have the same words. */
static bool same(const char *a, const char *b)
{
    return a && a == b;
}

/* Does F tell what GROUP does, whatever that is? */
static bool tells_of(const struct finding *f, const struct thread_group *group)
{
    return f->about &&
           (f->blames == group->noun || (f->kind != FINDING_DESCRIBES && f->also == group->noun));
}

/* Is ROW what F speaks of: what its group does, or what the leader waits for there? */
static bool speaks_of(const struct finding *f, const struct ledger *l, const struct ledger_row *row)
{
    bool there = !f->about || f->about == row->group->noun;
    bool leaders = row->waits.node && (!f->about || f->about == l->leader->noun);
    return tells_of(f, row->group) || (there && f->causes >> row->cause & 1) ||
           (leaders && f->causes >> row->waits_cause & 1);
}

static void set_ends(struct finding *f, const struct ledger *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (!speaks_of(f, l, &l->rows[i]))
            continue;
        f->row = f->row ? f->row : &l->rows[i];
        f->ends_ns += l->rows[i].ns;
    }
}

/* Is F about those whom the user waits for, or about everybody?  Why a main thread loses time is
 * asked for, too, where others lead. */
static bool is_about_leaders(const struct finding *f, const struct groups *g,
                             const struct ledger *l)
{
    const struct thread_group *main = groups_main(g);
    if (!f->about || !l->leader || f->about == l->leader->noun || f->like == l->leader->noun)
        return true;
    return main && f->about == main->noun && f->kind != FINDING_DESCRIBES;
}

/* What part of the leader's time outside of waits for work F explains.  Of its own group's time a
 * rule knows that best. */
static double explained(const struct finding *f, const struct groups *g, const struct ledger *l)
{
    bool knows = is_about_leaders(f, g, l) && !(f->of_cpu && l->leader);
    double ends = share_of(f->ends_ns, l->wall_ns);
    /* Of waits for whom nothing was read the ledger knows what ends in those who are busy then. */
    double own = f->told_share > 0 && ends > 0 ? fmin(f->told_share, ends) : f->share;
    double of_all = knows ? own : ends > f->of_leader ? ends : f->of_leader;
    if (of_all <= 0)
        return 0;
    double busy = l->leader ? share_of(l->wall_ns - l->idle_ns, l->wall_ns) : 1;
    return of_all < busy ? of_all / busy : 1;
}

static enum finding_level level_of(const struct finding *f, bool of_leaders)
{
    switch (f->kind) {
    case FINDING_VERDICT:
        return f->explains < least_share ? LEVEL_BEHIND : LEVEL_VERDICT;
    case FINDING_SLEEPS:
    case FINDING_RESTS:
        return of_leaders ? LEVEL_RESTS : LEVEL_OTHERS;
    case FINDING_DESCRIBES:
        return f->explains < least_share ? LEVEL_OTHERS : LEVEL_PLACES;
    case FINDING_EXPLAINS:
    case FINDING_BEHIND:
        break;
    }
    if (f->explains < much)
        return f->explains < least_share ? LEVEL_ELSEWHERE : LEVEL_PLACES;
    return f->kind == FINDING_EXPLAINS ? LEVEL_EXPLAINS : LEVEL_BEHIND;
}

void ranking_set(struct finding *f, const struct groups *g, const struct ledger *l)
{
    set_ends(f, l);
    f->explains = explained(f, g, l);
    f->level = level_of(f, is_about_leaders(f, g, l));
    if (f->explains < least_share)
        f->explains = f->share;
}

bool ranking_is_before(const struct finding *a, const struct finding *b)
{
    return a->level != b->level ? a->level > b->level : a->explains > b->explains + about_the_same;
}

/* ---- what is printed ---- */

static bool describes(const struct finding *f)
{
    return f->kind == FINDING_DESCRIBES || f->kind == FINDING_SLEEPS;
}

/* Of a group's time, as F tells it. */
static double told_share(const struct finding *f)
{
    bool told = f->n_figures && str_eq(f->figures[0].name, "share");
    return told ? f->figures[0].value : f->share;
}

/* Is A about less than half as much of its group's time as B? */
static bool is_minor(const struct finding *a, const struct finding *b)
{
    return told_share(a) < told_share(b) / 2;
}

/* Does PRINTED tell of F's group, for half as long as F does or longer?  Who only waits for the
 * others that F names is no news where these have a finding. */
static bool covers(const struct finding *printed, const struct finding *f)
{
    bool of_one = !f->about || !printed->about || f->about == printed->about;
    if (same(printed->also, f->about) || same(f->also, printed->about) ||
        same(f->also, printed->also))
        return true;
    return (of_one || same(printed->blames, f->about)) && !is_minor(printed, f);
}

/* Is PRINTED about F's group, or about everything? */
static bool is_about(const struct finding *printed, const struct finding *f)
{
    return !printed->about || same(printed->about, f->about) || same(printed->also, f->about) ||
           same(f->also, printed->about);
}

/* Is F a part of what PRINTED tells: a smaller time of the same group, lost by the same others, or
 * that somebody waits for those in whom PRINTED says that the time of all ends? */
static bool is_part_of(const struct finding *f, const struct finding *printed)
{
    if (!printed->about)
        return same(printed->also, f->blames);
    return same(printed->about, f->about) && same(printed->blames, f->blames) &&
           is_minor(f, printed);
}

/* Is F printed already, or not worth its line beside the printed ones? */
static bool is_said(const struct findings *all, const struct finding *f)
{
    for (size_t k = 0; k < all->n_printed; k++) {
        const struct finding *printed = all->printed[k];
        /* Where one waits is no reason why another, whom it waits for, loses time. */
        bool of_other = describes(printed) && !same(printed->about, f->about);
        bool no_news = (f->aside && !of_other) || (f->unless && str_eq(f->unless, printed->rule));
        if (printed == f || (no_news && is_about(printed, f)) || is_part_of(f, printed))
            return true;
        /* That others than the leader rest is no news beside what somebody does. */
        if (f->kind == FINDING_RESTS && f->level == LEVEL_OTHERS)
            return true;
        bool tells = printed->kind != FINDING_RESTS && covers(printed, f);
        if (describes(f) && (describes(printed) || tells))
            return true;
    }
    return false;
}

/* What the kernel does for others takes CPUs from all. */
static bool is_small(const struct finding *f)
{
    return f->level == LEVEL_ELSEWHERE &&
           (f->for_leaders || (!f->counted && f->share < much_elsewhere));
}

static bool is_news(const struct findings *all, const struct finding *f)
{
    return f->applies && !is_small(f) && !is_said(all, f);
}

/* What explains the group that VICTIM waits for, and is not printed yet; NULL: nothing. */
static const struct finding *culprit_of(const struct findings *all, const struct finding *victim)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct finding *f = &all->items[i];
        bool about = same(victim->blames, f->about) || same(victim->blames, f->also);
        /* Of two that wait for each other neither is. */
        about &= !same(f->about, victim->about) && !same(f->blames, victim->about);
        if (about && !describes(f) && f->kind != FINDING_RESTS && is_news(all, f) &&
            !is_minor(f, victim))
            return f;
    }
    return NULL;
}

/* The first of those that are news, or its culprit; NULL: there is none. */
static const struct finding *next(const struct findings *all)
{
    const struct finding *first = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const struct finding *f = &all->items[i];
        if (is_news(all, f) && (!first || ranking_is_before(f, first)))
            first = f;
    }
    const struct finding *culprit = first ? culprit_of(all, first) : NULL;
    return culprit ? culprit : first;
}

void ranking_choose(struct findings *f)
{
    const struct finding *first;
    while (f->n_printed < MAX_FINDINGS && (first = next(f)))
        f->printed[f->n_printed++] = first;
}
