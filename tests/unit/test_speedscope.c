#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "exporter/path_timeline.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static char *written;
static size_t written_len;
static struct export_notes notes; /* of the last file */

/* Writes P into WRITTEN. */
static void write_profile(const struct profile *p, const char *format, uint64_t max_bytes,
                          const struct view_options *options)
{
    free(written);
    FILE *out = open_memstream(&written, &written_len);
    const struct exporter *e = exporter_by_name(format);
    ck_assert_int_eq(exporter_write(e, p, options, NULL, max_bytes, out, &notes), 0);
    (void)fclose(out);
}

/* The file for B's profile, whose end is END_MS; the profile is freed. */
static const char *export_view(struct profile_builder *b, const char *format, int64_t end_ms,
                               const struct view_options *options)
{
    profile_end(b->p, end_ms * NS_PER_MS);
    write_profile(b->p, format, 0, options);
    profile_free(b->p);
    return written;
}

static const char *export(struct profile_builder *b, const char *format, int64_t end_ms)
{
    return export_view(b, format, end_ms, &(struct view_options){0});
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        ck_abort_msg("no \"%s\" in:\n%.3000s", part, text);
}

static const char *after(const char *text, const char *part)
{
    assert_holds(text, part);
    return strstr(text, part) + strlen(part);
}

/* The sum of the weights of the profile called NAME. */
static int64_t weights_of(const char *text, const char *name)
{
    struct text key = {0};
    text_addf(&key, "\"name\":\"%s\",\"unit\"", name);
    const char *s = after(after(text, key.s), "\"weights\":[");
    text_release(&key);
    int64_t sum = 0;
    for (; *s != ']'; s += strspn(s, ",")) {
        char *end = NULL;
        sum += strtoll(s, &end, 10);
        s = end;
    }
    return sum;
}

START_TEST(a_small_profile_is_written_whole)
{
    struct profile_builder b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "f@/a.py:1:2 > g@/a.py:5:6", 30, 30);
    builder_missed(&b, main, 20);
    builder_run(&b, main, "f@/a.py:1:3 > read!libc.so.6 > read pipe [blocked]", 50, 0);
    const char *text = export(&b, "speedscope", 100);
    ck_assert(str_starts(text,
                         "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                         "\"exporter\":\"wallspy@" WALLSPY_VERSION
                         "\",\"name\":\"python3\",\"activeProfileIndex\":0,"));
    ck_assert_str_eq(
        strstr(text, "\"shared\""),
        "\"shared\":{\"frames\":[\n"
        "{\"name\":\"f\",\"file\":\"/a.py\",\"line\":1},\n"
        "{\"name\":\"g\",\"file\":\"/a.py\",\"line\":5},\n"
        "{\"name\":\"read\",\"file\":\"[libc.so.6]\"},\n"
        "{\"name\":\"read pipe [blocked]\",\"file\":\"[off-cpu]\"},\n"
        "{\"name\":\"main 10\"}]},\n"
        "\"profiles\":[\n"
        "{\"type\":\"sampled\",\"name\":\"main 10 | wall\",\"unit\":\"microseconds\","
        "\"startValue\":0,\"samples\":[\n[0,1],\n[],\n[0,2,3]],"
        "\"weights\":[30000,20000,50000],\"endValue\":100000},\n"
        "{\"type\":\"sampled\",\"name\":\"ALL active | wall\",\"unit\":\"microseconds\","
        "\"startValue\":0,\"samples\":[\n[4],\n[4,0,1],\n[4,0,2,3]],"
        "\"weights\":[20000,30000,50000],\"endValue\":100000},\n"
        "{\"type\":\"sampled\",\"name\":\"ALL | cpu\",\"unit\":\"microseconds\","
        "\"startValue\":0,\"samples\":[\n[4,0,1]],\"weights\":[30000],\"endValue\":30000},\n"
        "{\"type\":\"sampled\",\"name\":\"ALL | off-cpu\",\"unit\":\"microseconds\","
        "\"startValue\":0,\"samples\":[\n[4,0,2,3]],"
        "\"weights\":[70000],\"endValue\":70000}]}\n");
    assert_holds(text, "\"processes\":[\n{\"pid\":10,\"comm\":\"python3\",\"command\":\"python3\","
                       "\"python\":null,"
                       "\"threads_sampled\":1,\"ended\":false,\"start_ns\":0,\"end_ns\":100000000,"
                       "\"run_ns\":30000000,\"wait_cpu_ns\":0,\"blocked_ns\":70000000}]");
    assert_holds(text, "\"run_ns\":30000000,\"wait_cpu_ns\":0,\"blocked_ns\":70000000,"
                       "\"missed_ns\":20000000");
}
END_TEST

