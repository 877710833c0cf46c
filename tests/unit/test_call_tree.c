#include "base/alloc.h"
#include "summary/call_tree.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "summary/frame_name.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile_builder b;
static thread_id thread;
static struct view *v;
static struct call_tree *tree;
static struct tally tally;
static struct text joined;

static void setup(void)
{
    b = builder_start(10, "app");
    thread = builder_thread(&b, 10, NULL);
}

/* To be called when all is recorded. */
static void build(unsigned states)
{
    profile_end(b.p, INT64_C(1000) * NS_PER_MS);
    v = view_new(b.p, &(struct view_options){0});
    tree = call_tree_new(b.p, v);
    tally_init(&tally, tree, states);
    tally_add_thread(&tally, profile_see_thread(b.p, thread));
}

static void teardown(void)
{
    tally_release(&tally);
    tree = call_tree_free(tree);
    v = view_free(v);
    text_release(&joined);
    profile_free(b.p);
}

/* STACK is one of a run's. */
static uint32_t node_of(const char *stack)
{
    return call_tree_of(tree, builder_spot(&b, stack));
}

static int64_t ms(int64_t ns)
{
    return ns / NS_PER_MS;
}

/* The names from the root to where STACK ends; the profile holds nothing but it. */
static const char *names(const char *stack)
{
    setup();
    builder_run(&b, thread, stack, 10, 10);
    build(TALLY_ALL);
    const char *nodes[16];
    size_t n = 0;
    for (uint32_t node = node_of(stack); node; node = call_tree_node(tree, node).parent)
        nodes[n++] = call_tree_node(tree, node).frame->name;
    text_add(&joined, "");
    while (n--)
        text_addf(&joined, "%s%s", joined.len ? " > " : "", nodes[n]);
    return joined.s;
}

static const struct {
    const char *stack, *names;
} stacks[] = {
    {"clone3!libc.so.6 > start_thread!libc.so.6 > f!app > g!app", "f > g"},
    {"f!app > pthread_mutex_lock!libc.so.6 > futex [blocked]", "f > futex [blocked]"},
    {"f!app > malloc!libc.so.6 > futex [blocked]", "f > malloc > futex [blocked]"},
    {"f!app > memcpy!libc.so.6", "f > memcpy"},
    {"f!app > g!app > [waiting for cpu]", "f > g"},                 /* a state */
    {"f!app > memcpy!libc.so.6 > [waiting for cpu]", "f > memcpy"}, /* of work, not of a wait */
    {"f!app > [waiting for GIL]", "f > [waiting for GIL]"},
    {"f!app > f!app > f!app > g!app > f!app", "f > g > f"}, /* recursion */
    {"f!app > guess?!app > g!app", "f > g"},
    {"f!app > 0x7f00 > g!app", "f > g"},
    {"0x7f00 > 0x7f10", "0x7f10"}, /* better than nothing */
    {"std::sort!app > memcpy!libc.so.6", "std::sort > memcpy"},
    {"std::lock_guard<int>::f!app > memcpy!libc.so.6", "memcpy"},
    {"clone3!libc.so.6 > std::run!app > write!libc.so.6 > write pipe [blocked]",
     "std::run > write pipe [blocked]"},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<go>>>::_M_run!app > go!app > g!app",
     "go > g"},
    {"std::thread::_State_impl<std::thread::_Invoker<std::tuple<go>>>::_M_run!app > g!app",
     "std::thread::_State_impl<std::thread::_Invoker<std::tuple<go>>>::_M_run > g"},
};

START_TEST(a_stack_is_what_a_reader_names)
{
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        ck_assert_str_eq(names(stacks[i].stack), stacks[i].names);
        teardown();
    }
}
END_TEST

START_TEST(alike_stacks_are_one_node)
{
    static const char *const same[] = {"f@/a.py:1:2 > read /mnt//a [blocked]",
                                       "f@/a.py:1:3 > read /mnt//b [blocked]",
                                       "f@/a.py:1:2 > 0x7f00 > read /mnt//c/d [blocked]"};
    static const char *const other[] = {
        "f@/b.py:1:2 > read /mnt//a [blocked]",   "f@/a.py:1:2 > write /mnt//a [blocked]",
        "f@/a.py:1:2 > read /other//a [blocked]", "f@/a.py:1:2 > read /dev/x [blocked]",
        "f@/a.py:1:2 > read pipe [blocked]",      "f@/a.py:1:2"};
    setup();
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        builder_run(&b, thread, same[i], 10, 0);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        builder_run(&b, thread, other[i], 10, 0);
    build(TALLY_ALL);
    uint32_t node = node_of(same[0]);
    ck_assert_uint_eq(call_tree_of(tree, spot_of_stack((stack_id){0})), 0);
    struct text folder = {0};
    ck_assert(call_tree_node(tree, node).files);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        ck_assert_uint_eq(node_of(same[i]), node);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        ck_assert_uint_ne(node_of(other[i]), node);
    ck_assert_int_eq(ms(tally_self(&tally, node)), 30);
    bool *nodes = xcalloc(call_tree_count(tree) + 1, sizeof *nodes);
    nodes[node] = true;
    ck_assert_uint_eq(tally_files(&tally, nodes, &folder), 3);
    free(nodes);
    ck_assert_str_eq(folder.s, "/mnt");
    ck_assert(!call_tree_node(tree, node_of(other[3])).files); /* a device is no file */
    text_release(&folder);
    teardown();
}
END_TEST

