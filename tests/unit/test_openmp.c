/* Which threads count for a process's OpenMP runtimes. */
#include "base/clock.h"
#include "summary/openmp.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static void add_worker(struct profile_builder *b, pid_t tid, uint32_t folded)
{
    thread_id id = builder_thread(b, tid, "worker");
    struct profile_thread *t = profile_get_thread(b->p, id);
    t->n_folded = folded;
    t->lived_ns = folded ? NS_PER_S : 0;
    builder_run(b, id, "gomp_thread_start!libgomp.so.1 > work!app", 1000, 1000);
}

/* A file of one rank, say, and all that is said in it. */
START_TEST(workers_of_processes_that_are_not_shown_do_not_count)
{
    static const bool second[] = {false, false, true};
    const struct view_options options = {.processes = second};
    struct profile_builder b = builder_start(10, "first");
    struct thread_summaries s;
    struct openmp_pools pools;
    add_worker(&b, 11, 0);
    builder_process(&b, 20, "second", NULL);
    add_worker(&b, 21, 0);
    add_worker(&b, 22, 40);
    profile_end(b.p, NS_PER_S);
    struct view *v = view_new(b.p, &options);
    thread_summaries_init(&s, b.p, v);
    openmp_pools_init(&pools, &s, v);
    ck_assert_uint_eq(pools.n, 1);
    ck_assert_uint_eq(pools.items[0].process.ix, 2);
    ck_assert_uint_eq(pools.items[0].threads, 41);
    openmp_pools_release(&pools);
    thread_summaries_release(&s);
    view_free(v);
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("openmp", 4, workers_of_processes_that_are_not_shown_do_not_count)
