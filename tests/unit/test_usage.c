#include "worker/usage.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "tests/support/check_main.h"
#include "worker/timeline.h"

enum { PAGES = 500, PAGE = 4096 };

static void take_faults(void)
{
    char *pages =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pages, MAP_FAILED);
    (void)madvise(pages, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        pages[i * PAGE] = 1;
    (void)munmap(pages, PAGES * PAGE);
}

/* What getrusage(2) counts of this thread must lie between two looks. */
START_TEST(faults_and_switches_are_the_kernels)
{
    struct usage_watch w;
    struct rusage before;
    struct rusage after;
    usage_begin(&w, getpid(), gettid(), &(struct profile_usage){.major_faults = 7});
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &before), 0);
    take_faults();
    for (int i = 0; i < 20; i++)
        (void)usleep(100);
    ck_assert_int_eq(getrusage(RUSAGE_THREAD, &after), 0);
    usage_look(&w, getpid(), gettid());
    struct profile_usage u = usage_so_far(&w);
    ck_assert_uint_ge(u.minor_faults, (uint64_t)(after.ru_minflt - before.ru_minflt));
    ck_assert_uint_ge(u.minor_faults, PAGES);
    ck_assert_uint_lt(u.minor_faults, PAGES + 100);
    ck_assert_uint_ge(u.voluntary, (uint64_t)(after.ru_nvcsw - before.ru_nvcsw));
    ck_assert_int_gt(after.ru_nvcsw, before.ru_nvcsw); /* a sleep may be over before it begins */
    ck_assert_int_gt(u.over_ns, 20 * 100 * NS_PER_US);
    ck_assert_uint_ge(u.major_faults, 7); /* what it had used before */
}
END_TEST

START_TEST(an_ended_threads_usage_stays)
{
    struct usage_watch w;
    usage_begin(&w, getpid(), gettid(), &(struct profile_usage){0});
    take_faults();
    usage_look(&w, getpid(), gettid());
    struct profile_usage known = usage_so_far(&w);
    take_faults();
    usage_look(&w, getpid(), INT32_MAX); /* it is gone */
    struct profile_usage now = usage_so_far(&w);
    ck_assert(memcmp(&now, &known, sizeof now) == 0);
    w.start_ticks++; /* its tid is another's */
    usage_look(&w, getpid(), gettid());
    now = usage_so_far(&w);
    ck_assert(memcmp(&now, &known, sizeof now) == 0);
}
END_TEST

START_TEST(of_a_thread_that_was_gone_at_once_nothing_is_known)
{
    struct usage_watch w;
    usage_begin(&w, getpid(), INT32_MAX, &(struct profile_usage){.minor_faults = 3});
    usage_look(&w, getpid(), gettid());
    struct profile_usage u = usage_so_far(&w);
    ck_assert_int_eq(u.over_ns, 0);
    ck_assert_uint_eq(u.minor_faults, 3);
}
END_TEST

/* It took 40 more after the last look, as the sampler saw, which knows no fewer than that. */
START_TEST(faults_after_the_last_look_count)
{
    struct usage_watch w;
    usage_begin(&w, getpid(), gettid(), &(struct profile_usage){0});
    uint64_t minor = usage_so_far(&w).minor_faults;
    uint64_t seen = w.last.minor_faults + w.last.major_faults;
    usage_raise_faults(&w, seen + 40);
    usage_raise_faults(&w, seen + 30);
    usage_raise_faults(&w, 0); /* it read none */
    ck_assert_uint_eq(usage_so_far(&w).minor_faults, minor + 40);
    usage_begin(&w, getpid(), INT32_MAX, &(struct profile_usage){0});
    usage_raise_faults(&w, 40); /* since when? */
    ck_assert_uint_eq(usage_so_far(&w).minor_faults, 0);
}
END_TEST

/* Of an ended thread the kernel's switches end with the last look, and so do wallspy's. */
START_TEST(switches_for_stops_are_of_the_last_look)
{
    struct profile *p = profile_new(0);
    process_id process = profile_process(p, &(struct profile_process){.pid = getpid()});
    struct thread_timeline t = {.thread = profile_thread(p, process, gettid(), (string_id){0}, 0)};
    usage_begin(&t.usage, getpid(), gettid(), &(struct profile_usage){0});
    t.own_unlooked = 5;
    usage_look_at(&t, p);
    ck_assert_uint_eq(profile_see_thread(p, t.thread)->own_switches, 5);
    ck_assert_uint_eq(t.own_unlooked, 0);
    t.own_unlooked = 3;
    t.usage.start_ticks++; /* its tid is another's */
    usage_look_at(&t, p);
    ck_assert_uint_eq(profile_see_thread(p, t.thread)->own_switches, 5);
    profile_free(p);
}
END_TEST

START_TEST(all_threads_get_their_look)
{
    enum { MANY = 100 };
    struct thread_timeline timelines[MANY] = {0};
    struct usage_round round = {0};
    struct profile *p = profile_new(0);
    process_id process = profile_process(p, &(struct profile_process){.pid = getpid()});
    thread_id thread = profile_thread(p, process, gettid(), (string_id){0}, 0);
    for (size_t i = 0; i < MANY; i++) {
        timelines[i].thread = thread;
        usage_begin(&timelines[i].usage, getpid(), gettid(), &(struct profile_usage){0});
    }
    for (int i = 0; i < 10; i++) {
        round.looking.due_ns = 0;
        usage_look_around(&round, p, timelines, MANY);
    }
    for (size_t i = 0; i < MANY; i++)
        ck_assert_int_gt(usage_so_far(&timelines[i].usage).over_ns, 0);
    usage_look_around(&round, p, timelines, 1); /* threads have ended; and it is too soon */
    round.looking.due_ns = 0;
    usage_look_around(&round, p, NULL, 0);
    ck_assert_uint_eq(round.next, 0);
    profile_free(p);
}
END_TEST

CHECK_MAIN("usage", 20, faults_and_switches_are_the_kernels, an_ended_threads_usage_stays,
           faults_after_the_last_look_count, switches_for_stops_are_of_the_last_look,
           of_a_thread_that_was_gone_at_once_nothing_is_known, all_threads_get_their_look)
