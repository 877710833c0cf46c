/* More of everything than any table holds: whatever reads a profile stays within its arrays
 * (tools/sanitize gate). */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "cli/environment.h"
#include "exporter/exporter.h"
#include "summary/findings.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { WIDTH = 79, RUN_MS = 3000 };

/* Writes every file and the answer of B's profile, which is freed; the files are not empty. */
static void write_all(struct profile_builder *b, int64_t end_ms)
{
    static const char *const formats[] = {"speedscope", "folded", "flamegraph"};
    struct view_options view = {.weights = ~0U};
    struct groups groups;
    struct table table;
    struct findings findings;
    struct text said = {0};
    profile_end(b->p, end_ms * NS_PER_MS);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *s = NULL;
        size_t len = 0;
        struct export_notes notes;
        FILE *out = open_memstream(&s, &len);
        ck_assert_int_eq(
            exporter_write(exporter_by_name(formats[i]), b->p, &view, NULL, 0, out, &notes), 0);
        (void)fclose(out);
        ck_assert_uint_gt(len, 0);
        free(s);
    }
    groups_init(&groups, b->p, &view);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    findings_init(&findings, &groups);
    ck_assert_uint_le(table.n, ANSWER_MAX_ROWS);
    ck_assert_uint_ge(findings.n_printed, 1);
    findings_write(&findings, WIDTH, &said);
    answer_write(&table, WIDTH, &said);
    environment_write(&groups, WIDTH, &said);
    findings_release(&findings);
    table_release(&table);
    groups_release(&groups);
    text_release(&said);
    profile_free(b->p);
}

/* Threads of SAME names or other ones, all in other functions, which compute, wait for files of
 * many mounts, for sockets, or for many locks that many threads hold. */
static void add_threads(struct profile_builder *b, pid_t first, size_t n, bool same)
{
    for (size_t i = 0; i < n; i++) {
        char name[32];
        char stack[160];
        pid_t tid = first + (pid_t)i;
        struct wait_side side = {
            .thing = THING_MUTEX,
            .blocker = {.kind = BLOCKER_THREAD, .pid = first, .tid = first + (pid_t)((i + 1) % n)},
            .addr = 0x1000 + i};
        (void)snprintf(name, sizeof name, "%c%c%c-%zu", same ? 'a' : 'a' + (int)(i % 26),
                       same ? 'a' : 'a' + (int)(i / 26 % 26), 'z', i);
        thread_id t = builder_thread(b, tid, same ? "worker" : name);
        (void)snprintf(stack, sizeof stack, "f%zu@/src/a.py:%zu:2 > work%zu!lib%zu.so", i, i + 1, i,
                       i);
        builder_run(b, t, stack, RUN_MS / 3, RUN_MS / 3);
        (void)snprintf(stack, sizeof stack, "f%zu@/src/a.py:1:2 > read /m%zu//f%zu [blocked]",
                       same ? 0 : i, i, i);
        builder_run(b, t, stack, RUN_MS / 3, 0);
        (void)snprintf(stack, sizeof stack, "g%zu!app > pthread_mutex_lock!libc.so.6",
                       same ? 0 : i);
        builder_held(b, t, stack, &side, RUN_MS / 3);
        profile_name_lock(b->p, first, side.addr, name);
    }
}

START_TEST(more_threads_groups_mounts_and_locks_than_fit)
{
    enum { THREADS = 1300 }; /* above MAX_GROUPS, MAX_COMPARED, and a thousand mounts */
    struct profile_builder b = builder_start(10, "app");
    add_threads(&b, 10, THREADS, false);
    write_all(&b, RUN_MS);
}
END_TEST

START_TEST(more_places_holders_and_sides_in_one_group)
{
    enum { THREADS = 300 };
    struct profile_builder b = builder_start(10, "app");
    add_threads(&b, 10, THREADS, true);
    write_all(&b, RUN_MS);
}
END_TEST

START_TEST(more_processes_and_children_than_are_listed)
{
    enum { PROCESSES = 300, CHILDREN = 200 };
    struct profile_child children[CHILDREN];
    struct profile_builder b = builder_start(10, "sh");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!sh > wait4 [blocked]", RUN_MS, 0);
    for (size_t i = 0; i < CHILDREN; i++)
        children[i] = (struct profile_child){.pid = 1000 + (pid_t)i,
                                             .comm = profile_string(b.p, "cc"),
                                             .cpu_ns = NS_PER_S,
                                             .recorded = i % 2};
    profile_set_children(b.p, b.process, children, CHILDREN);
    profile_get_process(b.p, b.process)->children_known = true;
    for (int i = 0; i < PROCESSES; i++) {
        char rank[32];
        (void)snprintf(rank, sizeof rank, "RANK=%d", i);
        builder_process(&b, 1000 + i, i % 3 ? "python3" : "cc", rank);
        profile_get_process(b.p, b.process)->parent = (process_id){1};
        builder_run(&b, builder_thread(&b, 1000 + i, NULL),
                    i % 7 ? "f@/a.py:1:2 > g@/a.py:3:4" : "f@/a.py:1:2 > read pipe [blocked]",
                    RUN_MS, i % 7 ? RUN_MS : 0);
    }
    write_all(&b, RUN_MS);
}
END_TEST

/* A stack deeper than a chain of calls and than the page holds, over and over. */
START_TEST(a_stack_deeper_than_all_bounds)
{
    enum { FRAMES = 3000 };
    struct profile_builder b = builder_start(10, "app");
    struct text stack = {0};
    for (size_t i = 0; i < FRAMES; i++)
        text_addf(&stack, "%sf%zu@/src/a.py:%zu:%zu", i ? " > " : "", i, i + 1, i + 2);
    thread_id main = builder_thread(&b, 10, NULL);
    for (int i = 0; i < 3; i++)
        builder_run(&b, main, stack.s, RUN_MS / 3, i ? RUN_MS / 3 : 0);
    text_release(&stack);
    write_all(&b, RUN_MS);
}
END_TEST

START_TEST(more_tasks_that_wait_than_are_kept)
{
    struct profile_builder b = builder_start(10, "python3");
    thread_id main = builder_thread(&b, 10, NULL);
    builder_run(&b, main, "_run_once@/lib/asyncio/base_events.py:1:2 > epoll_wait [blocked]",
                RUN_MS, 0);
    builder_run(&b, builder_thread(&b, 11, "pool"),
                "_worker@/lib/concurrent/futures/thread.py:1:2 > f@/a.py:1:2", RUN_MS, RUN_MS);
    for (size_t i = 0; i < (size_t)2 * MOST_TASK_WAITS; i++) {
        struct profile_task_wait wait = {
            .process = b.process, .n = i, .of = i, .least_ns = NS_PER_S, .for_thread = i % 2};
        if (i % 3) /* else they have none */
            wait.stack = builder_stack(&b, "f@/a.py:1:2 > Queue.get@/lib/asyncio/queues.py:1:2");
        profile_add_task_wait(b.p, &wait);
    }
    write_all(&b, RUN_MS);
}
END_TEST

CHECK_MAIN("full_tables", 60, more_threads_groups_mounts_and_locks_than_fit,
           more_places_holders_and_sides_in_one_group, more_processes_and_children_than_are_listed,
           a_stack_deeper_than_all_bounds, more_tasks_that_wait_than_are_kept)
