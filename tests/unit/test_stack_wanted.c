#include "worker/stack_wanted.h"

#include <string.h>

#include "tests/support/check_main.h"

enum { TASK = 7, KIB = 1024, MAX = 32 };
static const uint64_t SP = 0x7ffc00012340;

static struct feedback feedback;
static struct native_frame frames[MAX];
static struct native_stack native;
static struct snapshot snapshot;

/* A stack of N frames of so many bytes each. */
static void stack_of(size_t n, const uint64_t *sizes, enum unwind_end end)
{
    uint64_t sp = SP;
    memset(frames, 0, sizeof frames);
    for (size_t i = 0; i < n; i++) {
        frames[i].sp = sp;
        frames[i].cfa = sp += sizes[i];
        frames[i].trust = FRAME_EXACT;
    }
    native = (struct native_stack){frames, n, MAX, end, .stack_needed = sp - SP};
    snapshot =
        (struct snapshot){.stack_start = SP, .stack_bytes = (uint64_t)64 * KIB, .stack_cut = true};
}

static void tell(void)
{
    stack_wanted_send(&feedback, TASK, &native, &snapshot);
}

static bool covers(const struct stack_range *parts, size_t n, uint64_t from, uint64_t end)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i].addr <= from && end <= parts[i].addr + parts[i].len)
            return true;
    return false;
}

static void set_up(void)
{
    memset(&feedback, 0, sizeof feedback);
}

START_TEST(small_frames_are_read_in_one_piece)
{
    const uint64_t sizes[] = {100, 20 * KIB, 60 * KIB, 100};
    stack_of(4, sizes, UNWIND_DONE);
    tell();
    ck_assert_uint_eq(feedback_read_bytes(&feedback, TASK), 0);
    ck_assert_uint_ge(feedback_stack(&feedback, TASK), 100 + 80 * KIB + 100);
    ck_assert_uint_le(feedback_stack(&feedback, TASK), 112 * KIB);
}
END_TEST

START_TEST(above_large_frames_only_their_tops_are_read)
{
    const uint64_t sizes[] = {100, 541 * KIB, 541 * KIB, 300, 5000};
    struct stack_range parts[FEEDBACK_RANGES];
    stack_of(5, sizes, UNWIND_DONE);
    tell();
    uint32_t near = feedback_read_bytes(&feedback, TASK);
    size_t n = feedback_ranges(&feedback, TASK, parts);
    ck_assert_uint_ge(near, 100);
    ck_assert_uint_le(near, 64 * KIB);
    ck_assert_uint_eq(n, 2);
    ck_assert(covers(parts, n, frames[1].cfa - 64, frames[1].cfa));
    ck_assert(covers(parts, n, frames[2].cfa - 64, frames[4].cfa));
    ck_assert_uint_lt(parts[0].len + parts[1].len, 10 * KIB);
}
END_TEST

START_TEST(each_cut_stack_tells_of_one_frame_more)
{
    const uint64_t sizes[] = {100, 541 * KIB, 541 * KIB, 541 * KIB};
    struct stack_range parts[FEEDBACK_RANGES];
    for (size_t n = 2; n <= 4; n++) {
        stack_of(n, sizes, UNWIND_STACK_CUT);
        tell();
        size_t n_parts = feedback_ranges(&feedback, TASK, parts);
        ck_assert_uint_eq(n_parts, n - 1);
        /* and of what lies above it */
        ck_assert(
            covers(parts, n_parts, frames[n - 1].cfa - 64, frames[n - 1].cfa + (uint64_t)8 * KIB));
    }
}
END_TEST

START_TEST(what_is_cut_within_a_part_doubles_it)
{
    const uint64_t sizes[] = {100, 541 * KIB, 3000, 30000};
    struct stack_range parts[FEEDBACK_RANGES];
    stack_of(4, sizes, UNWIND_STACK_CUT);
    tell();
    size_t n = feedback_ranges(&feedback, TASK, parts);
    ck_assert_uint_eq(n, 1);
    ck_assert(covers(parts, n, frames[1].cfa - 64, frames[3].cfa + 30000));
}
END_TEST

