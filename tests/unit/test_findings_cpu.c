/* Findings about who computes, or collects garbage. */
#include <string.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "tests/support/findings_stage.h"

static thread_id lead;

static void setup(void)
{
    b = builder_start(10, "batch");
    lead = builder_thread(&b, 10, NULL);
}

/* MS in Python's collector, called by load_N. */
static void collects(int n, int64_t ms)
{
    struct text stack = {0};
    text_addf(&stack, "load_%d@/src/batch.py:%d:%d > [gc]", n, n, n);
    builder_run(&b, lead, stack.s, ms, ms);
    text_release(&stack);
}

static void collects_at_end(int64_t ms)
{
    builder_run(&b, lead, "Py_FinalizeEx!python3 > [gc]", ms, ms);
    for (uint32_t i = 1; i <= profile_frame_count(b.p); i++) /* there are no other native ones */
        if (profile_get_frame(b.p, (frame_id){i})->kind == FRAME_NATIVE)
            profile_flag_frame(b.p, (frame_id){i}, FRAME_IS_INTERPRETER);
}

START_TEST(collections_at_the_end_are_told_with_what_they_take)
{
    setup();
    builder_run(&b, lead, "sort@/src/batch.py:1:2", 2000, 2000);
    collects(40, 600);
    collects_at_end(1400);
    judge(4000);
    assert_told(0, "gc",
                "main spends 35% of its time collecting garbage while the interpreter ends. "
                "os._exit() skips that; what is open must be flushed before.");
    teardown();
}
END_TEST

/* A __del__ that the collector calls waits for a lock: no setting of the collector's helps. */
START_TEST(who_waits_within_a_collection_does_not_collect)
{
    setup();
    collects(1, 300);
    builder_run(&b, lead,
                "load_1@/src/batch.py:1:1 > [gc] > __del__@/src/batch.py:9:9 > futex [blocked]",
                3700, 0);
    judge(4000);
    for (size_t i = 0; i < found.n; i++)
        ck_assert(!found.items[i].words || !strstr(found.items[i].words, "collecting garbage"));
    teardown();
}
END_TEST

/* The collection at the end is the longest one, but not most of them. */
START_TEST(collections_at_the_end_do_not_stand_for_all_others)
{
    setup();
    builder_run(&b, lead, "sort@/src/batch.py:1:2", 2000, 2000);
    for (int n = 0; n < 10; n++)
        collects(n, 140);
    collects_at_end(600);
    judge(4000);
    assert_told(0, "gc", "main spends 50% of its time collecting garbage");
    assert_told(0, "gc", "gc.freeze() makes a collection shorter.");
    ck_assert_ptr_null(strstr(found.printed[0]->words, "interpreter ends"));
    teardown();
}
END_TEST

START_TEST(what_it_waits_for_is_no_place_where_it_computes)
{
    setup();
    builder_run(&b, lead, "ask!batch > recvfrom 10.0.0.7:5432 [blocked]", 1600, 0);
    builder_run(&b, lead, "parse!batch", 1000, 1000);
    builder_run(&b, lead, "check!batch", 700, 700);
    builder_run(&b, lead, "store!batch", 700, 700);
    judge(4000);
    assert_told(0, "computes",
                "main computes: it ran 60% of 4.0 s, 25% in parse and 18% in check; it waits 40% "
                "in ask > recvfrom 10.0.0.7:5432.");
    teardown();
}
END_TEST

/* What a dataclass's __init__ does is done for who makes one; python -c has nothing else. */
START_TEST(code_from_a_string_is_the_users_where_the_program_is_one)
{
    setup();
    builder_run(&b, lead,
                "<module>@/src/batch.py:1:9 > load@/src/batch.py:1:2 > __init__@<string>:1:5", 4000,
                4000);
    judge(4000);
    assert_told(0, "computes", "100% in load batch.py:2 > __init__");
    teardown();
    setup();
    builder_run(&b, lead, "<module>@<string>:1:9 > load@<string>:1:2", 4000, 4000);
    judge(4000);
    assert_told(0, "computes", "100% in load <string>:2");
    teardown();
}
END_TEST

START_TEST(a_sanitizer_is_told)
{
    for (int sanitized = 0; sanitized <= 1; sanitized++) {
        setup();
        builder_run(&b, lead, "parse!batch", 4000, 4000);
        profile_get_process(b.p, b.process)->allocator =
            profile_string(b.p, sanitized ? "AddressSanitizer" : "glibc");
        judge(4000);
        ck_assert(is_said("built with AddressSanitizer (-fsanitize)") == sanitized);
        teardown();
    }
}
END_TEST

/* ---- beside a wait ---- */

