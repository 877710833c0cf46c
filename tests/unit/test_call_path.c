/* The eight rules of what a path names, each with a case and a twin where it must not apply. */
#include "summary/heaviest_paths.h"

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

enum { MAX_STACKS = 12, MAX_PATHS = 3 };

/* A thread's time, and the paths that are shown of it. */
struct example {
    struct {
        const char *stack;
        int percent;
    } stacks[MAX_STACKS];
    const char *shown; /* "60% f a.py:2 > [mutex]; 40% …" */
};

static void check(const struct example *e)
{
    struct profile_builder b = builder_start(10, "app");
    thread_id t = builder_thread(&b, 10, NULL);
    struct text shown = {0};
    for (size_t i = 0; i < MAX_STACKS && e->stacks[i].stack; i++) {
        const char *stack = e->stacks[i].stack;
        int ms = e->stacks[i].percent * 10;
        if (str_ends(stack, "[waiting for cpu]"))
            builder_runnable(&b, t, stack, ms);
        else
            builder_run(&b, t, stack, ms, str_ends(stack, "]") ? 0 : ms);
    }
    profile_end(b.p, INT64_C(1000) * NS_PER_MS);
    struct view *v = view_new(b.p, &(struct view_options){0});
    struct call_tree *tree = call_tree_new(b.p, v);
    struct tally tally;
    struct call_path paths[MAX_PATHS];
    tally_init(&tally, tree, TALLY_ALL);
    tally_add_thread(&tally, profile_see_thread(b.p, t));
    size_t n = call_paths_heaviest(&tally, paths, MAX_PATHS);
    text_add(&shown, "");
    for (size_t i = 0; i < n; i++) {
        text_addf(&shown, "%s%d%% ", i ? "; " : "",
                  (int)((paths[i].ns + 5 * NS_PER_MS) / (10 * NS_PER_MS)));
        const char *parts[CALL_PATH_MAX_PARTS];
        size_t n_parts = call_path_parts(&paths[i], parts);
        for (size_t k = 0; k < n_parts; k++)
            text_addf(&shown, "%s%s", k ? " > " : "", parts[k]);
        call_path_release(&paths[i]);
    }
    ck_assert_str_eq(shown.s, e->shown);
    text_release(&shown);
    tally_release(&tally);
    call_tree_free(tree);
    view_free(v);
    profile_free(b.p);
}

#define CHECK_ALL(examples)                                                                        \
    for (size_t i = 0; i < sizeof(examples) / sizeof *(examples); i++)                             \
    check(&(examples)[i])

#define MAIN  "<module>@/src/train.py:1:90 > "
#define NUMPY "/venv/lib/python3.11/site-packages/numpy/"