START_TEST(what_is_cut_at_sp_doubles_that)
{
    const uint64_t large[] = {100, 541 * KIB};
    const uint64_t many[] = {60 * KIB, 60 * KIB};
    stack_of(2, large, UNWIND_DONE);
    tell();
    stack_of(2, many, UNWIND_STACK_CUT);
    tell();
    ck_assert_uint_ge(feedback_read_bytes(&feedback, TASK), 240 * KIB);
}
END_TEST

START_TEST(a_part_stays_for_some_stacks_that_do_not_need_it)
{
    const uint64_t large[] = {100, 541 * KIB, 300};
    const uint64_t small[] = {100, 300};
    struct stack_range parts[FEEDBACK_RANGES];
    int stayed = 0;
    stack_of(3, large, UNWIND_DONE);
    tell();
    stack_of(2, small, UNWIND_DONE);
    for (; stayed < 1000 && feedback_read_bytes(&feedback, TASK); stayed++) {
        ck_assert_uint_eq(feedback_ranges(&feedback, TASK, parts), 1);
        tell();
    }
    ck_assert_int_gt(stayed, 50);
    ck_assert_int_lt(stayed, 256);
}
END_TEST

START_TEST(two_chains_that_alternate_keep_both_parts)
{
    const uint64_t one[] = {100, 541 * KIB, 300};
    const uint64_t other[] = {100, 541 * KIB, 9000};
    struct stack_range parts[FEEDBACK_RANGES];
    for (int i = 0; i < 20; i++) {
        stack_of(3, i % 2 ? one : other, UNWIND_DONE);
        tell();
        size_t n = feedback_ranges(&feedback, TASK, parts);
        ck_assert_uint_eq(n, 1);
        ck_assert(covers(parts, n, frames[1].cfa, SP + 100 + (uint64_t)541 * KIB + 9000));
    }
}
END_TEST

START_TEST(more_parts_than_fit_are_read_in_one_piece)
{
    uint64_t sizes[FEEDBACK_RANGES + 2];
    for (size_t i = 0; i < FEEDBACK_RANGES + 2; i++)
        sizes[i] = (uint64_t)100 * KIB;
    stack_of(FEEDBACK_RANGES, sizes, UNWIND_DONE);
    tell();
    ck_assert_uint_gt(feedback_read_bytes(&feedback, TASK), 0);
    stack_of(FEEDBACK_RANGES + 2, sizes, UNWIND_DONE);
    tell();
    ck_assert_uint_eq(feedback_read_bytes(&feedback, TASK), 0);
}
END_TEST

/* Frames that lead anywhere: to no memory, backwards, around the end of the address space. */
START_TEST(frames_out_of_order_do_no_harm)
{
    const uint64_t sizes[] = {100, 541 * KIB, 300, 300, 300};
    struct stack_range parts[FEEDBACK_RANGES];
    stack_of(5, sizes, UNWIND_STACK_CUT);
    frames[1].cfa = UINT64_MAX;
    frames[2].sp = 0;
    frames[3].sp = UINT64_MAX - 8;
    frames[3].cfa = UINT64_MAX;
    frames[4].cfa = frames[4].sp;
    native.stack_needed = UINT64_MAX - SP;
    tell();
    size_t n = feedback_ranges(&feedback, TASK, parts);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_le(parts[i].len, 256 * KIB);
    stack_of(0, sizes, UNWIND_DONE);
    tell();
}
END_TEST

START_TEST(another_task_in_the_slot_is_not_answered)
{
    const uint64_t sizes[] = {100, 541 * KIB, 300};
    stack_of(3, sizes, UNWIND_DONE);
    tell();
    ck_assert_uint_gt(feedback_read_bytes(&feedback, TASK), 0);
    ck_assert_uint_eq(feedback_read_bytes(&feedback, TASK + FEEDBACK_SLOTS), 0);
}
END_TEST

CHECK_MAIN_WITH("stack_wanted", 20, set_up, NULL, small_frames_are_read_in_one_piece,
                above_large_frames_only_their_tops_are_read, each_cut_stack_tells_of_one_frame_more,
                what_is_cut_within_a_part_doubles_it, what_is_cut_at_sp_doubles_that,
                a_part_stays_for_some_stacks_that_do_not_need_it,
                two_chains_that_alternate_keep_both_parts,
                more_parts_than_fit_are_read_in_one_piece, frames_out_of_order_do_no_harm,
                another_task_in_the_slot_is_not_answered)
