#include "summary/wait_name.h"

#include "tests/support/check_main.h"

static const char *const parts[] = {"waitfor", "lock$", "barrier$", NULL};

START_TEST(the_last_component_counts_however_its_words_are_joined)
{
    static const char *const names[] = {
        "wait_for_baton",
        "FileLock::waitForFree",
        "Lock.wait_for",
        "make.<locals>.wait_for",
        "Queue<int, std::mutex>::lock",
        "<a::Spin<T> as b::Lock>::lock",
        "(anonymous namespace)::barrier",
        "SpinLock::lock(int)",
        "spin_lock",
        "db_lock",
        "asyncLock",
        "gomp_barrier",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(wait_name_has(names[i], parts), "%s", names[i]);
}
END_TEST

START_TEST(other_words_are_no_such_parts)
{
    static const char *const names[] = {
        "read_clock",
        "next_block",
        "Mutex::unlock",
        "FileLock::open",
        "lock_free_push",
        "barrier_price",
        "wait_for::step",
        "step(wait_for)",
        "step<wait_for>",
        "",
        "<",
        "(",
        "((((<<<<",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(!wait_name_has(names[i], parts), "%s", names[i]);
}
END_TEST

START_TEST(a_word_may_have_to_be_whole)
{
    static const char *const whole[] = {"_waitfor_", "_spinlock$", NULL};
    static const char *const are[] = {"wait_for_all", "Pool::waitForAll", "gate_wait_for",
                                      "take_spin_lock"};
    static const char *const are_not[] = {"await_for", "wait_format", "spin_locks", "respin_lock"};
    for (size_t i = 0; i < sizeof are / sizeof *are; i++) {
        ck_assert_msg(wait_name_has(are[i], whole), "%s", are[i]);
        ck_assert_msg(!wait_name_has(are_not[i], whole), "%s", are_not[i]);
    }
}
END_TEST

CHECK_MAIN("wait_name", 5, a_word_may_have_to_be_whole,
           the_last_component_counts_however_its_words_are_joined, other_words_are_no_such_parts)
