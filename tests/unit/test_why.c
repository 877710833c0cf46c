/* cli/why.c: where the time of one thread ends. */
#include "cli/why.h"

#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { WIDTH = 79 };
static struct text said;

static void set_up(void)
{
    said = (struct text){0};
}

static void tear_down(void)
{
    text_release(&said);
}

static struct wait_side held_by(enum wait_thing thing, uint64_t addr, pid_t tid)
{
    return (struct wait_side){
        .thing = thing, .addr = addr, .blocker = {.kind = BLOCKER_THREAD, .pid = 100, .tid = tid}};
}

/* What is said of the thread NAME of B after 10 s; the profile is freed. */
static const char *why(struct profile_builder *b, const char *name)
{
    struct view_options options = {0};
    struct groups g;
    profile_end(b->p, INT64_C(10) * NS_PER_S);
    groups_init(&g, b->p, &options);
    const struct thread_summary *t = why_find(&g.summaries, name);
    ck_assert_ptr_nonnull(t);
    why_add(&said, &g, t, WIDTH);
    groups_release(&g);
    profile_free(b->p);
    return said.s;
}

/* Main waits for a lock; whoever has it waits for a thread's end, and that one computes. */
START_TEST(a_way_is_followed_to_its_end)
{
    struct profile_builder b = builder_start(100, "app");
    thread_id main = builder_thread(&b, 100, NULL);
    thread_id refresh = builder_thread(&b, 101, "refresh");
    thread_id load = builder_thread(&b, 102, "load");
    struct wait_side lock = held_by(THING_MUTEX, 4096, 101);
    struct wait_side end = held_by(THING_THREAD, 8192, 102);
    profile_name_lock(b.p, 100, 4096, "table");
    builder_held(&b, main, "main!app > look_up!app > pthread_mutex_lock!libc.so.6", &lock, 9000);
    builder_run(&b, main, "main!app > respond!app", 1000, 1000);
    builder_held(&b, refresh, "run!app > pthread_join!libc.so.6", &end, 10000);
    builder_run(&b, load, "fetch!app > parse!app", 10000, 10000);
    ck_assert_str_eq(why(&b, "main"),
                     "main 100 lived for 10.000 s: run 1.000, wait-cpu 0.000, blocked 9.000 by "
                     "the\n"
                     "  kernel's counts. By 1000 samples its time ends so:\n"
                     "    9.000   90%  waits for a lock: look_up > mutex\n"
                     "                   -> lock table, held by refresh 101\n"
                     "                     -> load: computes: fetch > parse\n"
                     "                       if that took no time, main would save at most 90% of "
                     "its\n"
                     "                         time\n"
                     "    1.000   10%  computes: respond\n");
}
END_TEST

START_TEST(one_of_many_alike_is_asked_for_by_its_tid)
{
    struct profile_builder b = builder_start(100, "app");
    struct wait_side lock = held_by(THING_MUTEX, 4096, 104);
    builder_run(&b, builder_thread(&b, 100, NULL), "main!app", 10000, 10000);
    for (pid_t tid = 101; tid < 104; tid++) {
        thread_id t = builder_thread(&b, tid, "worker");
        builder_held(&b, t, "run!app > take!app > pthread_mutex_lock!libc.so.6", &lock,
                     5000 + 100 * (tid - 101));
        builder_run(&b, t, "run!app > give!app", 5000 - 100 * (tid - 101), 0);
    }
    builder_run(&b, builder_thread(&b, 104, "owner"), "own!app", 10000, 10000);
    (void)why(&b, "103");
    ck_assert_msg(strstr(said.s, "worker 103 lived for 10.000 s") == said.s, "%s", said.s);
    ck_assert_msg(strstr(said.s, "    5.200   52%  waits for a lock: run > take > mutex\n"
                                 "                   -> held by owner 104\n"
                                 "                     -> owner: computes: own\n") != NULL,
                  "%s", said.s);
}
END_TEST

/* The sum of the rows is the thread's time; what is not seen has a row. */
START_TEST(nothing_is_left_out)
{
    struct profile_builder b = builder_start(100, "app");
    thread_id main = builder_thread(&b, 100, NULL);
    double sum = 0;
    for (int i = 0; i < 30; i++) {
        char stack[64];
        (void)snprintf(stack, sizeof stack, "main!app > step%c!app", 'a' + i % 26);
        builder_run(&b, main, stack, 300, 300);
    }
    builder_missed(&b, main, 1000);
    (void)why(&b, "main 100");
    const char *line = strstr(said.s, "so:\n") + 4;
    for (; *line; line += strcspn(line, "\n") + 1) {
        double row = 0;
        ck_assert_uint_le(utf8_columns(line, strcspn(line, "\n")), WIDTH);
        if (sscanf(line, "%lf", &row) == 1)
            sum += row;
    }
    ck_assert_double_eq_tol(sum, 10, 0.005);
    ck_assert_ptr_nonnull(strstr(said.s, "    1.000   10%  not seen\n"));
}
END_TEST

START_TEST(a_name_that_nobody_has_is_not_found)
{
    struct profile_builder b = builder_start(100, "app");
    struct view_options options = {0};
    struct groups g;
    builder_run(&b, builder_thread(&b, 100, NULL), "main!app", 10000, 10000);
    profile_end(b.p, INT64_C(10) * NS_PER_S);
    groups_init(&g, b.p, &options);
    ck_assert_ptr_null(why_find(&g.summaries, "worker"));
    ck_assert_ptr_null(why_find(&g.summaries, "10"));
    ck_assert_int_eq(why_find(&g.summaries, "100")->thread->tid, 100);
    groups_release(&g);
    profile_free(b.p);
}
END_TEST

CHECK_MAIN_WITH("why", 4, set_up, tear_down, a_way_is_followed_to_its_end,
                one_of_many_alike_is_asked_for_by_its_tid, nothing_is_left_out,
                a_name_that_nobody_has_is_not_found)