START_TEST(all_time_lines_share_origin_and_end)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "main!app", 1000, 1000);
    thread_id late = builder_thread(&b, 11, "late");
    profile_get_thread(b.p, late)->start_ns = INT64_C(300) * NS_PER_MS;
    builder_run(&b, late, "work!app", 400, 400);
    profile_get_thread(b.p, late)->ended = true;
    profile_get_thread(b.p, late)->end_ns = INT64_C(700) * NS_PER_MS;
    const char *text = export(&b, "speedscope", 1000);
    ck_assert_int_eq(weights_of(text, "main 10 | wall"), 1000000);
    ck_assert_int_eq(weights_of(text, "late 11 | wall"), 1000000);
    assert_holds(after(text, "late 11 | wall"),
                 "\"samples\":[\n[],\n[1],\n[]],\"weights\":[300000,400000,300000]");
    ck_assert_int_eq(weights_of(text, "ALL active | wall"), 1400000);
}
END_TEST

START_TEST(rounding_does_not_drift_and_zeros_are_dropped)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    struct run run = {.state = RUN_RUNNING, .weights.wall_ns = 333};
    for (int i = 0; i < 3000; i++, run.start_ns += 333) {
        run.at.stack = builder_stack(&b, i % 2 ? "a!app" : "b!app");
        profile_add_run(b.p, main, &run);
    }
    profile_end(b.p, 999000);
    write_profile(b.p, "speedscope", 0, &(struct view_options){0});
    profile_free(b.p);
    ck_assert_int_eq(weights_of(written, "main 10 | wall"), 999);
    ck_assert_ptr_null(strstr(written, ",0,"));
}
END_TEST

START_TEST(profiles_come_in_the_order_of_interest)
{
    struct profile_builder b = builder_start(10, "python3");
    static const struct {
        pid_t tid;
        const char *name, *stack;
        int64_t cpu_ms;
    } threads[] = {
        {11, "pool-1", "gomp_thread_start!libgomp.so.1 > futex [blocked]", 0},
        {12, "pool-2", "gomp_thread_start!libgomp.so.1 > futex [blocked]", 0},
        {13, "ticker", "tick!app", 100},
        {14, "driver", "run!app > ioctl!libc.so.6 > ioctl /dev/x [blocked]", 0},
        {10, NULL, "f@/a.py:1:2 > futex [blocked]", 0},
    };
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        thread_id t = builder_thread(&b, threads[i].tid, threads[i].name);
        builder_run(&b, t, threads[i].stack, 1000, threads[i].cpu_ms);
    }
    const char *text = export(&b, "speedscope", 1000);
    static const char *const order[] = {"main 10 | wall", "ALL active | wall", "ALL | cpu",
                                        "ALL | off-cpu",  "driver 14 | wall",  "ticker 13 | wall",
                                        "2 idle: pool-*"};
    const char *at = strstr(text, "\"profiles\"");
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        at = after(at, order[i]);
    ck_assert_ptr_null(strstr(at, "sampled"));
    ck_assert_int_eq(weights_of(text, "2 idle: pool-*"), 2000000);
    ck_assert_int_eq(weights_of(text, "ALL | off-cpu"), 4900000);
}
END_TEST

