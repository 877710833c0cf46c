#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "exporter/exporter.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static char *written;
static size_t written_len;
static struct export_notes notes; /* of the last file */

/* Writes P into WRITTEN. */
static void write_profile(const struct profile *p, uint64_t max_bytes)
{
    free(written);
    FILE *out = open_memstream(&written, &written_len);
    const struct exporter *e = exporter_by_name("flamegraph");
    ck_assert_int_eq(exporter_write(e, p, &(struct view_options){0}, NULL, max_bytes, out, &notes),
                     0);
    (void)fclose(out);
}

/* The file for B's profile, whose end is END_MS; the profile is freed. */
static const char *export(struct profile_builder *b, int64_t end_ms, uint64_t max_bytes)
{
    profile_end(b->p, end_ms * NS_PER_MS);
    write_profile(b->p, max_bytes);
    profile_free(b->p);
    return written;
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        ck_abort_msg("no \"%s\" in:\n%.3000s", part, strstr(text, "id=\"frames"));
}

/* The part of TEXT that holds the frames, the only element called so. */
static const char *frames_of(const char *text)
{
    assert_holds(text, "<g id=\"frames\">");
    return strstr(text, "<g id=\"frames\">");
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

START_TEST(a_small_profile_is_drawn_whole)
{
    struct profile_builder b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "f@/a.py:1:2 > g@/a.py:5:6", 300, 300);
    builder_run(&b, main, "f@/a.py:1:2", 100, 100);
    builder_run(&b, main, "f@/a.py:1:3 > read!libc.so.6|/src/read.c:9 > read pipe [blocked]", 600,
                0);
    const char *text = export(&b, 1000, 0);
    assert_holds(frames_of(text), "<g data-t=\"0 1000000\"><title>all\n1.00 s, 100.0 % of all"
                                  "</title><rect x=\"10.00\" y=\"100\" width=\"1179.00\" "
                                  "height=\"17\" class=\"all\"/><text x=\"14.00\" y=\"113\">all"
                                  "</text></g>\n"
                                  "<g data-t=\"0 1000000\"><title>main 10\n");
    assert_holds(text, "<title>f\n/a.py:1\n1.00 s, 100.0 % of all, 100.0 % of its caller; "
                       "100 ms in itself</title>");
    /* The heaviest is on the left, whatever came first. */
    assert_holds(text, "<g data-t=\"0 600000\"><title>read\n[libc.so.6] /src/read.c\n"
                       "600 ms, 60.0 % of all, 60.0 % of its caller</title>");
    assert_holds(text, "<g data-t=\"600000 900000\"><title>g\n/a.py:5\n"
                       "300 ms, 30.0 % of all, 30.0 % of its caller</title>"
                       "<rect x=\"718.00\" y=\"154\" width=\"353.00\" height=\"17\" class=\"py");
    assert_holds(text, ">read<tspan class=\"place\">  read.c</tspan></text>");
    assert_holds(text, "<title>read pipe [blocked]\n600 ms");
    assert_holds(text, ">1.00 s of 1 thread in 1.00 s of wall time</text>");
    assert_holds(text, ">Python 40.0 %</text>");
    assert_holds(text, ">blocked 60.0 %</text>");
    ck_assert_uint_eq(count(frames_of(text), "</title><rect"), 6);
    ck_assert_ptr_null(strstr(text, "merged into grey frames or"));
    ck_assert_str_eq(notes.coarsened, "");
}
END_TEST

START_TEST(the_reason_of_a_wait_has_its_colour)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "main!app > [waiting for GIL]", 100, 0);
    builder_run(&b, main, "main!app > [waiting for cpu]", 100, 0);
    builder_run(&b, main, "main!app > [page fault]", 100, 0);
    builder_run(&b, main, "main!app > futex [blocked]", 100, 0);
    builder_run(&b, main, "main!app > [truncated]", 100, 0);
    builder_missed(&b, main, 100);
    const char *text = export(&b, 600, 0);
    static const char *const classes[] = {"gil", "cpu", "page-fault", "blocked", "mark"};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct text class = {0};
        text_addf(&class, "y=\"154\" width=\"195.67\" height=\"17\" class=\"%s\"/>", classes[i]);
        ck_assert_msg(count(text, class.s) == 1, "%s", class.s);
        text_release(&class);
    }
    assert_holds(text, ">no sample 16.7 %</text>");
    assert_holds(text, "<title>main 10\n600 ms, 100.0 % of all; 100 ms without a sample</title>");
}
END_TEST

