/* profile/ageing.c: a profile that keeps the last part of its time. */
#include "profile/ageing.h"

#include "base/clock.h"
#include "profile/cut.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static const int64_t S = NS_PER_S;

enum { MAIN = 100, ASLEEP, EARLY };
enum { ALL_S = 100, KEPT_S = 10, TURNS = 50 };
static const size_t runs_a_second = (size_t)TURNS * 2;
static const int64_t run_ns = (int64_t)10 * NS_PER_MS;
static const int64_t work_ns = (int64_t)8 * NS_PER_MS; /* of each other run, by the kernel */

/* A second in turns of 20 ms, each seen to run for half of it, which the kernel says was less. */
static void add_second(struct profile_builder *b, thread_id main, int64_t second)
{
    struct profile_thread *t;
    for (int i = 0; i < TURNS; i++) {
        builder_run(b, main, "main!app > work!app", 10, 8);
        builder_run(b, main, "main!app > futex [blocked]", 10, 0);
    }
    t = profile_get_thread(b->p, main);
    t->usage.minor_faults += 20;
    profile_mark_counts(b->p, main, (second + 1) * S);
}

/* KEEP_S: 0 for all of it. */
static struct profile *make(size_t limit, int64_t keep_s)
{
    struct profile_builder b = builder_start_within(limit, MAIN, "python3");
    thread_id main = builder_thread(&b, MAIN, NULL);
    thread_id early = builder_thread(&b, EARLY, "early");
    if (keep_s)
        profile_keep_last(b.p, keep_s * S);
    builder_run(&b, early, "early!app", 1000, 1000);
    profile_get_thread(b.p, early)->ended = true;
    profile_end_thread(b.p, early, S);
    for (int64_t second = 0; second < ALL_S; second++) {
        add_second(&b, main, second);
        profile_age(b.p, (second + 1) * S);
    }
    thread_id asleep = builder_thread(&b, ASLEEP, "asleep"); /* its only run comes at its end */
    builder_run(&b, asleep, "main!app > futex [blocked]", (int64_t)ALL_S * 1000, 0);
    profile_end(b.p, ALL_S * S);
    return b.p;
}

static int64_t wall_of(const struct profile_thread *t)
{
    int64_t ns = 0;
    for (size_t i = 0; i < t->n_runs; i++)
        ns += t->runs[i].weights.wall_ns;
    return ns;
}

START_TEST(what_is_older_is_sums)
{
    struct profile *p = make(0, KEPT_S);
    const struct profile_thread *main = builder_find(p, MAIN);
    ck_assert_uint_ge(main->n_runs, KEPT_S * runs_a_second);
    ck_assert_uint_le(main->n_runs, (KEPT_S + 1) * runs_a_second * 5 / 4 + 10);
    ck_assert_int_eq(wall_of(main), ALL_S * S);
    ck_assert_int_eq(main->counts.ns[COUNTED_CPU], work_ns * TURNS * ALL_S);
    ck_assert_int_eq(main->runs[0].start_ns, 0);
    ck_assert_uint_le(main->n_marks, (KEPT_S + 1) * 5 / 4 + 1); /* one a second */
    ck_assert_int_eq(profile_kept_ns(p), KEPT_S * S);
    ck_assert_double_eq(profile_number(p, METRIC_RING_S), KEPT_S);
    profile_free(p);
}
END_TEST

static void check_same_run(const struct run *kept, const struct run *whole)
{
    ck_assert_int_eq(kept->start_ns, whole->start_ns);
    ck_assert_int_eq(kept->weights.wall_ns, whole->weights.wall_ns);
    ck_assert_int_eq(kept->weights.counted_ns, whole->weights.counted_ns);
    ck_assert_int_eq(kept->state, whole->state);
}

static void check_same(const struct profile_thread *kept, const struct profile_thread *whole)
{
    ck_assert_uint_eq(kept->n_runs, whole->n_runs);
    for (size_t i = 0; i < kept->n_runs; i++)
        check_same_run(&kept->runs[i], &whole->runs[i]);
    for (int kind = 0; kind < COUNTED_KINDS; kind++)
        ck_assert_int_eq(kept->counts.ns[kind], whole->counts.ns[kind]);
    ck_assert_int_eq(kept->start_ns, whole->start_ns);
    ck_assert_int_eq(kept->end_ns, whole->end_ns);
    ck_assert_uint_eq(kept->usage.minor_faults, whole->usage.minor_faults);
}

/* The last seconds are those of a recording that keeps all. */
START_TEST(what_is_kept_is_the_end_of_the_whole)
{
    struct profile_cut done;
    struct profile *p = make(0, KEPT_S);
    struct profile *whole = make(0, 0);
    profile_cut(whole, (ALL_S - KEPT_S) * S, ALL_S * S, &done);
    profile_cut(p, (ALL_S - KEPT_S) * S, ALL_S * S, &done);
    ck_assert_int_eq(done.step_ns, 0);
    ck_assert_int_eq(profile_time_step_ns(p), 0);
    ck_assert_ptr_null(builder_find(p, EARLY));
    check_same(builder_find(p, MAIN), builder_find(whole, MAIN));
    check_same(builder_find(p, ASLEEP), builder_find(whole, ASLEEP));
    ck_assert_int_eq(builder_find(p, MAIN)->counts.ns[COUNTED_CPU], work_ns * TURNS * KEPT_S);
    ck_assert_uint_eq(builder_find(p, MAIN)->usage.minor_faults, (size_t)KEPT_S * 20);
    profile_free(p);
    profile_free(whole);
}
END_TEST

START_TEST(a_ring_that_has_no_room_gets_shorter)
{
    enum { BYTES = 512 << 10 }; /* half of it for the time: the runs of some 20 s */
    struct profile *p = make(BYTES, ALL_S / 2);
    int64_t kept_ns = profile_kept_ns(p);
    ck_assert_int_lt(kept_ns, ALL_S / 2 * S);
    ck_assert_int_ge(kept_ns, S);
    ck_assert_double_eq(profile_number(p, METRIC_RING_S), (double)kept_ns / NS_PER_S);
    ck_assert_double_eq(profile_number(p, METRIC_RUNS_REFUSED), 0);
    ck_assert_int_eq(wall_of(builder_find(p, MAIN)), ALL_S * S);
    struct profile_cut done;
    profile_cut(p, ALL_S * S - kept_ns, ALL_S * S, &done);
    ck_assert_int_eq(done.step_ns, 0);
    ck_assert_uint_eq(builder_find(p, MAIN)->n_runs, (size_t)(kept_ns / run_ns));
    profile_free(p);
}
END_TEST

CHECK_MAIN("ageing", 4, what_is_older_is_sums, what_is_kept_is_the_end_of_the_whole,
           a_ring_that_has_no_room_gets_shorter)