/* Two that each ran their stack for a second; new threads would be the second one's. */
/* Events are where the thread waited for the CPU on which they came. */
/* A pool's thread that mostly waits is idle, and has computed all the same. */
START_TEST(what_idle_threads_computed_is_in_the_sums_of_all)
{
    static const char waits[] = "gomp_team_barrier_wait!libgomp.so.1 > futex [blocked]";
    struct profile_builder b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app", 1000, 1000);
    thread_id pool = builder_thread(&b, 11, "pool");
    builder_run(&b, pool, "work!app", 2, 2);
    builder_run(&b, pool, waits, 998, 0);
    const char *text = export(&b, "speedscope", 1000);
    assert_holds(text, "\"1 idle: ");
    ck_assert_int_eq(weights_of(text, "ALL active | wall"), 1000000);
    ck_assert_int_eq(weights_of(text, "ALL | cpu"), 1002000);
    ck_assert_int_eq(weights_of(text, "ALL | off-cpu"), 998000);
}
END_TEST

START_TEST(weights_are_profiles_of_their_own)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id t = builder_thread(&b, 10, NULL);
    builder_run(&b, t, "main!app > copy!app", 600, 600);
    builder_runnable(&b, t, "main!app > copy!app > [waiting for cpu]", 300);
    builder_run(&b, t, "main!app > rest!app > pause [blocked]", 100, 0);
    struct profile_thread *thread = profile_get_thread(b.p, t);
    thread->usage = (struct profile_usage){.minor_faults = 900, .voluntary = 30, .involuntary = 4};
    thread->own_switches = 10;
    thread->runs[1].weights.events.near_faults = 10;
    const struct view_options options = {.weights = 1 << WEIGHT_FAULTS | 1 << WEIGHT_SWITCHES |
                                                    1 << WEIGHT_CPU | 1 << WEIGHT_OFF};
    const char *text = export_view(&b, "speedscope", 1000, &options);
    ck_assert_int_eq(weights_of(text, "main 10 | faults"), 900);
    ck_assert_int_eq(weights_of(text, "ALL | faults"), 900);
    ck_assert_int_eq(weights_of(text, "main 10 | switches"), 24);
    ck_assert_int_eq(weights_of(text, "main 10 | run"), 600000);
    ck_assert_ptr_null(strstr(text, "main 10 | blocked"));
    ck_assert_ptr_null(strstr(text, "ALL | run"));
    const char *faults = after(text, "\"name\":\"main 10 | faults\"");
    assert_holds(faults, "\"unit\":\"none\",\"startValue\":0,\"samples\":[\n[0,1]]");
    ck_assert_int_gt(weights_of(text, "ALL | off"), 0);
}
END_TEST

/* A page of more than 250 profiles is slow. */
START_TEST(threads_without_a_profile_of_a_weight_share_one)
{
    enum { THREADS = 300, RAN_MS = 10 };
    struct profile_builder b = builder_start(10, "app");
    for (int i = 0; i < THREADS; i++)
        builder_run(&b, builder_thread(&b, 10 + i, i ? "worker" : NULL), "main!app", RAN_MS,
                    RAN_MS);
    const struct view_options options = {.weights = 1 << WEIGHT_CPU | 1 << WEIGHT_SWITCHES};
    const char *text = export_view(&b, "speedscope", RAN_MS, &options);
    ck_assert_int_eq(weights_of(text, "100 less active | wall"), 100 * RAN_MS * 1000);
    ck_assert_int_eq(weights_of(text, "279 less active | run"), 279 * RAN_MS * 1000);
    assert_holds(text, "279 less active | switches");
    ck_assert_int_eq(weights_of(text, "main 10 | run"), RAN_MS * 1000);
}
END_TEST

static struct profile_builder two_processes(const char *first, const char *second)
{
    struct profile_builder b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), first, 1000, 100);
    struct profile_process other = {.pid = 20, .comm = profile_string(b.p, "app")};
    b.process = profile_process(b.p, &other);
    builder_run(&b, builder_thread(&b, 20, NULL), second, 1000, 900);
    return b;
}

