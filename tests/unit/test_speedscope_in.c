/* cli/speedscope_in.c: what a speedscope file that wallspy wrote still holds. */
#include "cli/speedscope_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "exporter/exporter.h"
#include "summary/path_times.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile *p;
static char *file;
static size_t len;
static struct err err;

/* Writes what P holds into FILE, with a finding. */
static void write_file(void)
{
    const struct view_options options = {0};
    struct export_notes notes;
    const struct export_findings findings = {
        .json = "[{\"rule\":\"waits_meanwhile\",\"about\":\"main\",\"explains\":0.7,"
                "\"figures\":{\"share\":0.5},\"words\":\"main waits for \\u001b[31mworker.\"}]"};
    FILE *out = open_memstream(&file, &len);
    ck_assert_int_eq(
        exporter_write(exporter_by_name("speedscope"), p, &options, &findings, 0, out, &notes), 0);
    ck_assert_int_eq(fclose(out), 0);
}

static void set_up(void)
{
    struct profile_builder b = builder_start(100, "python3");
    thread_id main = builder_thread(&b, 100, NULL);
    thread_id worker = builder_thread(&b, 101, "worker");
    builder_run(&b, main,
                "<module>@/src/train.py:1:1 > step@/src/train.py:5:6 > "
                "mge::sync!libmge.so|/src/worker.cc:44 > futex [blocked]",
                3000, 0);
    builder_run(&b, main, "<module>@/src/train.py:1:1 > 0x1f00!libmge.so", 1000, 1000);
    builder_runnable(&b, worker, "run!app > [waiting for cpu]", 500);
    builder_run(&b, worker, "run!app > read /mnt//data/x [blocked]", 1500, 0);
    builder_missed(&b, worker, 1000);
    builder_run(&b, worker, "run!app > gc?!app > [truncated]", 1000, 1000);
    for (pid_t tid = 102; tid < 104; tid++)
        builder_run(&b, builder_thread(&b, tid, "omp"),
                    "gomp_thread_start!libgomp.so.1 > gomp_team_barrier_wait!libgomp.so.1 > "
                    "futex [blocked]",
                    4000, 0);
    profile_set_text(b.p, "started", "2026-11-28T09:00:36Z");
    profile_set_number(b.p, METRIC_SEEN_SHARE, 0.75);
    profile_set_number(b.p, METRIC_RATE_HZ, 100);
    profile_end(b.p, INT64_C(4) * NS_PER_S);
    p = b.p;
    write_file();
}

static void tear_down(void)
{
    p = profile_free(p);
    free(file);
}

static struct speedscope read_back(void)
{
    struct speedscope s;
    ck_assert_msg(speedscope_read_bytes(&s, file, len, "x", &err) == 0, "%s", err.text);
    return s;
}

/* The closing table of OF. */
static char *table_of(const struct profile *of)
{
    const struct view_options options = {0};
    struct table table;
    struct groups groups;
    struct text said = {0};
    groups_init(&groups, of, &options);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    answer_write(&table, 79, &said);
    table_release(&table);
    groups_release(&groups);
    return said.s;
}

START_TEST(threads_come_back_with_their_states_and_stacks)
{
    struct speedscope s = read_back();
    ck_assert_int_eq(profile_thread_count(s.p), 4);
    ck_assert_int_eq(profile_end_ns(s.p), INT64_C(4) * NS_PER_S);
    for (uint32_t i = 1; i <= 4; i++) {
        const struct profile_thread *a = profile_see_thread(p, (thread_id){i});
        const struct profile_thread *b = profile_see_thread(s.p, (thread_id){i});
        ck_assert_int_eq(a->tid, b->tid);
        ck_assert_uint_eq(a->n_runs, b->n_runs);
        ck_assert_mem_eq(a->counts.ns, b->counts.ns, sizeof a->counts.ns);
        for (size_t k = 0; k < a->n_runs; k++) {
            ck_assert_int_eq(a->runs[k].state, b->runs[k].state);
            ck_assert_int_eq(a->runs[k].start_ns, b->runs[k].start_ns);
            ck_assert_int_eq(a->runs[k].weights.wall_ns, b->runs[k].weights.wall_ns);
            ck_assert_int_eq(a->runs[k].weights.counted_ns, b->runs[k].weights.counted_ns);
        }
    }
    char *before = table_of(p);
    char *after = table_of(s.p);
    ck_assert_ptr_nonnull(strstr(before, "train.py:6")); /* a line within, which no file has */
    ck_assert_ptr_nonnull(strstr(after, "train.py:5"));
    strstr(before, "train.py:6")[strlen("train.py:")] = '5';
    ck_assert_str_eq(before, after);
    free(before);
    free(after);
    speedscope_release(&s);
}
END_TEST

