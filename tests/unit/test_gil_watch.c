#include "waits/gil_watch.h"

#include "tests/support/check_main.h"

static const uint64_t STATE = 0x55f200000140, OTHER_STATE = 0x55f200000240;

static void see(struct gil_watch *w, uint32_t process, uint32_t thread, uint64_t state)
{
    const uint64_t states[SNAPSHOT_HOOK_WORDS] = {state};
    gil_watch_see(w, process, (thread_id){thread}, states);
}

/* 0: nobody. */
static uint32_t who_runs(const struct gil_watch *w, uint32_t process, uint64_t state)
{
    thread_id thread = {0};
    return gil_watch_thread(w, process, state, &thread) ? thread.ix : 0;
}

/* Forked workers have their states at the same addresses. */
START_TEST(a_state_is_of_its_process)
{
    struct gil_watch w = {0};
    see(&w, 0, 1, STATE);
    see(&w, 1, 2, STATE);
    see(&w, 1, 3, OTHER_STATE);
    ck_assert_uint_eq(who_runs(&w, 0, STATE), 1);
    ck_assert_uint_eq(who_runs(&w, 1, STATE), 2);
    ck_assert_uint_eq(who_runs(&w, 1, OTHER_STATE), 3);
    ck_assert_uint_eq(who_runs(&w, 0, OTHER_STATE), 0);
    ck_assert_uint_eq(who_runs(&w, 0, 0), 0);
    gil_watch_release(&w);
}
END_TEST

START_TEST(who_was_seen_last_runs_it)
{
    struct gil_watch w = {0};
    see(&w, 0, 1, STATE);
    see(&w, 0, 4, STATE);
    ck_assert_uint_eq(who_runs(&w, 0, STATE), 4);
    gil_watch_release(&w);
}
END_TEST

CHECK_MAIN("gil_watch", 20, a_state_is_of_its_process, who_was_seen_last_runs_it)
