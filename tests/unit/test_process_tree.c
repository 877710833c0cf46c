#include "summary/process_tree.h"

#include "base/clock.h"
#include "base/text.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static struct profile_builder b;

static process_id child(process_id parent, pid_t pid, const char *comm, int64_t cpu_ms)
{
    builder_process(&b, pid, comm, NULL);
    builder_run(&b, builder_thread(&b, pid, NULL), "main!app", 1000, cpu_ms);
    profile_get_process(b.p, b.process)->parent = parent;
    return b.process;
}

/* The thread that was made last ends with the recording. */
static void end_last(void)
{
    struct profile_thread *t = profile_get_thread(b.p, (thread_id){profile_thread_count(b.p)});
    t->ended = true;
    t->end_ns = 1000 * NS_PER_MS;
}

/* "sh 10 (make 20 (cc 30) ld 40)" */
static struct text shown(const struct process_tree *t)
{
    struct text out = {0};
    for (size_t i = 0; i < t->n; i++)
        text_addf(&out, "%s%u:%s", i ? " " : "", t->rows[i].depth, t->rows[i].label);
    return out;
}

static struct process_tree make(const struct view_options *options)
{
    struct thread_summaries threads;
    struct process_tree tree;
    profile_end(b.p, 1000 * NS_PER_MS);
    struct view *view = view_new(b.p, options);
    thread_summaries_init(&threads, b.p, view);
    process_tree_init(&tree, b.p, &threads);
    thread_summaries_release(&threads);
    view_free(view);
    return tree;
}

START_TEST(children_follow_their_parents)
{
    b = builder_start(10, "sh");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!sh > wait4 [blocked]", 1000, 0);
    process_id sh = b.process;
    process_id mk = child(sh, 20, "make", 100);
    (void)child(sh, 40, "ld", 200);
    (void)child(mk, 30, "cc", 300);
    builder_run(&b, builder_thread(&b, 31, "loader"), "main!app", 1000, 500);
    struct process_tree tree = make(&(struct view_options){0});
    struct text text = shown(&tree);
    ck_assert_str_eq(text.s, "0:sh 10 1:make 20 2:cc 30 1:ld 40");
    ck_assert_uint_eq(tree.rows[2].n_threads, 2);
    ck_assert_int_eq(tree.rows[2].run_ns, 800 * NS_PER_MS);
    ck_assert_int_eq(tree.rows[2].blocked_ns, 1200 * NS_PER_MS);
    bool some[] = {true, true, true, true, true};
    some[mk.ix] = false;
    process_tree_release(&tree);
    text_release(&text);
    tree = make(&(struct view_options){.processes = some});
    text = shown(&tree);
    ck_assert_str_eq(text.s, "0:sh 10 1:cc 30 1:ld 40");
    process_tree_release(&tree);
    text_release(&text);
    profile_free(b.p);
}
END_TEST

/* The kernel's count has all children that ended, also those that are in the tree. */
START_TEST(what_short_children_used)
{
    b = builder_start(10, "sh");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!sh > wait4 [blocked]", 1000, 0);
    process_id sh = b.process;
    profile_get_process(b.p, sh)->children_cpu_ns = 900 * NS_PER_MS;
    process_id ended = child(sh, 20, "make", 300);
    profile_get_process(b.p, ended)->children_cpu_ns = 100 * NS_PER_MS;
    end_last();
    (void)child(sh, 21, "runs on", 400);
    struct process_tree tree = make(&(struct view_options){0});
    ck_assert_int_eq(tree.rows[0].unsampled_children_ns, 500 * NS_PER_MS);
    ck_assert_int_eq(tree.rows[1].unsampled_children_ns, 100 * NS_PER_MS);
    ck_assert_int_eq(tree.rows[2].unsampled_children_ns, 0);
    ck_assert(tree.rows[1].ended && !tree.rows[2].ended);
    process_tree_release(&tree);
    profile_free(b.p);
}
END_TEST

/* make has waited for g++, and g++ for cc1 after it was looked at last. */
START_TEST(what_grandchildren_used_is_known)
{
    b = builder_start(10, "make");
    builder_run(&b, builder_thread(&b, 10, NULL), "main!make > wait4 [blocked]", 1000, 0);
    process_id top = b.process;
    profile_get_process(b.p, top)->children_cpu_ns = 700 * NS_PER_MS;
    process_id compiler = child(top, 20, "g++", 100);
    end_last();
    (void)child(compiler, 30, "cc1", 600);
    end_last();
    struct process_tree tree = make(&(struct view_options){0});
    ck_assert_int_eq(tree.rows[0].unsampled_children_ns, 0);
    process_tree_release(&tree);
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("process_tree", 10, children_follow_their_parents, what_short_children_used,
           what_grandchildren_used_is_known)
