/* cli/brief.c: the answer in a few lines. */
#include "cli/brief.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { LINES = BRIEF_LINES - BRIEF_QUALITY_LINES };
static struct text said;

static void set_up(void)
{
    said = (struct text){0};
}

static void tear_down(void)
{
    text_release(&said);
}

/* What is said of B after 10 s; the profile is freed. */
static const char *brief(struct profile_builder *b)
{
    struct view_options options = {0};
    struct groups groups;
    struct findings findings;
    profile_end(b->p, INT64_C(10) * NS_PER_S);
    groups_init(&groups, b->p, &options);
    findings_init(&findings, &groups);
    brief_add(&groups, &findings, LINES, &said);
    findings_release(&findings);
    groups_release(&groups);
    profile_free(b->p);
    return said.s;
}

/* Lines of S, which are all short enough. */
static size_t lines_of(const char *s)
{
    size_t n = 0;
    for (; *s; s += strcspn(s, "\n") + 1, n++)
        ck_assert_uint_le(utf8_columns(s, strcspn(s, "\n")), BRIEF_COLUMNS);
    return n;
}

START_TEST(findings_come_first_and_each_group_has_a_line)
{
    struct profile_builder b = builder_start(6823, "python3");
    thread_id main = builder_thread(&b, 6823, NULL);
    thread_id worker = builder_thread(&b, 6825, "mge-worker");
    builder_run(&b, main,
                "<module>@/src/train.py:1:9 > numpy_of@/src/train.py:1:3 > mge::Worker::sync!mge.so"
                " > pthread_cond_wait!libc.so.6 > futex [blocked]",
                8000, 0);
    builder_run(&b, main, "<module>@/src/train.py:1:9 > step@/src/train.py:5:6", 2000, 2000);
    builder_run(&b, worker, "mge::Worker::run!mge.so > TopK::exec!mge.so > ioctl /dev/x [blocked]",
                8000, 0);
    builder_run(&b, worker, "mge::Worker::run!mge.so > futex [blocked]", 2000, 0);
    ck_assert_str_eq(brief(&b),
                     "main waits 80% of its time in mge::Worker::sync, called from numpy_of\n"
                     "train.py:3. Meanwhile mge-worker is 100% in mge::Worker::run > TopK::exec >\n"
                     "ioctl /dev/x.\n"
                     "thread  run/wait-cpu/blocked  where its time goes\n"
                     "  main 6823  20/0/80%  80% numpy_of train.py:3 > … > [condition]\n"
                     "  mge-worker 6825  0/0/100%  80% mge::Worker::run > TopK::exec > "
                     "[ioctl /dev/x]\n");
}
END_TEST

/* Twenty kinds of threads, with long names, and a long way. */
START_TEST(however_much_there_is_it_stays_short)
{
    struct profile_builder b = builder_start(100, "python3");
    for (pid_t tid = 100; tid < 120; tid++) {
        char name[64];
        char way[512];
        (void)snprintf(name, sizeof name, "a-thread-of-the-kind-%c", 'a' + tid - 100);
        (void)snprintf(way, sizeof way,
                       "<module>@/src/program_with_a_long_name.py:1:9 > "
                       "handle_a_request_of_kind_%c@/src/a_module_with_a_long_name.py:1:3 > "
                       "parse_what_the_client_sent_%c@/src/another_module_of_it.py:5:777 > "
                       "read /mnt//data/a/b/c/d/e/f/g/h/i/j/k/l/m [blocked]",
                       'a' + tid - 100, 'a' + tid - 100);
        builder_run(&b, builder_thread(&b, tid, name), way, 9000, 0);
    }
    size_t n = lines_of(brief(&b));
    ck_assert_uint_ge(n, 4);
    ck_assert_uint_le(n, LINES);
    ck_assert_ptr_nonnull(strstr(said.s, " more threads  "));
}
END_TEST

START_TEST(a_loop_without_events_is_idle)
{
    struct profile_builder b = builder_start(100, "app");
    builder_run(&b, builder_thread(&b, 100, NULL),
                "main!app > ev_run!libev.so.4 > epoll_wait [blocked]", 10000, 0);
    ck_assert_ptr_nonnull(strstr(brief(&b), "\n  main 100  0/0/100%  100% idle\n"));
}
END_TEST

START_TEST(an_empty_recording_says_nothing)
{
    struct profile_builder b = builder_start(100, "python3");
    ck_assert_str_eq(brief(&b), "");
}
END_TEST

START_TEST(what_finds_no_room_ends_in_dots)
{
    brief_add_line("wallspy: quality ok: 99% of the time seen", 2, &said);
    ck_assert_str_eq(said.s, "wallspy: quality ok: 99% of the time seen\n");
    text_clear(&said);
    struct text line = {0};
    for (int i = 0; i < 60; i++)
        text_addf(&line, "word%d ", i);
    brief_add_line(line.s, BRIEF_QUALITY_LINES, &said);
    text_release(&line);
    ck_assert_uint_eq(lines_of(said.s), BRIEF_QUALITY_LINES);
    ck_assert(str_ends(said.s, "…\n"));
}
END_TEST

CHECK_MAIN_WITH("brief", 4, set_up, tear_down, findings_come_first_and_each_group_has_a_line,
                however_much_there_is_it_stays_short, an_empty_recording_says_nothing,
                a_loop_without_events_is_idle, what_finds_no_room_ends_in_dots)