START_TEST(a_futex_is_a_node_for_each_kind)
{
    static const char lock[] = "f!app > pthread_mutex_lock!libc.so.6 > futex [blocked]";
    static const char condition[] = "f!app > pthread_cond_wait!libc.so.6 > futex [blocked]";
    setup();
    builder_run(&b, thread, lock, 10, 0);
    builder_run(&b, thread, condition, 10, 0);
    build(TALLY_ALL);
    ck_assert_int_eq(call_tree_node(tree, node_of(lock)).futex, FUTEX_LOCK);
    ck_assert_int_eq(call_tree_node(tree, node_of(condition)).futex, FUTEX_CONDITION);
    ck_assert_uint_ne(node_of(lock), node_of(condition));
    teardown();
}
END_TEST

START_TEST(sums_hold_their_states_and_spans)
{
    setup();
    builder_run(&b, thread, "f!app > g!app", 300, 300);
    builder_run(&b, thread, "f!app > g!app > read pipe [blocked]", 500, 0);
    builder_runnable(&b, thread, "f!app > g!app > [waiting for cpu]", 100);
    builder_missed(&b, thread, 100);
    build(TALLY_ALL);
    uint32_t f = call_tree_node(tree, node_of("f!app > g!app")).parent;
    uint32_t g = node_of("f!app > g!app");
    ck_assert_int_eq(ms(tally.all_ns), 900); /* missed time is nowhere */
    ck_assert_int_eq(ms(tally_self(&tally, f)), 0);
    ck_assert_int_eq(ms(tally_total(&tally, f)), 900);
    ck_assert_int_eq(ms(tally_self(&tally, g)), 400);
    ck_assert_int_eq(ms(tally_total(&tally, 0)), 900);
    ck_assert(call_tree_is_within(tree, g, f) && !call_tree_is_within(tree, f, g));
    struct tally part;
    tally_init(&part, tree, TALLY_BLOCKED);
    const struct interval late = {INT64_C(700) * NS_PER_MS, INT64_MAX};
    tally_add(&part, profile_see_thread(b.p, thread), &late, 1);
    ck_assert_int_eq(ms(part.all_ns), 100);
    ck_assert_int_eq(ms(tally_self(&part, g)), 0);
    ck_assert_int_eq(ms(tally_total(&part, g)), 100);
    tally_release(&part);
    teardown();
}
END_TEST

START_TEST(waits_for_work_are_apart)
{
    setup();
    builder_run(&b, thread, "loop!app > ev_run!libev.so.4 > epoll_wait [blocked]", 700, 0);
    builder_run(&b, thread,
                "gomp_thread_start!libgomp.so.1 > gomp_team_barrier_wait!libgomp.so.1 > futex "
                "[blocked]",
                100, 0);
    builder_run(&b, thread, "loop!app > handle!app", 200, 200);
    build(TALLY_ALL);
    ck_assert_int_eq(ms(tally.idle_ns), 800);
    ck_assert_int_eq(ms(tally.all_ns), 1000);
    ck_assert_int_eq(ms(tally_total(&tally, 0)), 200);
    teardown();
}
END_TEST

START_TEST(a_line_is_the_one_with_most_time)
{
    setup();
    builder_run(&b, thread, "f@/a.py:1:4 > g@/a.py:9:10", 500, 500);
    builder_run(&b, thread, "f@/a.py:1:2", 200, 200);
    builder_run(&b, thread, "f@/a.py:1:3", 100, 100);
    builder_run(&b, thread, "f@/a.py:1:3", 150, 150);
    build(TALLY_ALL);
    uint32_t f = node_of("f@/a.py:1:2");
    uint32_t g = node_of("f@/a.py:1:4 > g@/a.py:9:10");
    uint32_t frames[8] = {0};
    frames[f] = frames[g] = f;
    ck_assert_uint_eq(tally_lines(&tally, frames).first, 4);
    frames[g] = g;
    ck_assert_uint_eq(tally_lines(&tally, frames).first, 10);
    frames[g] = 0;
    ck_assert_uint_eq(tally_lines(&tally, frames).first, 3);
    teardown();
}
END_TEST

CHECK_MAIN("call_tree", 20, a_stack_is_what_a_reader_names, alike_stacks_are_one_node,
           a_futex_is_a_node_for_each_kind, sums_hold_their_states_and_spans,
           waits_for_work_are_apart, a_line_is_the_one_with_most_time)