START_TEST(processes_are_called_by_rank_or_pid)
{
    struct profile_builder b = builder_start(10, "torchrun");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app > wait4 [blocked]", 1000, 0);
    builder_process(&b, 20, "python", "OMP_NUM_THREADS=2 RANK=1 WORLD_SIZE=2");
    builder_run(&b, builder_thread(&b, 20, NULL), "f@/a.py:1:2", 1000, 900);
    builder_run(&b, builder_thread(&b, 21, "loader"), "g@/a.py:1:2", 1000, 800);
    const char *text = strstr(export(&b, "speedscope", 1000), "\"profiles\"");
    static const char *const order[] = {"ALL active | wall",    "ALL | cpu",
                                        "ALL | off-cpu",        "ALL torchrun 10 | wall",
                                        "ALL rank1 | wall",     "torchrun 10 main | wall",
                                        "rank1 main 20 | wall", "rank1 loader 21 | wall"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        text = after(text, order[i]);
}
END_TEST

/* When the main thread waits MAIN_MS of a second, and another one WORKER_MS. */
static const char *opened(int64_t main_ms, int64_t worker_ms)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    thread_id worker = builder_thread(&b, 11, "worker");
    builder_run(&b, main, "main!app > futex [blocked]", main_ms, 0);
    builder_run(&b, main, "main!app > f!app", 1000 - main_ms, 1000 - main_ms);
    builder_run(&b, worker, "run!app > futex [blocked]", worker_ms, 0);
    builder_run(&b, worker, "run!app > f!app", 1000 - worker_ms, 1000 - worker_ms);
    return after(export(&b, "speedscope", 1000), "\"activeProfileIndex\":");
}

START_TEST(all_threads_are_opened_where_the_main_one_only_waits)
{
    ck_assert_int_eq(*opened(960, 100), '1');
    ck_assert_int_eq(*opened(900, 100), '0');
    ck_assert_int_eq(*opened(960, 960), '0');
}
END_TEST

START_TEST(a_file_of_one_process_has_no_frames_of_others)
{
    struct profile_builder b = two_processes("main!app > first!app", "main!app > second!app");
    const bool second[] = {false, false, true};
    const char *text =
        export_view(&b, "speedscope", 1000, &(struct view_options){.processes = second});
    ck_assert_ptr_null(strstr(text, "\"first\""));
    after(after(text, "\"name\":\"main\""), "\"name\":\"second\"");
    assert_holds(text, "[2,0,1]");
}
END_TEST

START_TEST(what_is_not_as_usual_is_told)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id sum = builder_thread(&b, 11, "job-*");
    thread_id unnamed = builder_thread(&b, 12, "Thread-7");
    thread_id named = builder_thread(&b, 13, "Thread-7x");
    profile_get_process(b.p, b.process)->python_note = profile_string(b.p, "it is too old");
    profile_get_thread(b.p, sum)->n_folded = 3;
    builder_run(&b, sum, "run!app", 100, 100);
    builder_run(&b, unnamed, "serve@/a.py:1:2", 100, 100);
    builder_run(&b, named, "serve@/a.py:1:2", 100, 100);
    const char *text = export(&b, "speedscope", 100);
    assert_holds(text, "\"python\":null,\"python_note\":\"it is too old\",");
    assert_holds(text, "{\"pid\":10,\"threads\":3,\"name\":\"job-*\",\"label\":\"3 ended: job-*\"");
    assert_holds(text, "\"label\":\"serve 12\"");
    assert_holds(text, "\"label\":\"Thread-7x 13\"");
}
END_TEST

START_TEST(default_names_stay_where_there_is_no_python)
{
    struct profile_builder b = builder_start(10, "java");
    builder_run(&b, builder_thread(&b, 12, "Thread-1"), "thread_native_entry!libjvm.so", 100, 100);
    assert_holds(export(&b, "speedscope", 100), "\"label\":\"Thread-1 12\"");
}
END_TEST