START_TEST(findings_and_numbers_come_back)
{
    struct speedscope s = read_back();
    ck_assert_uint_eq(s.findings.n_printed, 1);
    ck_assert_str_eq(s.findings.printed[0]->rule, "waits_meanwhile");
    ck_assert_str_eq(s.findings.printed[0]->about, "main");
    ck_assert_str_eq(s.findings.printed[0]->words, "main waits for ?[31mworker.");
    ck_assert(profile_number(s.p, METRIC_SEEN_SHARE) == 0.75);
    ck_assert_str_eq(profile_metadata_text(s.p, "started"), "2026-11-28T09:00:36Z");
    speedscope_release(&s);
}
END_TEST

START_TEST(a_wait_for_a_file_has_its_path)
{
    struct speedscope s = read_back();
    const struct profile_thread *t = profile_see_thread(s.p, (thread_id){2});
    const struct wait *w = profile_see_wait(s.p, t->runs[1].at.wait);
    ck_assert_str_eq(profile_text(s.p, w->call), "read");
    ck_assert_str_eq(profile_text(s.p, w->object), "/mnt/data/x");
    ck_assert_str_eq(profile_text(s.p, profile_see_mount(s.p, w->mount)->point), "/mnt");
    speedscope_release(&s);
}
END_TEST

/* Reads BYTES, of which nobody knows what they are. */
static int try(const char *bytes, size_t n)
{
    struct speedscope s;
    err = (struct err){0};
    int r = speedscope_read_bytes(&s, bytes, n, "x", &err);
    if (r == 0) {
        free(table_of(s.p));
        speedscope_release(&s);
    }
    ck_assert_int_eq(*err.text != '\0', r < 0);
    return r;
}

START_TEST(what_is_cut_short_is_an_error)
{
    for (size_t n = 0; n + 2 < len; n += 1 + n / 50)
        ck_assert_int_lt(try(file, n), 0);
}
END_TEST

START_TEST(what_is_damaged_does_no_harm)
{
    char *copy = malloc(len);
    uint32_t random = 12345;
    ck_assert_ptr_nonnull(copy);
    for (int i = 0; i < 2000; i++) {
        memcpy(copy, file, len);
        for (int k = 0; k < 3; k++) {
            random = random * 1664525 + 1013904223;
            copy[random % len] = (char)("0123456789-[]{},:\"ae\\ \x80\x1b"[random >> 16 & 15]);
        }
        (void)try(copy, len);
    }
    free(copy);
}
END_TEST

START_TEST(other_files_are_one_error)
{
    static const struct {
        const char *s, *wrong;
    } cases[] = {
        {"", "x: no speedscope file"},
        {"[]", "x: no speedscope file"},
        {"{}", "x: a speedscope file that wallspy did not write"},
        {"{\"exporter\":\"py-spy@0.4\",\"profiles\":[]}",
         "x: a speedscope file that wallspy did not write"},
        {"{\"exporter\":\"wallspy@1\"}", "x: a speedscope file without a thread"},
        {"{\"exporter\":\"wallspy@1\",\"wallspy\":{\"threads\":[{\"pid\":7}]}}",
         "x: damaged: a thread is of no process, or of no time"},
        {"{\"exporter\":\"wallspy@1\",\"wallspy\":{\"processes\":[{\"pid\":7}],\"threads\":[{"
         "\"pid\":7,\"tid\":7,\"label\":\"a 7\",\"end_ns\":5}]},\"profiles\":[{\"name\":\"a 7 | "
         "wall\",\"samples\":[[1]],\"weights\":[1]}]}",
         "x: damaged: a stack has a frame that there is not"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_lt(try(cases[i].s, strlen(cases[i].s)), 0);
        ck_assert_str_eq(err.text, cases[i].wrong);
    }
}
END_TEST

CHECK_MAIN_WITH("speedscope_in", 20, set_up, tear_down,
                threads_come_back_with_their_states_and_stacks, findings_and_numbers_come_back,
                a_wait_for_a_file_has_its_path, what_is_cut_short_is_an_error,
                what_is_damaged_does_no_harm, other_files_are_one_error)
