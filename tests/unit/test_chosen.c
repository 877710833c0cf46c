/* cli/chosen.c: the threads that --thread and --process choose. */
#include "cli/chosen.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile *p;

/* Two ranks.  In each main waits for what a worker computes; a third thread reads. */
static void set_up(void)
{
    struct profile_builder b = builder_start(10, "torchrun");
    for (int rank = 0; rank < 2; rank++) {
        const pid_t pid = 100 * (rank + 1);
        const char *const environment[] = {"RANK=0 WORLD_SIZE=2", "RANK=1 WORLD_SIZE=2"};
        builder_process(&b, pid, "python3", environment[rank]);
        const struct wait_side side = {
            .thing = THING_MUTEX,
            .addr = 4096,
            .blocker = {.kind = BLOCKER_THREAD, .pid = pid, .tid = pid + 1}};
        thread_id main = builder_thread(&b, pid, NULL);
        thread_id worker = builder_thread(&b, pid + 1, "worker");
        thread_id reader = builder_thread(&b, pid + 2, "reader");
        builder_held(&b, main, "main@/a/train.py:1:9 > pthread_mutex_lock!libc.so.6", &side, 8000);
        builder_run(&b, worker, "run!app > fold!app", 8000, 8000);
        profile_get_thread(b.p, main)->python = profile_get_thread(b.p, reader)->python = true;
        builder_run(&b, reader, "load@/a/data.py:1:9 > read /mnt//data/a [blocked]", 8000, 0);
    }
    profile_end(b.p, INT64_C(8) * NS_PER_S);
    p = b.p;
}

static void tear_down(void)
{
    p = profile_free(p);
}

static struct options asked(const char **threads, size_t n)
{
    return (struct options){.threads = {.words = threads, .n = n}};
}

/* How many threads O's list leaves, and the first one. */
static size_t left(const struct options *o, pid_t *ret_first)
{
    struct thread_summaries s;
    struct view *v = view_new(p, &o->view);
    thread_summaries_init(&s, p, v);
    chosen_keep(o, p, &s);
    size_t n = s.n;
    *ret_first = n ? s.threads[0].thread->tid : 0;
    pid_t first = 0;
    ck_assert_int_eq(chosen_first(o, p, &first), n > 0);
    ck_assert_int_eq(first, *ret_first);
    thread_summaries_release(&s);
    view_free(v);
    return n;
}

START_TEST(threads_are_chosen_as_record_does)
{
    static const struct {
        const char *word;
        size_t n;
        pid_t first;
    } cases[] = {
        {"main", 2, 100}, {"work*", 2, 101}, {"201", 1, 201}, {"python", 4, 100}, {"none", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[] = {cases[i].word};
        struct options o = asked(words, 1);
        pid_t first;
        ck_assert_msg(left(&o, &first) == cases[i].n, "%s", cases[i].word);
        ck_assert_int_eq(first, cases[i].first);
    }
    struct options all = {0};
    pid_t first;
    ck_assert_uint_eq(left(&all, &first), 6);
}
END_TEST

START_TEST(processes_are_chosen_by_pid_and_by_name)
{
    static const struct {
        const char *word;
        uint32_t has; /* 1 << id */
    } cases[] = {{"200", 1 << 3},
                 {"rank0", 1 << 2},
                 {"rank*", 1 << 2 | 1 << 3},
                 {"torch*", 1 << 1},
                 {"python3", 1 << 2 | 1 << 3},
                 {"20", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words[] = {cases[i].word};
        struct options o = {.processes = {.words = words, .n = 1}};
        bool *is = chosen_processes(&o, p);
        for (uint32_t id = 1; id <= profile_process_count(p); id++)
            ck_assert_msg(is[id] == (cases[i].has >> id & 1), "%s: %u", cases[i].word, id);
        free(is);
    }
    struct options all = {0};
    ck_assert_ptr_null(chosen_processes(&all, p));
}
END_TEST

/* The noun of the first group of O's, and the rest by way of pointers. */
static void answer(const struct options *o, size_t *ret_groups, size_t *ret_findings,
                   struct text *words)
{
    struct groups g;
    struct findings f;
    struct chosen_answer chosen;
    groups_init(&g, p, &o->view);
    findings_init(&f, &g);
    chosen_answer_init(&chosen, o, &g, &f);
    *ret_groups = chosen.groups.n;
    *ret_findings = chosen.findings.n_printed;
    findings_write(&chosen.findings, 79, words);
    chosen_answer_release(&chosen);
    findings_release(&f);
    groups_release(&g);
}

START_TEST(the_answer_is_about_them)
{
    const char *words[] = {"reader"};
    struct options o = asked(words, 1);
    struct options all = {0};
    struct text said = {0};
    struct text said_of_all = {0};
    size_t groups;
    size_t findings;
    answer(&all, &groups, &findings, &said_of_all);
    ck_assert_uint_ge(groups, 3);
    ck_assert_uint_ge(findings, 1);
    answer(&o, &groups, &findings, &said);
    ck_assert_uint_eq(groups, 1);
    ck_assert_uint_ge(findings, 1);
    ck_assert_msg(strstr(said.s, "reader") != NULL, "%s", said.s);
    ck_assert_ptr_null(strstr(said.s, "fold"));
    ck_assert_ptr_nonnull(strstr(said_of_all.s, "fold"));
    text_release(&said);
    text_release(&said_of_all);
}
END_TEST

CHECK_MAIN_WITH("chosen", 4, set_up, tear_down, threads_are_chosen_as_record_does,
                processes_are_chosen_by_pid_and_by_name, the_answer_is_about_them)
