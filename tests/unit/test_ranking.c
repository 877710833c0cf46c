/* Which findings are printed, and in what order. */
#include "summary/ranking.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

static char main_noun[] = "main", worker_noun[] = "worker", helper_noun[] = "helper";
static char words[] = "words";
static struct thread_group groups[] = {
    {.noun = main_noun, .leads = true},
    {.noun = worker_noun},
    {.noun = helper_noun},
};
static const struct groups all = {.items = groups, .n = 3};
static struct ledger_row rows[2];
static struct ledger ledger;
static struct finding items[2];
static struct findings found;

/* Main computes for 2 of 10 s, and waits for 6 s for the worker, which computes; 2 s it waits for
 * work. */
static void setup(void)
{
    rows[0] = (struct ledger_row){.group = &groups[1],
                                  .way = LEDGER_READ,
                                  .cause = CAUSE_COMPUTES,
                                  .ns = 6 * (int64_t)NS_PER_S,
                                  .waits = {.node = 1},
                                  .waits_cause = CAUSE_JOIN};
    rows[1] = (struct ledger_row){
        .group = &groups[0], .cause = CAUSE_COMPUTES, .ns = 2 * (int64_t)NS_PER_S};
    ledger = (struct ledger){.leader = &groups[0],
                             .wall_ns = 10 * (int64_t)NS_PER_S,
                             .idle_ns = 2 * (int64_t)NS_PER_S,
                             .rows = rows,
                             .n = 2};
}

static const char *noun_of(const char *name)
{
    for (size_t i = 0; i < all.n; i++)
        if (strcmp(groups[i].noun, name) == 0)
            return groups[i].noun;
    ck_abort_msg("no group %s", name);
}

/* A finding of KIND about a SHARE of ABOUT's time, in which that one computes. */
static struct finding of(const char *rule, const char *about, double share, enum finding_kind kind)
{
    return (struct finding){.rule = rule,
                            .about = noun_of(about),
                            .share = share,
                            .kind = kind,
                            .causes = 1U << CAUSE_COMPUTES,
                            .figures = {{"share", share}},
                            .n_figures = 1,
                            .applies = true,
                            .words = words};
}

static struct finding blaming(struct finding f, const char *name)
{
    f.blames = noun_of(name);
    return f;
}

static struct finding aside(struct finding f)
{
    f.aside = true;
    return f;
}

/* Of A and B, in the order of their rules, FIRST is printed and then SECOND; NULL: nothing else. */
static void assert_order(struct finding a, struct finding b, const char *first, const char *second)
{
    items[0] = a;
    items[1] = b;
    found = (struct findings){.items = items, .n = 2};
    for (size_t i = 0; i < found.n; i++)
        ranking_set(&items[i], &all, &ledger);
    ranking_choose(&found);
    ck_assert_uint_eq(found.n_printed, second ? 2 : 1);
    ck_assert_str_eq(found.printed[0]->rule, first);
    if (second)
        ck_assert_str_eq(found.printed[1]->rule, second);
}

START_TEST(what_explains_more_of_the_leaders_time_comes_first)
{
    setup();
    assert_order(of("gc", "main", 0.2, FINDING_EXPLAINS),
                 of("imports", "worker", 0.7, FINDING_EXPLAINS), /* of it 6 s end there */
                 "imports", "gc");
    ck_assert_int_eq(items[1].ends_ns, 6 * (int64_t)NS_PER_S);
    ck_assert_ptr_eq(items[1].row, &rows[0]);
    ck_assert_double_eq_tol(items[1].explains, 6.0 / 8, 1e-9); /* outside of waits for work */
    ck_assert_double_eq_tol(items[0].explains, 0.2 / 0.8, 1e-9);
    assert_order(of("gc", "main", 0.2, FINDING_EXPLAINS),
                 of("imports", "helper", 1, FINDING_EXPLAINS), /* nobody waits for it */
                 "gc", "imports");
    ck_assert_int_eq(items[1].level, LEVEL_ELSEWHERE);
}
END_TEST

START_TEST(of_about_as_much_the_earlier_rule_comes_first)
{
    setup();
    assert_order(of("gc", "main", 0.4, FINDING_EXPLAINS),
                 of("imports", "main", 0.45, FINDING_EXPLAINS), "gc", "imports");
    assert_order(of("gc", "main", 0.3, FINDING_EXPLAINS),
                 of("imports", "main", 0.45, FINDING_EXPLAINS), "imports", "gc");
}
END_TEST

START_TEST(why_comes_before_where_unless_it_is_little)
{
    const struct finding computes = of("computes", "main", 0.7, FINDING_DESCRIBES);
    setup();
    assert_order(computes, of("gc", "main", 0.3, FINDING_EXPLAINS), "gc", "computes");
    assert_order(computes, of("gc", "main", 0.1, FINDING_EXPLAINS), "computes", "gc");
    assert_order(computes, of("gc", "main", 0.4, FINDING_EXPLAINS), "gc", NULL); /* it is half */
}
END_TEST

START_TEST(what_may_be_a_price_comes_behind)
{
    const struct finding gc = of("gc", "main", 0.3, FINDING_EXPLAINS);
    setup();
    assert_order(of("cpu_wait", "main", 0.7, FINDING_BEHIND), gc, "gc", "cpu_wait");
    assert_order(aside(of("switches", "main", 0.7, FINDING_BEHIND)), gc, "gc", NULL);
}
END_TEST

