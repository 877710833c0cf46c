/* Ended threads that were folded into one (profile/thread.h): one row stands for so many threads
 * that whoever takes that number for a length reads far behind an array. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "exporter/exporter.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

enum { FOLDED = 1000000, FOLDED_S = 4 };

/* What threads do, so that each rule has something to judge. */
static const char *const deeds[] = {
    "serve@/src/a.py:1:2 > read /mnt//data/x [blocked]",
    "serve@/src/a.py:1:2 > fsync /data/x [blocked]",
    "serve!app > pthread_mutex_lock!libc.so.6 > futex [blocked]",
    "serve!app > malloc!libc.so.6 > __lll_lock_wait_private!libc.so.6 > futex [blocked]",
    "serve@/src/a.py:1:2 > [waiting for GIL]",
    "serve@/src/a.py:1:2 > [page fault]",
    "serve!app > clock_nanosleep [blocked]",
    "serve!app > recvfrom 10.0.0.7:5432 [blocked]",
    "serve!app > ioctl /dev/gpu [blocked]",
    "start_thread!libc.so.6 > GOMP_barrier_wait!libgomp.so.1",
    "run_once@/usr/lib/python3.11/asyncio/base_events.py:1:2 > epoll_wait [blocked]",
    "serve@/src/a.py:1:2 > gc_collect_main!python3.11",
    "serve@/src/a.py:1:2 > dumps@/usr/lib/python3.11/pickle.py:1:2",
    "serve@/src/a.py:1:2 > _find_and_load@<frozen importlib._bootstrap>:1:2 > "
    "<module>@/usr/lib/python3/dist-packages/numpy/core.py:1:2",
    "serve@/src/a.py:1:2 > start@/usr/lib/python3.11/threading.py:1:2 > clone3!libc.so.6",
};

/* FOLDED ended threads that did DEED, each for MS, and made a call of read(2). */
static thread_id ended(const char *name, const char *deed, int64_t ms, int64_t cpu_ms)
{
    thread_id id = builder_thread(&b, 0, name);
    struct profile_thread *t = profile_get_thread(b.p, id);
    t->ended = true;
    t->n_folded = FOLDED;
    t->lived_ns = ms * NS_PER_MS;
    t->usage = (struct profile_usage){.over_ns = ms * NS_PER_MS,
                                      .reads = FOLDED,
                                      .minor_faults = FOLDED * 1000,
                                      .major_faults = FOLDED * 100,
                                      .voluntary = FOLDED * 1000};
    builder_run(&b, id, deed, ms, cpu_ms);
    return id;
}

static void all_formats(void)
{
    for (size_t i = 0; exporter_at(i); i++) {
        char *written = NULL;
        size_t len = 0;
        struct export_notes notes;
        FILE *out = open_memstream(&written, &len);
        const struct view_options options = {0};
        ck_assert_int_eq(exporter_write(exporter_at(i), b.p, &options, NULL, 0, out, &notes), 0);
        ck_assert_int_eq(fclose(out), 0);
        if (!str_starts(written, "SQLite"))
            ck_assert_ptr_nonnull(memmem(written, len, "1000000 ", strlen("1000000 ")));
        free(written);
    }
}

static void the_table(const char *label)
{
    struct groups g;
    struct table table;
    struct text out = {0};
    const struct view_options options = {0};
    groups_init(&g, b.p, &options);
    table_init(&table, &g, ANSWER_MAX_ROWS);
    answer_write(&table, ANSWER_MIN_WIDTH * 2, &out);
    ck_assert_msg(strstr(out.s, label) != NULL, "%s", out.s);
    text_release(&out);
    table_release(&table);
    groups_release(&g);
}

/* Each deed is that of the leader, too, so that rules about waiters and their holders see both. */
START_TEST(each_rule_the_table_and_each_format_take_folded_threads)
{
    for (size_t i = 0; i < 2 * sizeof deeds / sizeof *deeds; i++) {
        const char *deed = deeds[i / 2];
        b = builder_start(10, "app");
        builder_run(&b, builder_thread(&b, 10, NULL), deed, FOLDED_S * INT64_C(1000), 0);
        ended("job", deed, FOLDED_S * INT64_C(1000), i % 2 ? FOLDED_S * INT64_C(1000) : 0);
        judge(FOLDED_S * INT64_C(1000));
        ck_assert_uint_gt(found.n_printed, 0);
        the_table("1000000 ended: j"); /* cut where the column is full */
        all_formats();
        teardown();
    }
}
END_TEST

START_TEST(all_deeds_at_once_are_judged)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), deeds[0], FOLDED_S * INT64_C(1000), 0);
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        char name[] = {'j', 'o', 'b', (char)('a' + i), 0};
        ended(name, deeds[i], FOLDED_S * INT64_C(1000), i % 2 ? FOLDED_S * INT64_C(1000) : 0);
    }
    judge(FOLDED_S * INT64_C(1000));
    ck_assert_uint_gt(found.n_printed, 0);
    all_formats();
    teardown();
}
END_TEST

/* Their time is what they lived for together: 4 s of reads, and 2000 of them, within one second. */
START_TEST(a_read_of_folded_threads_takes_its_time)
{
    b = builder_start(10, "app");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!app > wait4 [blocked]", 1000, 0);
    thread_id id = ended("job", deeds[0], FOLDED_S * INT64_C(1000), 0);
    profile_get_thread(b.p, id)->usage.reads = 2000;
    judge(1000);
    size_t i = 0;
    while (i < found.n && strcmp(found.items[i].rule, "slow_files") != 0)
        i++;
    ck_assert_uint_lt(i, found.n);
    ck_assert_ptr_nonnull(found.items[i].words);
    ck_assert_msg(strstr(found.items[i].words, ", 2 ms a read") != NULL, "%s",
                  found.items[i].words);
    teardown();
}
END_TEST

CHECK_MAIN("folded_threads", 20, each_rule_the_table_and_each_format_take_folded_threads,
           all_deeds_at_once_are_judged, a_read_of_folded_threads_takes_its_time)
