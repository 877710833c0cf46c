#include "summary/state_words.h"

#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

static void assert_words(struct text *out, const char *words)
{
    ck_assert_str_eq(text_str(out), words);
    text_release(out);
}

START_TEST(a_call_has_its_object_and_where_that_lies)
{
    struct profile_builder b = builder_start(10, "app");
    struct text out = {0};
    const struct profile_mount nfs = {.type = profile_string(b.p, "nfs4"),
                                      .source = profile_string(b.p, "nfs01:/export"),
                                      .served = true};
    struct state_call c = {
        .name = "read", .object = "/data/x", .mount = &nfs, .profile = b.p, .most_columns = 48};
    state_add_call(&out, &c);
    assert_words(&out, "in read of /data/x (nfs4 nfs01:/export)");
    c.object = "/very/long/path";
    c.mount = NULL;
    c.most_columns = 10;
    state_add_call(&out, &c);
    assert_words(&out, "in read of …long/path");
    state_add_call(&out, &(struct state_call){.name = "epoll_wait", .object = "eventpoll"});
    assert_words(&out, "in epoll_wait");
    profile_free(b.p);
}
END_TEST

/* select() of nothing is one, too. */
START_TEST(a_call_that_only_sleeps_is_a_sleep)
{
    struct text out = {0};
    state_add_call(&out, &(struct state_call){.name = "clock_nanosleep"});
    assert_words(&out, "sleeps (clock_nanosleep)");
    state_add_call(&out, &(struct state_call){.name = "select", .object = "sleep"});
    assert_words(&out, "sleeps (select)");
}
END_TEST

START_TEST(who_is_in_no_call_is_told_by_the_cpu)
{
    struct text out = {0};
    state_add_on_cpu(&out, false, SPIN_NONE);
    assert_words(&out, "runs");
    state_add_on_cpu(&out, false, SPIN_GPU);
    assert_words(&out, "spins for the GPU");
    state_add_on_cpu(&out, true, SPIN_GPU);
    assert_words(&out, "waits for a CPU");
    state_add_off_cpu(&out, true);
    assert_words(&out, "in a page fault");
}
END_TEST

START_TEST(a_wait_has_its_thing_and_its_holder)
{
    struct profile_builder b = builder_start(10, "app");
    struct text out = {0};
    struct wait_side side = {.thing = THING_MUTEX,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = 10, .tid = 12}};
    state_add_wait(&out, b.p, &side, 10, FUTEX_LOCK, false);
    state_add_holder(&out, b.p, &side.blocker, false, "12 refresh");
    assert_words(&out, "waits for a mutex, held by 12 refresh");
    state_add_holder(&out, b.p, &side.blocker, true, "12 refresh");
    assert_words(&out, ", held by itself");
    side = (struct wait_side){.thing = THING_UNKNOWN};
    state_add_wait(&out, b.p, &side, 10, FUTEX_SEMAPHORE, false);
    state_add_holder(&out, b.p, &side.blocker, false, "");
    assert_words(&out, "waits for a semaphore");
    state_add_wait(&out, b.p, &side, 10, FUTEX_CONDITION, true);
    assert_words(&out, "waits to be notified");
    profile_free(b.p);
}
END_TEST

CHECK_MAIN("state_words", 20, a_call_has_its_object_and_where_that_lies,
           a_call_that_only_sleeps_is_a_sleep, who_is_in_no_call_is_told_by_the_cpu,
           a_wait_has_its_thing_and_its_holder)
