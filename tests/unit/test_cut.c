/* profile/cut.c: a part of a recording's time. */
#include "profile/cut.h"

#include "base/clock.h"
#include "profile/kept.h"
#include "profile/moments.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static const int64_t MS = NS_PER_MS;
static const int64_t S = NS_PER_S;

enum { MAIN = 100, WORKER, EARLY, LATE };

static void set_counts(struct profile *p, thread_id t, int64_t cpu_ms, int64_t queue_ms,
                       int64_t off_ms)
{
    struct counts *counts = &profile_get_thread(p, t)->counts;
    counts->ns[COUNTED_CPU] = cpu_ms * MS;
    counts->ns[COUNTED_RUNQUEUE] = queue_ms * MS;
    counts->ns[COUNTED_OFF_CPU] = off_ms * MS;
}

/* Ten seconds.  Main computes for 4 s, of which the kernel counts 3.6 s on a CPU (1.6 s until 2 s),
 * then waits; a worker computes throughout; one thread ends after 1 s, and one begins after 8 s. */
static struct profile *make(void)
{
    struct profile_builder b = builder_start(MAIN, "python3");
    thread_id main = builder_thread(&b, MAIN, NULL);
    thread_id worker = builder_thread(&b, WORKER, "worker");
    thread_id early = builder_thread(&b, EARLY, "early");
    builder_run(&b, main, "main!app > work!app", 4000, 4000);
    set_counts(b.p, main, 1600, 0, 0);
    profile_mark_counts(b.p, main, 2 * S);
    builder_run(&b, main, "main!app > futex [blocked]", 6000, 0);
    set_counts(b.p, main, 3600, 0, 6000);
    builder_run(&b, worker, "run!app", 10000, 10000);
    set_counts(b.p, worker, 9000, 1000, 0);
    builder_run(&b, early, "early!app", 1000, 1000);
    profile_get_thread(b.p, early)->ended = true;
    profile_end_thread(b.p, early, S);
    thread_id late = profile_thread(b.p, b.process, LATE, profile_string(b.p, "late"), 8 * S);
    profile_add_run(b.p, late,
                    &(struct run){.at = builder_spot(&b, "late!app"),
                                  .state = RUN_RUNNING,
                                  .samples = 200,
                                  .start_ns = 8 * S,
                                  .weights.wall_ns = 2 * S});
    set_counts(b.p, late, 2000, 0, 0);
    profile_get_process(b.p, b.process)->threads = 3;
    profile_get_process(b.p, b.process)->usage =
        (struct profile_usage){.user_ns = 1000 * MS, .system_ns = 100 * MS};
    profile_get_host(b.p)->busy_ns = 20 * S;
    profile_set_origin(b.p, &(struct profile_origin){1700000000 * S, 77});
    profile_end(b.p, 10 * S);
    return b.p;
}

static struct profile *cut(int64_t from_ns, int64_t to_ns, struct profile_cut *ret)
{
    struct profile *p = make();
    profile_cut(p, from_ns, to_ns, ret);
    return p;
}

START_TEST(runs_are_clipped_and_threads_without_time_left_out)
{
    struct profile_cut done;
    struct profile *p = cut(3 * S, 5 * S, &done);
    const struct profile_thread *main = builder_find(p, MAIN);
    ck_assert_int_eq(profile_end_ns(p), 2 * S);
    ck_assert_uint_eq(main->n_runs, 2);
    ck_assert_int_eq(main->runs[0].start_ns, 0);
    ck_assert_int_eq(main->runs[0].weights.wall_ns, S);
    ck_assert_uint_eq(main->runs[0].samples, 100);
    ck_assert_int_eq(main->runs[1].start_ns, S);
    ck_assert_int_eq(main->runs[1].weights.wall_ns, S);
    ck_assert_int_eq(main->start_ns, 0);
    ck_assert_int_eq(main->end_ns, 2 * S);
    ck_assert_ptr_null(builder_find(p, EARLY));
    ck_assert_ptr_null(builder_find(p, LATE));
    ck_assert_uint_eq(done.threads, 4);
    ck_assert_uint_eq(done.left_out, 2);
    ck_assert_uint_eq(profile_see_process(p, (process_id){1})->threads, 0);
    profile_free(p);
}
END_TEST