START_TEST(deep_stacks_keep_both_ends)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    stack_id s = {0};
    for (int i = 0; i < 3000; i++) {
        struct text name = {0};
        text_addf(&name, "f%d", i);
        s = profile_push(b.p, s, profile_mark(b.p, name.s, NULL));
        text_release(&name);
    }
    struct run run = {.at.stack = s, .state = RUN_RUNNING, .weights.wall_ns = NS_PER_MS};
    profile_add_run(b.p, main, &run);
    const char *text = export(&b, "speedscope", 1);
    assert_holds(text, "{\"name\":\"[… 2001 frames]\"}");
    assert_holds(text, "\"samples\":[\n[0,1,2,");
    assert_holds(text, ",498,499,999,500,501,");
    assert_holds(text, "\"stacks_shortened\":1");
    ck_assert_uint_eq(notes.stacks_shortened, 1);
    ck_assert_str_eq(notes.coarsened, "");
}
END_TEST

START_TEST(recursions_of_many_depths_are_few_paths)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    frame_id f = profile_mark(b.p, "f", NULL);
    stack_id s = {0};
    for (int depth = 1; depth < 2900; depth++) {
        s = profile_push(b.p, s, f);
        struct run run = {.at.stack = s,
                          .state = RUN_RUNNING,
                          .start_ns = (int64_t)depth * NS_PER_MS,
                          .weights.wall_ns = NS_PER_MS};
        if (depth > 2500)
            profile_add_run(b.p, main, &run);
    }
    const char *text = export(&b, "speedscope", 1);
    assert_holds(text, "{\"name\":\"[… 1000+ frames]\"}");
    int gaps = 0;
    for (const char *at = text; (at = strstr(at, "\"[… ")) != NULL; at++)
        gaps++;
    ck_assert_int_eq(gaps, 16 + 1);
}
END_TEST

/* Alternating stacks without a common frame: each sample makes DEPTH nodes. */
static struct profile_builder large(int runs, int depth, int distinct)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    stack_id *stacks = calloc((size_t)distinct, sizeof *stacks);
    for (int i = 0; i < distinct; i++) {
        struct text name = {0};
        text_addf(&name, "f%d", i);
        frame_id f = profile_mark(b.p, name.s, NULL);
        for (int k = 0; k < depth; k++)
            stacks[i] = profile_push(b.p, stacks[i], f);
        text_release(&name);
    }
    struct run run = {.state = RUN_RUNNING, .weights.wall_ns = INT64_C(10) * NS_PER_MS};
    for (int i = 0; i < runs; i++, run.start_ns += run.weights.wall_ns) {
        run.at.stack = stacks[i % distinct];
        profile_add_run(b.p, main, &run);
    }
    free(stacks);
    return b;
}

START_TEST(ten_million_nodes_are_coarsened)
{
    enum { RUNS = 500000, DEPTH = 20 };
    if (check_skips(getenv("WALLSPY_NO_LARGE_TESTS"), "WALLSPY_NO_LARGE_TESTS is set"))
        return;
    struct profile_builder b = large(RUNS, DEPTH, 10);
    const char *text = export(&b, "speedscope", INT64_C(10) * RUNS);
    assert_holds(text, "\"coarsened\":\"in steps of 3.2 s\"");
    ck_assert_int_eq(weights_of(text, "main 10 | wall (in steps of 3.2 s)"), RUNS * 10000L);
    ck_assert_int_eq(weights_of(text, "ALL active | wall"), RUNS * 10000L);
    ck_assert_uint_lt(written_len, 100000000);
}
END_TEST

START_TEST(too_many_distinct_stacks_are_folded)
{
    struct profile_builder b = large(60000, 30, 60000);
    const char *text = export(&b, "speedscope", 600000);
    assert_holds(text, "\"coarsened\":\"aggregated, paths under 0.002% folded\"");
    ck_assert_str_eq(notes.coarsened, "aggregated, paths under 0.002% folded");
    ck_assert_int_eq(weights_of(text, "main 10 | wall (aggregated, paths under 0.002% folded)"),
                     600000000);
}
END_TEST

