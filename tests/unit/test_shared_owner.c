/* Who has a lock in memory that processes share, by its word: which the program writes. */
#include "waits/shared_owner.h"

#include <unistd.h>

#include "target/proc.h"
#include "tests/support/check_main.h"

static struct maps maps;
static const struct mapping *code; /* of this program's file */

static void setup(void)
{
    maps = (struct maps){0};
    ck_assert_int_eq(maps_load(&maps, getpid()), 0);
    code = maps_find(&maps, (uintptr_t)&setup);
    ck_assert_ptr_nonnull(code);
}

static void teardown(void)
{
    maps_release(&maps);
}

START_TEST(a_thread_whose_process_has_the_file_is_its_owner)
{
    struct shared_owners owners = {.n = 0};
    struct mapping other = *code;
    other.inode++;
    ck_assert_int_eq(shared_owner_find(&owners, getpid(), code, code->file_offset), getpid());
    ck_assert_int_eq(shared_owner_find(&owners, getpid(), &other, code->file_offset), 0);
    ck_assert_int_eq(shared_owner_find(&owners, getpid(), code, UINT64_C(1) << 40), 0);
    shared_owners_release(&owners);
}
END_TEST

START_TEST(words_that_change_all_the_time_cost_a_bounded_number_of_looks)
{
    enum { WORDS = 10000, NO_TID = 1 << 22 };
    struct shared_owners owners = {.n = 0};
    for (pid_t i = 0; i < WORDS; i++)
        ck_assert_int_eq(shared_owner_find(&owners, NO_TID + i, code, 0), 0);
    ck_assert_uint_le(owners.n, SHARED_OWNERS_MOST);
    shared_owners_release(&owners);
}
END_TEST

CHECK_MAIN_WITH("shared_owner", 20, setup, teardown,
                a_thread_whose_process_has_the_file_is_its_owner,
                words_that_change_all_the_time_cost_a_bounded_number_of_looks)