/* Main sleeps 600 of 1,000 ms, and runs and waits for a CPU for the rest. */
static void judge_rest(const char *runs, int64_t cpu_ms)
{
    setup();
    builder_run(&b, lead, "watch@/src/w.py:1:8 > clock_nanosleep [blocked]", 2400, 0);
    builder_run(&b, lead, runs, 1600, cpu_ms);
    judge(4000);
}

START_TEST(what_runs_beside_a_sleep_is_told)
{
    judge_rest("watch@/src/w.py:1:9 > scan@/src/w.py:2:3 > fstatat!libc.so.6", 1600);
    assert_told(0, "waits",
                "main sleeps 60% of its time in watch w.py:8 > clock_nanosleep. main runs 40% of "
                "its time, mainly in scan w.py:3 > fstatat.");
    teardown();
    judge_rest("watch@/src/w.py:1:9 > scan@/src/w.py:2:3 > fstatat!libc.so.6", 100);
    ck_assert(!is_said("main runs"));
    teardown();
}
END_TEST

START_TEST(slow_code_beside_a_sleep_is_told)
{
    judge_rest("watch@/src/w.py:1:9 > deepcopy@/usr/lib/python3.11/copy.py:1:2", 1600);
    assert_told(0, "waits", "copy.deepcopy() runs for 100% of its CPU time: ");
    teardown();
}
END_TEST

/* Who does most leads where main sleeps: what it does outside of its waits for work is asked. */
START_TEST(a_helper_that_leads_computes_beside_its_waits_for_work)
{
#define RESULTS "Pool._handle_results@/lib/python3/multiprocessing/pool.py:1:2 > "
    static const char idle[] = RESULTS "get@/lib/python3/queue.py:1:2 > futex [blocked]";
    setup();
    builder_run(&b, lead, "main@/src/w.py:1:8 > clock_nanosleep [blocked]", 4000, 0);
    thread_id t = builder_thread(&b, 11, "watcher");
    builder_run(&b, t, idle, 2600, 0);
    builder_run(&b, t, RESULTS "scan@/src/w.py:2:3", 1400, 1400);
    judge(4000);
    assert_told(0, "computes",
                "watcher computes: it ran 35% of 4.0 s, 35% in scan w.py:3; it is idle 65%.");
    teardown();
}
END_TEST

static void sleeps(thread_id t, uint64_t n)
{
    profile_get_thread(b.p, t)->runs[0].weights.events.put_on_cpu = (uint32_t)n;
    profile_get_thread(b.p, t)->usage = (struct profile_usage){
        .over_ns = 4000L * NS_PER_MS, .voluntary = n, .system_ns = 1000L * NS_PER_MS};
}

/* Main sleeps there itself until those that it wakes let go of the mutex. */
static void wakes(const char *call, int threads)
{
    struct text way = {0};
    setup();
    text_addf(&way, "main!app > dispatch!app > %s!libc.so.6 > futex [blocked]", call);
    builder_run(&b, lead, way.s, 2000, 0);
    text_truncate(&way, way.len - strlen(" > futex [blocked]"));
    builder_run(&b, lead, way.s, 2000, 2000);
    sleeps(lead, 80000);
    for (int i = 0; i < threads; i++) {
        thread_id t = builder_thread(&b, 11 + i, "taskq");
        builder_run(&b, t, "taskq!app > pthread_cond_wait!libc.so.6 > futex [blocked]", 3900, 0);
        builder_run(&b, t, "taskq!app", 100, 100);
        sleeps(t, 1000);
    }
    judge(4000);
    text_release(&way);
}

START_TEST(who_sleeps_where_it_wakes_all_is_told_whom)
{
    static const char words[] = " It may wake all of 4 taskq threads, in dispatch > ";
    wakes("pthread_cond_broadcast", 4);
    ck_assert_msg(is_said(words), "%s", found.printed[0]->words);
    teardown();
    wakes("pthread_cond_signal", 4);
    ck_assert(!is_said(words));
    teardown();
    wakes("pthread_cond_broadcast", 2);
    ck_assert(!is_said("It may wake all"));
    teardown();
}
END_TEST

CHECK_MAIN("findings_cpu", 20, who_sleeps_where_it_wakes_all_is_told_whom, a_sanitizer_is_told,
           what_runs_beside_a_sleep_is_told, slow_code_beside_a_sleep_is_told,
           a_helper_that_leads_computes_beside_its_waits_for_work,
           collections_at_the_end_are_told_with_what_they_take,
           collections_at_the_end_do_not_stand_for_all_others,
           who_waits_within_a_collection_does_not_collect,
           what_it_waits_for_is_no_place_where_it_computes,
           code_from_a_string_is_the_users_where_the_program_is_one)