/* Ten paths of a tenth of its time are left of each thread when all lighter ones are folded. */
START_TEST(the_last_folds_are_made_too)
{
    enum { THREADS = 200, PATHS = 10, DEPTH = 990 };
    struct profile_builder b = builder_start(10, "app");
    struct text deep = {0};
    for (int k = 1; k < DEPTH; k++)
        text_add(&deep, " > deep!app");
    for (int i = 0; i < THREADS * PATHS; i++) {
        thread_id thread = {(uint32_t)(i / PATHS + 1)};
        struct text stack = {0};
        if (i % PATHS == 0)
            thread = builder_thread(&b, 10 + i / PATHS, NULL);
        text_addf(&stack, "%d%s", i % PATHS, deep.s);
        builder_run(&b, thread, stack.s, 1, 1);
        text_release(&stack);
    }
    text_release(&deep);
    const char *text = export(&b, "speedscope", PATHS);
    assert_holds(text, "\"coarsened\":\"aggregated, paths under 20% folded\"");
    ck_assert_int_eq(weights_of(text, "main 10 | wall (aggregated, paths under 20% folded)"),
                     10000);
}
END_TEST

/* A file of many names cannot be made smaller: it says so. */
START_TEST(a_file_that_stays_too_large_says_so)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "a!app", 1, 0);
    profile_end(b.p, NS_PER_MS);
    write_profile(b.p, "speedscope", 5000, &(struct view_options){0});
    profile_free(b.p);
    assert_holds(written, "paths under 100% folded, still larger than its bound");
}
END_TEST

/* A thread has few of many paths: light ones give their time to the nearest caller that is not. */
START_TEST(a_few_of_many_paths_are_folded_from_the_innermost)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id many = builder_thread(&b, 10, NULL);
    thread_id few = builder_thread(&b, 11, "few");
    builder_run(&b, few, "a!app > b!app", 100, 0);
    builder_run(&b, few, "a!app > b!app > c!app", 2, 0);
    builder_run(&b, few, "a!app > b!app > c!app > d!app > e!app", 3, 0);
    for (int i = 0; i < 200; i++) {
        struct text stack = {0};
        text_addf(&stack, "f%d!app", i);
        builder_run(&b, many, stack.s, 1, 0);
        text_release(&stack);
    }
    struct view_options options = {0};
    struct view *v = view_new(b.p, &options);
    struct paths *paths = paths_new(b.p, v, 0);
    struct path_timeline l = {0};
    path_timeline_add_thread(&l, paths, profile_see_thread(b.p, few), WEIGHT_WALL, 0);
    path_timeline_bucket(&l, paths, INT64_MAX);
    ck_assert_uint_eq(l.n, 3);
    path_timeline_fold(&l, paths, INT64_C(10) * NS_PER_MS);
    ck_assert_int_eq(path_timeline_total_ns(&l), INT64_C(105) * NS_PER_MS);
    ck_assert_uint_eq(l.n, 1);
    ck_assert_uint_eq(paths_depth(paths, l.segments[0].path), 2);
    path_timeline_release(&l);
    paths_free(paths);
    view_free(v);
    profile_free(b.p);
}
END_TEST

START_TEST(nothing_sampled_is_still_a_file)
{
    struct profile_builder b = builder_start(10, "app");
    const char *text = export(&b, "speedscope", 0);
    assert_holds(text, "\"name\":\"ALL active | wall\"");
}
END_TEST

CHECK_MAIN("speedscope", 60, threads_without_a_profile_of_a_weight_share_one,
           a_small_profile_is_written_whole, all_time_lines_share_origin_and_end,
           rounding_does_not_drift_and_zeros_are_dropped, profiles_come_in_the_order_of_interest,
           what_idle_threads_computed_is_in_the_sums_of_all, weights_are_profiles_of_their_own,
           a_file_of_one_process_has_no_frames_of_others, processes_are_called_by_rank_or_pid,
           all_threads_are_opened_where_the_main_one_only_waits, what_is_not_as_usual_is_told,
           default_names_stay_where_there_is_no_python, deep_stacks_keep_both_ends,
           ten_million_nodes_are_coarsened, recursions_of_many_depths_are_few_paths,
           too_many_distinct_stacks_are_folded, a_few_of_many_paths_are_folded_from_the_innermost,
           the_last_folds_are_made_too, a_file_that_stays_too_large_says_so,
           nothing_sampled_is_still_a_file)