START_TEST(counts_are_the_kernels_between_its_marks)
{
    struct profile_cut done;
    struct profile *p = cut(2 * S, 10 * S, &done);
    ck_assert_int_eq(builder_find(p, MAIN)->counts.ns[COUNTED_CPU],
                     2000 * MS); /* a mark is at 2 s */
    ck_assert_int_eq(builder_find(p, WORKER)->counts.ns[COUNTED_CPU], 7200 * MS);
    ck_assert_int_eq(builder_find(p, LATE)->counts.ns[COUNTED_CPU], 2000 * MS);
    ck_assert_int_eq(done.counted_ns, (2000 + 7200 + 800 + 2000) * MS);
    ck_assert_int_eq(done.by_samples_ns, (7200 + 800) * MS); /* of the worker, which has no mark */
    ck_assert_uint_eq(profile_see_process(p, (process_id){1})->threads, 3);
    profile_free(p);
}
END_TEST

/* From 2 s on main is counted for 2 s, while it is seen to run for 2 s until 4 s. */
START_TEST(between_two_marks_the_samples_tell)
{
    struct profile_cut done;
    struct profile *p = cut(3 * S, 5 * S, &done);
    ck_assert_int_eq(builder_find(p, MAIN)->counts.ns[COUNTED_CPU], 1000 * MS);
    ck_assert_int_eq(builder_find(p, MAIN)->counts.ns[COUNTED_OFF_CPU], 1000 * MS);
    ck_assert_int_eq(builder_find(p, MAIN)->runs[0].weights.counted_ns, 1000 * MS);
    profile_free(p);
}
END_TEST

START_TEST(parts_add_up_to_the_whole)
{
    static const int64_t edges[] = {0, 777777777, 2000000000, 3333333333, 8123456789, 10000000000};
    int64_t counted[LATE + 1][COUNTED_KINDS] = {{0}};
    int64_t wall[LATE + 1] = {0};
    for (size_t i = 0; i + 1 < sizeof edges / sizeof *edges; i++) {
        struct profile_cut done;
        struct profile *p = cut(edges[i], edges[i + 1], &done);
        for (pid_t tid = MAIN; tid <= LATE; tid++) {
            const struct profile_thread *t = builder_find(p, tid);
            for (int kind = 0; t && kind < COUNTED_KINDS; kind++)
                counted[tid][kind] += t->counts.ns[kind];
            for (size_t k = 0; t && k < t->n_runs; k++)
                wall[tid] += t->runs[k].weights.wall_ns;
        }
        profile_free(p);
    }
    struct profile *whole = make();
    for (pid_t tid = MAIN; tid <= LATE; tid++) {
        const struct profile_thread *t = builder_find(whole, tid);
        for (int kind = 0; kind < COUNTED_KINDS; kind++)
            ck_assert_int_eq(counted[tid][kind], t->counts.ns[kind]);
        ck_assert_int_eq(wall[tid], t->end_ns - t->start_ns);
    }
    profile_free(whole);
}
END_TEST

/* Main's 60 switches are in its wait, which begins after 4 s; those of wallspy's stops are in no
 * run. */
START_TEST(switches_of_stops_are_cut_apart)
{
    struct profile_cut done;
    struct profile *p = make();
    struct profile_thread *t = profile_get_thread(p, (thread_id){1});
    t->usage.voluntary = 3060;
    t->own_switches = 3000;
    t->runs[1].weights.events.switches = 60;
    profile_cut(p, 0, 5 * S, &done);
    t = profile_get_thread(p, (thread_id){1});
    ck_assert_int_eq(t->tid, MAIN);
    ck_assert_uint_eq(t->own_switches, 1500);
    ck_assert_uint_eq(t->usage.voluntary, 1500 + 10);
    profile_free(p);
}
END_TEST

START_TEST(the_whole_stays_as_it_is)
{
    struct profile_cut done;
    struct profile *p = cut(0, 10 * S, &done);
    struct profile *whole = make();
    for (uint32_t i = 1; i <= profile_thread_count(whole); i++) {
        const struct profile_thread *a = profile_see_thread(p, (thread_id){i});
        const struct profile_thread *b = profile_see_thread(whole, (thread_id){i});
        ck_assert_uint_eq(a->n_runs, b->n_runs);
        for (size_t k = 0; k < a->n_runs; k++) {
            ck_assert_int_eq(a->runs[k].start_ns, b->runs[k].start_ns);
            ck_assert_int_eq(a->runs[k].weights.wall_ns, b->runs[k].weights.wall_ns);
            ck_assert_int_eq(a->runs[k].weights.counted_ns, b->runs[k].weights.counted_ns);
            ck_assert_uint_eq(a->runs[k].samples, b->runs[k].samples);
        }
        ck_assert_mem_eq(&a->counts, &b->counts, sizeof a->counts);
        ck_assert_int_eq(a->end_ns, b->end_ns);
        ck_assert_int_eq(a->ended, b->ended);
    }
    ck_assert_int_eq(done.by_samples_ns, 0);
    ck_assert_uint_eq(done.left_out, 0);
    profile_free(whole);
    profile_free(p);
}
END_TEST