START_TEST(alike_threads_are_one_and_idle_ones_are_left_out)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "main!app > futex [blocked]", 1000, 10);
    for (pid_t tid = 11; tid < 19; tid++) {
        struct text name = {0};
        text_addf(&name, "worker-%d", tid);
        builder_run(&b, builder_thread(&b, tid, name.s), "run!app", 1000, 1000);
        text_release(&name);
    }
    for (pid_t tid = 20; tid < 50; tid++)
        builder_run(&b, builder_thread(&b, tid, "app"),
                    "gomp_thread_start!libgomp.so.1 > futex [blocked]", 1000, 0);
    const char *text = export(&b, 1000, 0);
    assert_holds(text, "<g data-t=\"0 1000000\"><title>main 10\n");
    assert_holds(text, "<g data-t=\"1000000 9000000\"><title>8 x worker-*\n");
    assert_holds(text, ">9.00 s of 9 threads in 1.00 s of wall time; 30 idle threads not shown<");
    ck_assert_ptr_null(strstr(text, "gomp"));
}
END_TEST

START_TEST(hostile_names_stay_text)
{
    struct profile_builder b = builder_start(10, "app </title><script>alert(1)</script>");
    thread_id main = builder_thread(&b, 10, NULL);
    struct text name = {0};
    builder_run(&b, main, "<script>alert(2)</script>!a\"b&.so", 100, 100);
    builder_run(&b, main, "a\x01\x1b[31m\x7f\xff\xef\xbf\xbe]]>\"'&lt;\xe2\x80\xae!b.so", 100, 100);
    for (int i = 0; i < 10000; i++)
        text_add(&name, "\xc3\xa9");
    text_add(&name, "!c.so");
    builder_run(&b, main, name.s, 100, 100);
    const char *text = export(&b, 300, 0);
    assert_holds(text, "<title>&lt;script&gt;alert(2)&lt;/script&gt;\n[a&quot;b&amp;.so]\n");
    assert_holds(text, "<title>a??[31m???]]&gt;&quot;'&amp;lt;?\n[b.so]\n");
    ck_assert_uint_eq(count(text, "alert(1)"), 1);
    assert_holds(text, ">app &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</text>");
    ck_assert_uint_eq(count(text, "<script>"), 1);
    ck_assert_ptr_null(strstr(text, name.s));
    assert_holds(text, "\xc3\xa9\xe2\x80\xa6\n[c.so]\n");
    text_release(&name);
}
END_TEST

START_TEST(narrow_calls_are_merged_or_left_out_and_that_is_said)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "main!app > wide!app", 99000, 1000);
    for (int i = 0; i < 40; i++) {
        struct text stack = {0};
        text_addf(&stack, "main!app > narrow%d!app > leaf!app", i);
        builder_run(&b, main, stack.s, 20, 20);
        text_release(&stack);
    }
    builder_run(&b, main, "main!app > wide!app > rare!app", 10, 10);
    const char *text = export(&b, 99810, 0);
    assert_holds(text, "<g data-t=\"99010000 99810000\"><title>[40 calls under 0.1 %]\n800 ms, ");
    ck_assert_ptr_null(strstr(text, "narrow1"));
    ck_assert_ptr_null(strstr(text, "rare"));
    assert_holds(text, ". 81 calls under 0.1 % of all merged into grey frames or left out.");
    ck_assert_uint_eq(count(frames_of(text), "</title><rect"), 5);
}
END_TEST

/* 900 functions of a thousandth each, 20 deep. */
static struct profile_builder many_frames(void)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    for (int i = 0; i < 900; i++) {
        struct text stack = {0};
        text_addf(&stack, "main!app");
        for (int k = 0; k < 20; k++)
            text_addf(&stack, " > f%d_%d!app", i, k);
        builder_run(&b, main, stack.s, 10, 10);
        text_release(&stack);
    }
    return b;
}