START_TEST(a_culprit_comes_before_its_victim)
{
    const struct finding victim = blaming(of("waits_for", "main", 0.7, FINDING_EXPLAINS), "helper");
    setup();
    assert_order(victim, of("gc", "helper", 0.6, FINDING_EXPLAINS), "gc", "waits_for");
    /* of too little of the wait; which keeps nobody */
    assert_order(victim, of("gc", "helper", 0.3, FINDING_EXPLAINS), "waits_for", "gc");
    assert_order(victim, of("event_loop", "helper", 1, FINDING_RESTS), "waits_for", NULL);
}
END_TEST

START_TEST(what_others_lose_a_little_by_is_no_news)
{
    struct finding faults = of("page_faults", "helper", 0.2, FINDING_EXPLAINS);
    setup();
    assert_order(of("waits_for", "main", 0.7, FINDING_EXPLAINS),
                 of("gc", "helper", 0.2, FINDING_EXPLAINS), "waits_for", NULL);
    faults.counted = true; /* it takes CPUs from all */
    assert_order(of("waits_for", "main", 0.7, FINDING_EXPLAINS), faults, "waits_for",
                 "page_faults");
}
END_TEST

/* On a busy machine each thread that wakes up waits for a CPU. */
START_TEST(what_counts_for_leaders_only_is_told_of_them_only)
{
    struct finding wait = of("cpu_wait", "helper", 0.5, FINDING_BEHIND);
    setup();
    wait.counted = true;
    assert_order(of("waits_for", "main", 0.7, FINDING_EXPLAINS), wait, "waits_for", "cpu_wait");
    wait.for_leaders = true;
    assert_order(of("waits_for", "main", 0.7, FINDING_EXPLAINS), wait, "waits_for", NULL);
    wait.about = noun_of("main");
    assert_order(of("waits_for", "main", 0.7, FINDING_EXPLAINS), wait, "waits_for", "cpu_wait");
}
END_TEST

START_TEST(a_part_of_what_is_told_is_no_news)
{
    const struct finding wait =
        blaming(of("waits_meanwhile", "main", 0.7, FINDING_EXPLAINS), "worker");
    struct finding of_all = of("messages", "main", 0.7, FINDING_EXPLAINS);
    setup();
    assert_order(wait, blaming(of("gil", "main", 0.2, FINDING_EXPLAINS), "worker"),
                 "waits_meanwhile", NULL);
    assert_order(wait, blaming(of("gil", "main", 0.2, FINDING_EXPLAINS), "helper"),
                 "waits_meanwhile", "gil");
    assert_order(wait, blaming(of("gil", "main", 0.4, FINDING_EXPLAINS), "worker"),
                 "waits_meanwhile", "gil");
    of_all.about = NULL;
    of_all.also = noun_of("worker");
    assert_order(of_all, wait, "messages", NULL);
}
END_TEST

START_TEST(of_two_that_blame_each_other_the_larger_comes_first)
{
    setup();
    assert_order(blaming(of("waits_for", "main", 0.9, FINDING_EXPLAINS), "worker"),
                 blaming(of("gil", "worker", 0.7, FINDING_EXPLAINS), "main"), "waits_for", "gil");
}
END_TEST

/* Of two threads that wait for each other nobody asks while others work. */
START_TEST(a_standstill_leads_if_the_user_waits_for_it)
{
    const struct finding gc = of("gc", "main", 0.3, FINDING_EXPLAINS);
    const struct finding others = of("deadlock", "helper", 1, FINDING_VERDICT);
    setup();
    assert_order(gc, of("deadlock", "main", 1, FINDING_VERDICT), "deadlock", "gc");
    assert_order(gc, others, "gc", "deadlock");
    assert_order(of("computes", "main", 0.7, FINDING_DESCRIBES), others, "deadlock", "computes");
}
END_TEST

/* It tells what that one does, whatever it is. */
START_TEST(whom_a_finding_blames_is_of_what_it_explains)
{
    struct finding f = blaming(of("waits_meanwhile", "helper", 1, FINDING_EXPLAINS), "worker");
    f.causes = 1U << CAUSE_JOIN;
    setup();
    assert_order(f, of("gc", "main", 0.3, FINDING_EXPLAINS), "waits_meanwhile", "gc");
    ck_assert_int_eq(items[0].ends_ns, 6 * (int64_t)NS_PER_S);
    ck_assert_int_eq(items[0].level, LEVEL_EXPLAINS);
}
END_TEST

START_TEST(who_sleeps_keeps_nobody)
{
    setup();
    assert_order(of("sleeps", "main", 0.8, FINDING_SLEEPS),
                 of("gc", "helper", 0.3, FINDING_EXPLAINS), "gc", "sleeps");
}
END_TEST

/* There is no time that a finding about others could explain. */
START_TEST(where_the_leader_only_waits_for_work_others_explain_nothing)
{
    setup();
    ledger.n = 0;
    ledger.idle_ns = ledger.wall_ns;
    assert_order(of("computes", "helper", 0.9, FINDING_DESCRIBES),
                 of("event_loop", "main", 1, FINDING_RESTS), "event_loop", "computes");
    ck_assert_int_eq(items[0].level, LEVEL_OTHERS);
}
END_TEST

CHECK_MAIN("ranking", 30, what_explains_more_of_the_leaders_time_comes_first,
           of_about_as_much_the_earlier_rule_comes_first,
           why_comes_before_where_unless_it_is_little, what_may_be_a_price_comes_behind,
           a_culprit_comes_before_its_victim, a_standstill_leads_if_the_user_waits_for_it,
           whom_a_finding_blames_is_of_what_it_explains, who_sleeps_keeps_nobody,
           of_two_that_blame_each_other_the_larger_comes_first,
           what_others_lose_a_little_by_is_no_news,
           what_counts_for_leaders_only_is_told_of_them_only, a_part_of_what_is_told_is_no_news,
           where_the_leader_only_waits_for_work_others_explain_nothing)