START_TEST(what_has_no_marks_is_scaled_and_the_origin_moves)
{
    struct profile_cut done;
    struct profile *p = cut(2 * S, 4 * S, &done);
    ck_assert_int_eq(profile_see_host(p)->busy_ns, 4 * S);
    ck_assert_int_eq(profile_origin(p)->utc_ns, 1700000002 * S);
    ck_assert_int_eq(profile_origin(p)->monotonic_ns, 77 + 2 * S);
    ck_assert_str_eq(profile_metadata_text(p, "started"), "2023-11-14T22:13:22Z");
    /* The process's threads were counted for 4 of 16.6 s of its time on CPUs and waiting for one.
     */
    ck_assert_int_eq(profile_see_process(p, (process_id){1})->usage.user_ns / MS, 240);
    profile_free(p);
}
END_TEST

/* A pause of 30 s after 3 s: the time of day goes on meanwhile, that of the profile does not. */
START_TEST(marks_and_pauses_are_those_of_the_window)
{
    struct profile_cut done;
    size_t n;
    struct profile *p = make();
    const struct user_pause pause = {3 * S, 1700000003 * (uint64_t)S, 30 * S};
    ck_assert(profile_add_mark(p, 1 * S, 1700000001 * (uint64_t)S, "early"));
    profile_add_pause(p, &pause);
    ck_assert(profile_add_mark(p, 6 * S, 1700000036 * (uint64_t)S, "step 2"));
    ck_assert_int_eq(profile_utc_of(p, 3 * S), 1700000003 * S);
    ck_assert_int_eq(profile_utc_of(p, 6 * S), 1700000036 * S);
    ck_assert_int_eq(profile_time_of_utc(p, 1700000036 * S), 6 * S);
    ck_assert_int_eq(profile_time_of_utc(p, 1700000020 * S), 3 * S);
    profile_cut(p, 5 * S, 8 * S, &done);
    ck_assert_int_eq(profile_origin(p)->utc_ns, 1700000035 * S);
    ck_assert_str_eq(profile_text(p, profile_marks(p, &n)->text), "step 2");
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(profile_marks(p, &n)->at_ns, 1 * S);
    (void)profile_pauses(p, &n);
    ck_assert_uint_eq(n, 0);
    ck_assert(profile_number(p, METRIC_PAUSED_S) == 0);
    profile_free(p);
}
END_TEST

/* Threads that ended early are sums, of which nobody knows what they did when. */
START_TEST(sums_over_ended_threads_are_left_out)
{
    struct profile_cut done;
    struct profile *p = make();
    thread_id id = profile_thread(p, (process_id){1}, 0, profile_string(p, "job"), 4 * S);
    struct profile_thread *t = profile_get_thread(p, id);
    t->n_folded = 7;
    t->ended = true;
    t->end_ns = 6 * S;
    profile_append_run(
        p, id, &(struct run){.state = RUN_RUNNING, .start_ns = 5 * S, .weights.wall_ns = S / 10});
    profile_cut(p, 5 * S, 10 * S, &done);
    ck_assert_uint_eq(done.folded, 7);
    ck_assert_uint_eq(profile_see_thread(p, id)->n_runs, 0);
    profile_free(p);
}
END_TEST

START_TEST(coarse_time_is_told_and_exact_time_stays_exact)
{
    struct profile_cut done;
    struct profile *p = make();
    profile_set_exact_time(p, &(struct exact_time){.step_ns = S, .every = 0, .since_ns = 6 * S});
    profile_cut(p, 3 * S, 9 * S, &done);
    ck_assert_int_eq(done.step_ns, S);
    ck_assert_int_eq(profile_exact_time(p)->step_ns, S);
    ck_assert_int_eq(profile_exact_time(p)->since_ns, 3 * S);
    profile_free(p);
    p = make();
    profile_set_exact_time(p, &(struct exact_time){.step_ns = S, .every = 0, .since_ns = 6 * S});
    profile_cut(p, 7 * S, 9 * S, &done);
    ck_assert_int_eq(done.step_ns, 0);
    ck_assert_int_eq(profile_time_step_ns(p), 0);
    profile_free(p);
}
END_TEST

CHECK_MAIN("cut", 4, switches_of_stops_are_cut_apart,
           runs_are_clipped_and_threads_without_time_left_out,
           counts_are_the_kernels_between_its_marks, between_two_marks_the_samples_tell,
           parts_add_up_to_the_whole, the_whole_stays_as_it_is,
           what_has_no_marks_is_scaled_and_the_origin_moves,
           marks_and_pauses_are_those_of_the_window, sums_over_ended_threads_are_left_out,
           coarse_time_is_told_and_exact_time_stays_exact)