START_TEST(a_file_keeps_its_budget)
{
    static const uint64_t budgets[] = {5000000, 1000000, 30000};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct profile_builder b = many_frames();
        thread_id main = {1};
        builder_run(&b, main, "main!app > heavy!app", 1000, 1000);
        (void)export(&b, 10000, budgets[i]);
        ck_assert_uint_le(written_len, budgets[i]);
        assert_holds(written, "<title>heavy\n");
        ck_assert_str_eq(notes.coarsened, i == 0 ? "" : "paths under 0.2% folded");
    }
}
END_TEST

START_TEST(deep_stacks_keep_both_ends)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    struct text stack = {0};
    text_add(&stack, "main!app");
    for (int i = 0; i < 3000; i++)
        text_add(&stack, " > f!app");
    text_add(&stack, " > leaf!app");
    builder_run(&b, main, stack.s, 100, 100);
    const char *text = export(&b, 100, 0);
    ck_assert_uint_eq(count(frames_of(text), "</title><rect"), 502);
    ck_assert_uint_eq(notes.stacks_shortened, 1);
    assert_holds(text, "<title>leaf\n");
    assert_holds(text, ". 1 stack deeper than 500 frames shown without the middle.");
    text_release(&stack);
}
END_TEST

START_TEST(the_same_profile_is_the_same_file)
{
    struct profile_builder b = many_frames();
    profile_end(b.p, INT64_C(9) * NS_PER_S);
    write_profile(b.p, 0);
    char *first = written;
    written = NULL;
    write_profile(b.p, 0);
    ck_assert_str_eq(first, written);
    free(first);
    profile_free(b.p);
}
END_TEST

START_TEST(nothing_sampled_is_still_a_picture)
{
    struct profile_builder b = builder_start(10, "app");
    builder_thread(&b, 10, NULL);
    const char *text = export(&b, 100, 0);
    assert_holds(text, ">No sample was taken.</text>");
    assert_holds(text, "<g id=\"frames\">\n</g>");
}
END_TEST

/* 100,000 stacks of 30 frames, of which two in three are shared.  It takes a fifth of that. */
START_TEST(a_hundred_thousand_stacks_take_two_seconds)
{
    if (check_skips(getenv("WALLSPY_NO_LARGE_TESTS"), "WALLSPY_NO_LARGE_TESTS is set"))
        return;
    struct profile_builder b = builder_start(10, "app");
    thread_id main = builder_thread(&b, 10, NULL);
    struct run run = {.state = RUN_RUNNING, .samples = 1, .weights.wall_ns = 10 * NS_PER_MS};
    frame_id frames[1000];
    for (int i = 0; i < 1000; i++) {
        struct text name = {0};
        text_addf(&name, "f%d", i);
        frames[i] = profile_mark(b.p, name.s, NULL);
        text_release(&name);
    }
    for (unsigned i = 0; i < 100000; i++, run.start_ns += run.weights.wall_ns) {
        run.at.stack = (stack_id){0};
        for (unsigned k = 0, x = i; k < 30; k++, x = x * 1103515245 + 12345)
            run.at.stack =
                profile_push(b.p, run.at.stack, frames[(k < 20 ? i % 100 + k : x >> 16) % 1000]);
        profile_add_run(b.p, main, &run);
    }
    profile_end(b.p, run.start_ns);
    int64_t start_ns = clock_cpu_ns();
    write_profile(b.p, 0);
    double took_s = (double)(clock_cpu_ns() - start_ns) / NS_PER_S;
    ck_assert_msg(took_s <= 2, "%g s", took_s);
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("flamegraph", 60, a_small_profile_is_drawn_whole, the_reason_of_a_wait_has_its_colour,
           alike_threads_are_one_and_idle_ones_are_left_out, hostile_names_stay_text,
           narrow_calls_are_merged_or_left_out_and_that_is_said, a_file_keeps_its_budget,
           deep_stacks_keep_both_ends, the_same_profile_is_the_same_file,
           nothing_sampled_is_still_a_picture, a_hundred_thousand_stacks_take_two_seconds)