START_TEST(rule_1_names_the_users_last_function_and_what_it_waits_in)
{
    static const struct example examples[] = {
        {{{MAIN "load@/src/a.py:1:5 > loads@/usr/lib/python3.11/json/d.py:1:2 > "
                "scan!/usr/lib/python3.11/lib-dynload/_json.so",
           100}},
         "100% load a.py:5 > scan"},
        {{{MAIN "load@/src/a.py:1:5 > db::sync!/usr/lib/libdb.so > db::wait!/usr/lib/libdb.so > "
                "pthread_cond_wait!libc.so.6 > futex [blocked]",
           100}},
         "100% load a.py:5 > db::wait > [condition]"},
        {{{MAIN "load@/src/a.py:1:5", 100}}, "100% load a.py:5"},
        /* a standard library is no caller */
        {{{"load!app > std::__introsort_loop!app > less!app", 100}}, "100% load > less"},
        {{{"load!app > std::sort!app > std::__introsort_loop!app", 100}}, "100% load > std::sort"},
        /* only a library's */
        {{{"fit@" NUMPY "fit.py:1:2 > gemm!" NUMPY "core.so", 100}}, "100% fit fit.py:2 > gemm"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_1_splits_where_no_child_has_half)
{
    static const struct example examples[] = {
        {{{MAIN "f@/src/a.py:1:5", 45}, {MAIN "g@/src/a.py:6:7", 35}, {MAIN "h@/src/a.py:8:9", 20}},
         "45% f a.py:5; 35% g a.py:7; 20% h a.py:9"},
        {{{MAIN "f@/src/a.py:1:5", 70}, {MAIN "g@/src/a.py:6:7", 30}},
         "70% f a.py:5; 30% g a.py:7"},
        /* what is below a twentieth is of no interest */
        {{{MAIN "f@/src/a.py:1:5", 96}, {MAIN "g@/src/a.py:6:7", 4}}, "96% f a.py:5"},
        /* a library's ways are not the user's */
        {{{MAIN "f@/src/a.py:1:5 > dot@" NUMPY "m.py:1:2 > x!" NUMPY "c.so", 40},
          {MAIN "f@/src/a.py:1:5 > dot@" NUMPY "m.py:1:2 > y!" NUMPY "c.so", 30},
          {MAIN "f@/src/a.py:1:5 > dot@" NUMPY "m.py:1:2 > z!" NUMPY "c.so", 30}},
         "100% f a.py:5 > dot"},
        /* but for what it calls back */
        {{{MAIN "run@" NUMPY "m.py:1:2 > f@/src/a.py:1:5", 40},
          {MAIN "run@" NUMPY "m.py:1:2 > g@/src/a.py:6:7", 35},
          {MAIN "run@" NUMPY "m.py:1:2 > h@/src/a.py:8:9", 25}},
         "40% f a.py:5; 35% g a.py:7; 25% h a.py:9"},
    };
    CHECK_ALL(examples);
}
END_TEST

/* Two lines call the same: the heavier one is not all of it.  What a function does itself has no
 * such lines, nor has a second line of little time. */
START_TEST(rule_1_names_two_lines_that_share_the_time)
{
    static const struct example examples[] = {
        {{{MAIN "load@/src/a.py:1:5 > read pipe [blocked]", 55},
          {MAIN "load@/src/a.py:1:9 > read pipe [blocked]", 45}},
         "100% load a.py:5,9 > [read pipe]"},
        {{{MAIN "load@/src/a.py:1:5 > read pipe [blocked]", 75},
          {MAIN "load@/src/a.py:1:9 > read pipe [blocked]", 25}},
         "100% load a.py:5 > [read pipe]"},
        {{{MAIN "load@/src/a.py:1:5 > read pipe [blocked]", 56},
          {MAIN "load@/src/a.py:1:9 > read pipe [blocked]", 22},
          {MAIN "load@/src/a.py:1:12 > read pipe [blocked]", 22}},
         "100% load a.py:5 > [read pipe]"},
        {{{MAIN "load@/src/a.py:1:5", 55}, {MAIN "load@/src/a.py:1:9", 45}}, "100% load a.py:5"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_2_waiting_for_a_cpu_is_no_place)
{
    static const struct example examples[] = {
        {{{MAIN "f@/src/a.py:1:5", 40}, {MAIN "f@/src/a.py:1:5 > [waiting for cpu]", 60}},
         "100% f a.py:5"},
        {{{MAIN "f@/src/a.py:1:5 > [waiting for GIL]", 100}}, "100% f a.py:5 > [waiting for GIL]"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_3_objects_of_one_kind_fold)
{
    static const struct example examples[] = {
        {{{MAIN "f@/src/a.py:1:5 > read /mnt/data//a/1 [blocked]", 40},
          {MAIN "f@/src/a.py:1:5 > read /mnt/data//a/2 [blocked]", 30},
          {MAIN "f@/src/a.py:1:5 > read /mnt/data//b/1 [blocked]", 30}},
         "100% f a.py:5 > [read 3 files: /mnt/data]"},
        {{{MAIN "f@/src/a.py:1:5 > read /home/me/x/1 [blocked]", 60},
          {MAIN "f@/src/a.py:1:5 > read /home/me/x/2 [blocked]", 40}},
         "100% f a.py:5 > [read 2 files: /home/me/x]"},
        {{{MAIN "f@/src/a.py:1:5 > read /mnt/data//a/1 [blocked]", 100}},
         "100% f a.py:5 > [read /mnt/data/a/1]"},
        {{{MAIN "f@/src/a.py:1:5 > ioctl /dev/a [blocked]", 55},
          {MAIN "f@/src/a.py:1:5 > ioctl /dev/b [blocked]", 45}},
         "55% f a.py:5 > [ioctl /dev/a]; 45% f a.py:5 > [ioctl /dev/b]"},
        {{{MAIN "f@/src/a.py:1:5 > recvfrom 10.0.0.7:5432 [blocked]", 90},
          {MAIN "f@/src/a.py:1:5 > recvfrom socket [blocked]", 10}},
         "100% f a.py:5 > [recvfrom 10.0.0.7:5432]"},
        {{{MAIN "f@/src/a.py:1:5 > recvfrom 10.0.0.7:5432 [blocked]", 40},
          {MAIN "f@/src/a.py:1:5 > recvfrom socket [blocked]", 60}},
         "100% f a.py:5 > [recvfrom 10.0.0.7:5432, ≥ 40%]"},
        {{{MAIN "f@/src/a.py:1:5 > recvfrom 10.0.0.7:5432 [blocked]", 1},
          {MAIN "f@/src/a.py:1:5 > recvfrom socket [blocked]", 99}},
         "100% f a.py:5 > [recvfrom socket]"},
        {{{MAIN "f@/src/a.py:1:5 > recvfrom 10.0.0.7:5432 [blocked]", 60},
          {MAIN "f@/src/a.py:1:5 > recvfrom 10.0.0.8:6379 [blocked]", 40}},
         "100% f a.py:5 > [recvfrom 2 addresses, 60% 10.0.0.7:5432]"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_4_glue_is_passed_over)
{
    static const struct example examples[] = {
        {{{"_start!app > __libc_start_main!libc.so.6 > main!app > app::main::{{closure}}!app > "
           "core::ops::function::FnOnce::call_once!app > std::panic::catch_unwind!app > "
           "parse!app > 0x7f00 > __gthread_mutex_lock!app > futex [blocked]",
           100}},
         "100% app::main > parse > [futex]"},
        {{{"main!app > build!app > malloc!libc.so.6 > __lll_lock_wait_private!libc.so.6 > "
           "futex [blocked]",
           100}},
         "100% build > malloc > [arena lock]"},
        /* its own lock, not one that the program asks for */
        {{{"main!app > deal!app > rand!libc.so.6 > __random!libc.so.6 > "
           "__lll_lock_wait_private!libc.so.6 > futex [blocked]",
           100}},
         "100% deal > rand > [mutex]"},
        {{{"main!app > deal!app > pthread_mutex_lock!libc.so.6 > __lll_lock_wait!libc.so.6 > "
           "futex [blocked]",
           100}},
         "100% deal > [mutex]"},
        {{{"main!app > build!app > _int_free!libc.so.6", 100}}, "100% build > int_free"},
        {{{"main!app > parse!app", 100}}, "100% parse"}, /* who else? */
        {{{"main!app", 100}}, "100% main"},
        {{{"step!app > parse!app", 100}}, "100% step > parse"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_5_native_frames_have_lines_too)
{
    static const struct example examples[] = {
        {{{"step!app|/src/step.cc:7 > parse!app|/src/parse.cc:12", 100}},
         "100% step step.cc:7 > parse parse.cc:12"},
        {{{"step!app|step.cc:7", 100}}, "100% step step.cc:7"},
        {{{"step!app|/src/step.cc:7 > inflate!/usr/lib/libz.so.1|/build/zlib/inflate.c:99", 100}},
         "100% step step.cc:7 > inflate"}, /* where library code is helps nobody */
    };
    CHECK_ALL(examples);
}
END_TEST

#define LIBEVENT "main!app > serve!app > event_base_loop!libevent-2.1.so.7 > "

START_TEST(rule_6_an_event_loops_poll_is_idle)
{
    static const struct example examples[] = {
        {{{LIBEVENT "epoll_wait [blocked]", 90}, {"main!app > serve!app > f!app", 10}},
         "10% serve > f"},
        /* one that no loop is known of */
        {{{"main!app > serve!app > epoll_wait [blocked]", 90},
          {"main!app > serve!app > f!app", 10}},
         "90% serve > [epoll_wait]; 10% serve > f"},
        {{{"main!app > serve!app > futex [blocked]", 90}, {"main!app > serve!app > f!app", 10}},
         "90% serve > [futex]; 10% serve > f"},
        /* a twentieth of what it does, not of what it waits */
        {{{LIBEVENT "epoll_wait [blocked]", 95},
          {"main!app > serve!app > f!app", 3},
          {"main!app > serve!app > g!app", 2}},
         "3% serve > f; 2% serve > g"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_7_a_guess_never_leads)
{
    static const struct example examples[] = {
        {{{"step!app > wrong?!app > parse!app", 100}}, "100% step > parse"},
        {{{"step!app > wrong?!app", 100}}, "100% step"},
        {{{"wrong?!app > 0x7f00", 100}}, "100% 0x7f00"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(rule_8_names_lose_what_says_nothing)
{
    static const struct example examples[] = {
        {{{"step!app > Pool::run(int)::{lambda()#1}::operator()!app", 100}},
         "100% step > Pool::run"},
        {{{"step!app > __memcpy_avx_unaligned_erms!libc.so.6", 100}}, "100% step > memcpy"},
        {{{"step!app > __memcpy_avx_of_mine!app", 100}}, "100% step > __memcpy_avx_of_mine"},
    };
    CHECK_ALL(examples);
}
END_TEST

/* encode() has 60 %; the library's functions in it have ever less. */
START_TEST(a_library_keeps_what_its_caller_has)
{
    static const struct example examples[] = {
        {{{MAIN "f@/src/a.py:1:5 > dumps@/usr/lib/python3/j.py:1:2 > "
                "a!/usr/lib/python3.11/lib-dynload/_json.so",
           35},
          {MAIN "f@/src/a.py:1:5 > dumps@/usr/lib/python3/j.py:1:2 > "
                "b!/usr/lib/python3.11/lib-dynload/_json.so",
           25},
          {MAIN "g@/src/a.py:6:7", 40}},
         "60% f a.py:5 > dumps; 40% g a.py:7"},
        {{{MAIN "f@/src/a.py:1:5 > dumps@/usr/lib/python3/j.py:1:2 > "
                "a!/usr/lib/python3.11/lib-dynload/_json.so",
           55},
          {MAIN "f@/src/a.py:1:5 > dumps@/usr/lib/python3/j.py:1:2 > "
                "b!/usr/lib/python3.11/lib-dynload/_json.so",
           5},
          {MAIN "g@/src/a.py:6:7", 40}},
         "55% f a.py:5 > a; 40% g a.py:7; 5% f a.py:5 > b"},
    };
    CHECK_ALL(examples);
}
END_TEST

#define QUERY "query@/src/db.py:1:3 > send!libpq.so > recvfrom 10.0.0.7:5432 [blocked]"

START_TEST(callers_of_one_function_are_one_path)
{
    static const struct example examples[] = {
        {{{MAIN "a@/src/a.py:1:5 > " QUERY, 20},
          {MAIN "b@/src/a.py:1:5 > " QUERY, 19},
          {MAIN "c@/src/a.py:1:5 > " QUERY, 18},
          {MAIN "d@/src/a.py:1:5 > " QUERY, 17},
          {MAIN "d@/src/a.py:1:5 > encode@/src/a.py:8:9", 12},
          {MAIN "e@/src/a.py:1:5 > encode@/src/a.py:8:9", 14}},
         "74% query db.py:3 > send > [recvfrom 10.0.0.7:5432]; 26% encode a.py:9"},
        /* the line is of them all, too */
        {{{MAIN "a@/src/a.py:1:5 > f@/src/b.py:1:3", 40},
          {MAIN "b@/src/a.py:1:5 > f@/src/b.py:1:2", 30},
          {MAIN "c@/src/a.py:1:5 > f@/src/b.py:1:2", 30}},
         "100% f b.py:2"},
        /* beside the heaviest way, and on it */
        {{{MAIN "a@/src/a.py:1:5 > " QUERY, 60},
          {MAIN "b@/src/a.py:1:5 > " QUERY, 25},
          {MAIN "b@/src/a.py:1:5", 15}},
         "85% query db.py:3 > send > [recvfrom 10.0.0.7:5432]; 15% b a.py:5"},
        /* all files, and all other ends */
        {{{MAIN "a@/src/a.py:1:5 > load@/src/b.py:1:3 > read /mnt/data//a/1 [blocked]", 40},
          {MAIN "b@/src/a.py:1:5 > load@/src/b.py:1:3 > read /mnt/data//a/2 [blocked]", 35},
          {MAIN "c@/src/a.py:1:5 > load@/src/b.py:1:3 > read /mnt/data//b/3 [blocked]", 25}},
         "100% load b.py:3 > [read 3 files: /mnt/data]"},
        {{{MAIN "a@/src/a.py:1:5 > ask@/src/b.py:1:3 > recvfrom 10.0.0.7:5432 [blocked]", 60},
          {MAIN "b@/src/a.py:1:5 > ask@/src/b.py:1:3 > recvfrom 10.0.0.8:6379 [blocked]", 40}},
         "100% ask b.py:3 > [recvfrom 2 addresses, 60% 10.0.0.7:5432]"},
        /* a port is no line */
        {{{MAIN "f@/src/a.py:1:5 > read 10.0.0.7:1 [blocked]", 60},
          {MAIN "f@/src/a.py:1:5 > g@/src/b.py:1:5", 40}},
         "60% f a.py:5 > [read 10.0.0.7:1]; 40% g b.py:5"},
        /* functions that call each other */
        {{{MAIN "visit@/src/v.py:1:2 > add@/src/v.py:3:4 > visit@/src/v.py:1:2 > num@/src/v.py:5:6",
           20},
          {MAIN "visit@/src/v.py:1:2 > sub@/src/v.py:7:8 > visit@/src/v.py:1:2 > num@/src/v.py:5:6",
           20},
          {MAIN "visit@/src/v.py:1:2 > mul@/src/v.py:9:9 > visit@/src/v.py:1:2 > num@/src/v.py:5:6",
           25},
          {MAIN "visit@/src/v.py:1:2 > sub@/src/v.py:7:8 > visit@/src/v.py:1:2", 15},
          {MAIN "visit@/src/v.py:1:2", 20}},
         "65% num v.py:6; 35% visit v.py:2"},
        /* functions of two files */
        {{{MAIN "a@/src/a.py:1:5 > f@/src/b/x.py:1:3", 60}, {MAIN "f@/src/c/x.py:1:3", 40}},
         "60% f x.py:3; 40% f x.py:3"},
    };
    CHECK_ALL(examples);
}
END_TEST

#define DUMPS                                                                                      \
    " > dumps@/usr/lib/python3.11/json/__init__.py:1:2 > encode@/usr/lib/python3.11/json/e.py:1:2"
#define CALL(function, percent)                                                                    \
    {                                                                                              \
        MAIN function "@/src/a.py:1:5" DUMPS, percent                                              \
    }

START_TEST(what_many_functions_call_comes_before_each_of_them)
{
    static const struct example examples[] = {
        {{CALL("a", 10),
          CALL("b", 10),
          CALL("c", 11),
          CALL("d", 9),
          CALL("e", 10),
          CALL("f", 10),
          CALL("g", 10),
          CALL("h", 10),
          {MAIN "rest@/src/a.py:6:7", 20}},
         "80% 8 functions > dumps; 20% rest a.py:7"},
        /* two of them; each has its own line, for both are the user's */
        {{{MAIN "a@/src/a.py:1:5 > get@/src/b.py:1:2", 14},
          {MAIN "b@/src/a.py:1:5 > get@/src/b.py:1:3", 13},
          {MAIN "c@/src/a.py:1:5 > get@/src/b.py:1:3", 13},
          {MAIN "a@/src/a.py:1:5 > put@/src/b.py:5:6", 10},
          {MAIN "b@/src/a.py:1:5 > put@/src/b.py:5:6", 10},
          {MAIN "c@/src/a.py:1:5 > put@/src/b.py:5:6", 10},
          {MAIN "rest@/src/a.py:6:7", 30}},
         "40% get b.py:3; 30% put b.py:6; 30% rest a.py:7"},
        /* with the wait that most of it is */
        {{{MAIN "a@/src/a.py:1:5 > save@/usr/lib/python3.11/shelve.py:1:2 > fsync /x/a [blocked]",
           14},
          {MAIN "b@/src/a.py:1:5 > save@/usr/lib/python3.11/shelve.py:1:2 > fsync /x/b [blocked]",
           14},
          {MAIN "c@/src/a.py:1:5 > save@/usr/lib/python3.11/shelve.py:1:2 > fsync /x/b [blocked]",
           14},
          {MAIN "d@/src/a.py:1:5 > save@/usr/lib/python3.11/shelve.py:1:2 > fsync /x/c [blocked]",
           14},
          {MAIN "e@/src/a.py:1:5 > save@/usr/lib/python3.11/shelve.py:1:2 > crc!libz.so.1", 14},
          {MAIN "rest@/src/a.py:6:7", 30}},
         "70% 5 functions > save > [fsync 3 files: /x]; 30% rest a.py:7"},
        /* not the wrapper that all go through, nor copying in what they call */
        {{{MAIN "a@/src/a.py:1:5 > timed@/src/t.py:1:2 > a1@/src/a.py:1:5" DUMPS, 20},
          {MAIN "b@/src/a.py:1:5 > timed@/src/t.py:1:2 > b1@/src/a.py:1:5" DUMPS, 20},
          {MAIN "c@/src/a.py:1:5 > timed@/src/t.py:1:2 > c1@/src/a.py:1:5" DUMPS, 20},
          {MAIN "d@/src/a.py:1:5 > timed@/src/t.py:1:2 > d1@/src/a.py:1:5" DUMPS, 20},
          {MAIN "e@/src/a.py:1:5 > timed@/src/t.py:1:2 > e1@/src/a.py:1:5", 20}},
         "80% 4 functions > dumps; 20% e1 a.py:5"},
        /* one caller has half of it */
        {{CALL("a", 50), CALL("b", 15), CALL("c", 15), {MAIN "rest@/src/a.py:6:7", 20}},
         "50% a a.py:5 > encode; 20% rest a.py:7; 15% b a.py:5 > encode"},
        /* two callers are told apart */
        {{CALL("a", 40), CALL("b", 40), {MAIN "rest@/src/a.py:6:7", 20}},
         "40% a a.py:5 > encode; 40% b a.py:5 > encode; 20% rest a.py:7"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(a_line_is_of_the_way_that_is_shown)
{
    static const struct example examples[] = {
        {{{MAIN "work@/src/a.py:6:9 > clock_nanosleep [blocked]", 33},
          {MAIN "work@/src/a.py:6:10 > grind@/src/a.py:3:4 > dumps@/usr/lib/python3/j.py:1:2", 67}},
         "67% grind a.py:4 > dumps; 33% work a.py:9 > [clock_nanosleep]"},
        {{{"work!app|/src/a.cc:9 > clock_nanosleep!libc.so.6 > clock_nanosleep [blocked]", 33},
          {"work!app|/src/a.cc:10 > grind!app|/src/a.cc:4", 67}},
         "67% work a.cc:10 > grind a.cc:4; 33% work a.cc:9 > [clock_nanosleep]"},
        /* beside the way on, in no further call, at two lines of its own */
        {{{MAIN "work@/src/a.py:6:10 > grind@/src/a.py:3:4", 60},
          {MAIN "work@/src/a.py:6:8", 15},
          {MAIN "work@/src/a.py:6:9", 25}},
         "60% grind a.py:4; 40% work a.py:9"},
        /* two calls of one function, each with its own library's */
        {{{MAIN "work@/src/a.py:6:8 > dumps@/usr/lib/python3/j.py:1:2", 45},
          {MAIN "work@/src/a.py:6:9 > read pipe [blocked]", 55}},
         "55% work a.py:9 > [read pipe]; 45% work a.py:8 > dumps"},
        /* the call that goes on, not the one that calls itself */
        {{{MAIN "sum@/src/a.py:6:7 > sum@/src/a.py:6:7 > sum@/src/a.py:6:9 > read pipe [blocked]",
           100}},
         "100% sum a.py:9 > [read pipe]"},
    };
    CHECK_ALL(examples);
}
END_TEST

START_TEST(no_stack_is_no_path)
{
    check(&(struct example){.shown = ""});
}
END_TEST

CHECK_MAIN("call_path", 20, rule_1_names_the_users_last_function_and_what_it_waits_in,
           rule_1_splits_where_no_child_has_half, rule_2_waiting_for_a_cpu_is_no_place,
           rule_1_names_two_lines_that_share_the_time, rule_3_objects_of_one_kind_fold,
           rule_4_glue_is_passed_over, rule_5_native_frames_have_lines_too,
           rule_6_an_event_loops_poll_is_idle, rule_7_a_guess_never_leads,
           rule_8_names_lose_what_says_nothing, a_library_keeps_what_its_caller_has,
           callers_of_one_function_are_one_path, what_many_functions_call_comes_before_each_of_them,
           a_line_is_of_the_way_that_is_shown, no_stack_is_no_path)
