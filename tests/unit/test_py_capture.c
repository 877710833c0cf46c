#include "pyframes/py_capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pyframes/py_layout.h"
#include "pyframes/py_states.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

/* A runtime with two interpreters; their thread states at STATES, one every STATE_BYTES. */
enum {
    BASE = 0x100000,
    INTERPS = BASE + 0x1000,
    STATES = BASE + 0x2000,
    STATE_BYTES = 0x200,
    TCBS = BASE + 0x8000, /* ≤ 3.10: what thread_id points to */
    TCB_BYTES = 0x400,
    ARENA_BYTES = 0x10000,
    GLIBC_TID = 0x2d0,
    MUSL_TID = 0x30,
};

struct fake {
    struct bytes_mem memory;
    uint8_t bytes[ARENA_BYTES];
    struct py_runtime rt;
    struct py_capture *capture;
};

static void put(struct fake *f, uint64_t addr, uint64_t value)
{
    memcpy(f->bytes + (addr - BASE), &value, sizeof value);
}

static uint64_t state_addr(size_t i)
{
    return STATES + i * STATE_BYTES;
}

static uint64_t interp_addr(size_t i)
{
    return INTERPS + i * 0x400;
}

static uint64_t thread_id(size_t thread)
{
    return TCBS + thread * TCB_BYTES;
}

/* State I belongs to thread THREAD, whose tid is 100 + THREAD. */
static void put_state(struct fake *f, size_t i, size_t interp, size_t thread, uint64_t next)
{
    const struct py_layout *l = &f->rt.layout;
    put(f, state_addr(i) + l->thread.next, next);
    put(f, state_addr(i) + l->thread.interp, interp_addr(interp));
    put(f, state_addr(i) + l->thread.thread_id, thread_id(thread));
    if (l->thread.native_id != PY_ABSENT)
        put(f, state_addr(i) + l->thread.native_id, 100 + thread);
    put(f, thread_id(thread) + GLIBC_TID, 100 + thread);
}

/* Interpreter 0: states 2, 1, 0 of threads 2, 1, 0; interpreter 1: state 3 of thread 1. */
static struct fake *fake_new(uint32_t minor)
{
    struct fake *f = calloc(1, sizeof *f);
    f->memory = bytes_mem_of(BASE, f->bytes, sizeof f->bytes);
    f->rt = (struct py_runtime){.layout = *py_layout_of(minor), .addr = BASE};
    /* interp.threads.head lies far down in real ones. */
    f->rt.layout.interp.gil = f->rt.layout.interp.gil == PY_ABSENT ? PY_ABSENT : 0x300;
    put(f, BASE + f->rt.layout.runtime.interpreters, interp_addr(0));
    put(f, interp_addr(0) + f->rt.layout.interp.next, interp_addr(1));
    put(f, interp_addr(0) + f->rt.layout.interp.threads, state_addr(2));
    put(f, interp_addr(1) + f->rt.layout.interp.threads, state_addr(3));
    for (size_t i = 0; i < 3; i++)
        put_state(f, i, 0, i, i ? state_addr(i - 1) : 0);
    put_state(f, 3, 1, 1, 0);
    f->capture = py_capture_new(&f->rt, NULL);
    return f;
}

static void fake_free(struct fake *f)
{
    py_capture_free(f->capture);
    free(f);
}

static void tick(struct fake *f)
{
    while (py_capture_tick(f->capture, &f->memory.mem))
        ;
}

static uint32_t find(struct fake *f, pid_t tid, uint64_t fs_base, uint64_t *states)
{
    bool incomplete = false;
    uint32_t n =
        py_capture_thread(f->capture, &f->memory.mem, tid, fs_base, states, 4, &incomplete);
    ck_assert(!incomplete);
    return n;
}

START_TEST(threads_are_found_by_tid_and_by_fs_base)
{
    for (uint32_t minor = 7; minor <= 12; minor++) {
        struct fake *f = fake_new(minor);
        uint64_t states[4];
        ck_assert_uint_eq(find(f, 100, 0, states), 0); /* before the first tick */
        tick(f);
        ck_assert_uint_eq(find(f, 100, 0, states), 1);
        ck_assert_uint_eq(states[0], state_addr(0));
        ck_assert_uint_eq(find(f, 999, thread_id(2), states), 1);
        ck_assert_uint_eq(states[0], state_addr(2));
        ck_assert_uint_eq(find(f, 101, 0, states), 2);
        ck_assert_uint_eq(states[0] + states[1], state_addr(1) + state_addr(3));
        ck_assert_uint_eq(find(f, 103, 0, states), 0);
        ck_assert_uint_eq(find(f, 100, thread_id(9), states), 0);
        fake_free(f);
    }
}
END_TEST

START_TEST(musl_keeps_the_tid_elsewhere)
{
    struct fake *f = fake_new(9);
    uint64_t states[4];
    put(f, thread_id(0) + GLIBC_TID, UINT64_C(0x7f0012345678));
    put(f, thread_id(0) + MUSL_TID, 100);
    tick(f);
    ck_assert_uint_eq(find(f, 100, 0, states), 1);
    fake_free(f);
}
END_TEST

START_TEST(an_unchanged_list_is_not_read_again)
{
    struct fake *f = fake_new(11);
    uint64_t states[4];
    tick(f);
    size_t first = f->memory.reads;
    f->memory.reads = 0;
    tick(f);
    ck_assert_uint_lt(f->memory.reads, first);
    ck_assert_uint_eq(f->memory.reads,
                      7); /* head; per interpreter: threads, next, the first's ids */
    put_state(f, 4, 0, 4, state_addr(2));
    put(f, interp_addr(0) + f->rt.layout.interp.threads, state_addr(4));
    tick(f);
    ck_assert_uint_eq(find(f, 104, 0, states), 1);
    fake_free(f);
}
END_TEST

/* If any of the words that are compared differs, all lists are read again, once. */
START_TEST(every_change_of_a_head_is_noticed)
{
    struct fake *f = fake_new(12);
    const struct py_layout *l = &f->rt.layout;
    const struct {
        uint64_t at, value;
    } changes[] = {
        {state_addr(2) + l->thread.thread_id, thread_id(5)},
        {state_addr(2) + l->thread.native_id, 105},
        {interp_addr(0) + l->interp.threads, state_addr(1)},
        {interp_addr(1) + l->interp.threads, 0},
        {interp_addr(0) + l->interp.next, 0},
        {BASE + l->runtime.interpreters, interp_addr(1)},
        {BASE + l->runtime.interpreters, 0},
        {BASE + l->runtime.interpreters, interp_addr(0)},
    };
    tick(f);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        put(f, changes[i].at, changes[i].value);
        f->memory.reads = 0;
        tick(f);
        size_t changed = f->memory.reads;
        f->memory.reads = 0;
        tick(f);
        ck_assert_msg(changed > f->memory.reads, "change %zu: %zu reads, then %zu", i, changed,
                      f->memory.reads);
    }
    fake_free(f);
}
END_TEST

/* ≤ 3.10 know no tids.  A new thread has the pthread_t and the state's address of one that ended.
 */
START_TEST(a_thread_in_the_place_of_another_is_found)
{
    struct fake *f = fake_new(10);
    uint64_t states[4];
    tick(f);
    ck_assert_uint_eq(find(f, 102, 0, states), 1);
    uint32_t tid = 150;
    memcpy(f->bytes + (thread_id(2) + GLIBC_TID - BASE), &tid, sizeof tid);
    tick(f);
    ck_assert_uint_eq(find(f, 150, 0, states), 1);
    ck_assert_uint_eq(states[0], state_addr(2));
    ck_assert_uint_eq(find(f, 102, 0, states), 0);
    fake_free(f);
}
END_TEST

/* A state whose thread has not begun is not counted; it is its own next one. */
START_TEST(a_list_without_end_ends)
{
    struct fake *f = fake_new(12);
    const struct py_layout *l = &f->rt.layout;
    put(f, state_addr(2) + l->thread.thread_id, 0);
    put(f, state_addr(2) + l->thread.next, state_addr(2));
    tick(f);
    ck_assert_uint_gt(f->memory.reads, 1000);
    fake_free(f);
}
END_TEST

/* A new thread writes its ids when it first runs, perhaps when newer ones stand before it. */
START_TEST(a_thread_that_begins_later_is_found)
{
    struct fake *f = fake_new(12);
    uint64_t states[4];
    put(f, state_addr(1) + f->rt.layout.thread.thread_id, 0);
    put(f, state_addr(1) + f->rt.layout.thread.native_id, 0);
    tick(f);
    ck_assert_uint_eq(find(f, 101, 0, states), 1);
    put_state(f, 1, 0, 1, state_addr(0));
    tick(f);
    ck_assert_uint_eq(find(f, 101, 0, states), 2);
    fake_free(f);
}
END_TEST

/* The same, however late it begins and however many stand before it. */
START_TEST(a_thread_that_begins_much_later_is_found)
{
    struct fake *f = fake_new(12);
    uint64_t states[4];
    put(f, state_addr(1) + f->rt.layout.thread.thread_id, 0);
    put(f, state_addr(1) + f->rt.layout.thread.native_id, 0);
    size_t readings = 0;
    for (int i = 0; i < 1000; i++) {
        f->memory.reads = 0;
        tick(f);
        readings += f->memory.reads > 7;
    }
    ck_assert_uint_lt(readings, 30); /* not at every tick meanwhile */
    put_state(f, 1, 0, 1, state_addr(0));
    for (int i = 0; i < 128; i++)
        tick(f);
    ck_assert_uint_eq(find(f, 101, 0, states), 2);
    fake_free(f);
}
END_TEST

/* A thread that calls Python from C has its state only for that time. */
START_TEST(states_that_came_since_the_tick_are_found)
{
    for (uint32_t minor = 7; minor <= 12; minor++) {
        struct fake *f = fake_new(minor);
        uint64_t head = interp_addr(0) + f->rt.layout.interp.threads;
        uint64_t states[4];
        tick(f);
        put_state(f, 4, 0, 4, state_addr(2));
        put_state(f, 5, 0, 5, state_addr(4));
        put(f, head, state_addr(5));
        ck_assert_uint_eq(find(f, 999, thread_id(4), states), 1);
        ck_assert_uint_eq(states[0], state_addr(4));
        ck_assert_uint_eq(find(f, 105, 0, states), 1);
        ck_assert_uint_eq(states[0], state_addr(5));
        /* What was there is not read again; another in its place is. */
        ck_assert_uint_eq(find(f, 106, 0, states), 0);
        put_state(f, 2, 0, 6, state_addr(1));
        ck_assert_uint_eq(find(f, 999, thread_id(6), states), 1);
        ck_assert_uint_eq(states[0], state_addr(2));
        /* And what is behind one that was freed and made anew where it was. */
        put_state(f, 1, 0, 1, state_addr(6));
        put_state(f, 6, 0, 7, state_addr(0));
        ck_assert_uint_eq(find(f, 999, thread_id(7), states), 1);
        ck_assert_uint_eq(states[0], state_addr(6));
        fake_free(f);
    }
}
END_TEST

/* The table still has the old state, whose memory is unchanged.  It has no frame, so the capture
 * looks for a new one. */
START_TEST(a_new_state_is_preferred_to_one_without_frames)
{
    struct fake *f = fake_new(12);
    uint64_t states[4];
    tick(f);
    put_state(f, 4, 0, 2, state_addr(1));
    put(f, interp_addr(0) + f->rt.layout.interp.threads, state_addr(4));
    ck_assert_uint_eq(find(f, 102, 0, states), 1);
    ck_assert_uint_eq(states[0], state_addr(4));
    fake_free(f);
}
END_TEST

/* The capture of a thread that runs no Python reads two words of each list, however long it is. */
START_TEST(threads_without_python_cost_few_reads)
{
    enum { MANY = 20 };
    struct fake *f = fake_new(12);
    uint64_t states[4];
    for (size_t i = 4; i < MANY; i++)
        put_state(f, i, 0, i, i == 4 ? state_addr(2) : state_addr(i - 1));
    put(f, interp_addr(0) + f->rt.layout.interp.threads, state_addr(MANY - 1));
    tick(f);
    f->memory.reads = 0;
    ck_assert_uint_eq(find(f, 999, thread_id(MANY + 1), states), 0);
    ck_assert_uint_eq(f->memory.reads, 4);
    fake_free(f);
}
END_TEST

/* A thread has many states: those that run something count. */
START_TEST(states_without_frames_make_room)
{
    enum { MANY = 20, MAX = 4, RUN = 4 };
    static const uint32_t minors[] = {9, 10, 11, 12};
    for (size_t m = 0; m < sizeof minors / sizeof *minors; m++) {
        struct fake *f = fake_new(minors[m]);
        const struct py_layout *l = &f->rt.layout;
        struct py_states *s = py_states_new(&f->rt);
        uint32_t top = l->thread.frame != PY_ABSENT ? l->thread.frame : l->thread.cframe;
        uint64_t states[MAX], sum = 0, wanted = 0;
        bool incomplete = false;
        for (size_t i = 4; i < MANY; i++) {
            bool runs = i % RUN == 0;
            put_state(f, i, 0, 9, i == 4 ? state_addr(2) : state_addr(i - 1));
            put(f, state_addr(i) + top,
                runs             ? BASE
                : minors[m] > 10 ? state_addr(i) + l->thread.root_cframe
                                 : 0);
            wanted += runs ? state_addr(i) : 0;
        }
        put(f, interp_addr(0) + l->interp.threads, state_addr(MANY - 1));
        while (py_states_tick(s, &f->memory.mem))
            ;
        ck_assert_uint_eq(py_states_find(s, &f->memory.mem, 109, 0, states, MAX, &incomplete), MAX);
        for (size_t i = 0; i < MAX; i++)
            sum += states[i];
        ck_assert_uint_eq(sum, wanted);
        ck_assert(!incomplete);
        put(f, state_addr(5) + top, BASE);
        ck_assert_uint_eq(py_states_find(s, &f->memory.mem, 109, 0, states, MAX, &incomplete), MAX);
        ck_assert(incomplete);
        py_states_free(s);
        fake_free(f);
    }
}
END_TEST

/* New states are any number and lead back to themselves. */
START_TEST(new_states_are_followed_for_a_while)
{
    struct fake *f = fake_new(12);
    uint64_t states[4];
    tick(f);
    put_state(f, 4, 0, 4, state_addr(4));
    put(f, interp_addr(0) + f->rt.layout.interp.threads, state_addr(4));
    f->memory.reads = 0;
    ck_assert_uint_eq(find(f, 999, thread_id(9), states), 0);
    ck_assert_uint_lt(f->memory.reads, 40);
    fake_free(f);
}
END_TEST

/* A state that was freed, or is another thread's now, is not used, and the lists are read again. */
START_TEST(reused_states_are_not_believed)
{
    struct fake *f = fake_new(11);
    uint64_t states[4];
    tick(f);
    put_state(f, 0, 0, 5, 0);
    ck_assert_uint_eq(find(f, 100, 0, states), 0);
    tick(f);
    ck_assert_uint_eq(find(f, 105, 0, states), 1);
    ck_assert_uint_eq(states[0], state_addr(0));
    fake_free(f);
}
END_TEST

START_TEST(foreign_states_come_before_the_own_one)
{
    struct fake *f = fake_new(9);
    uint64_t states[4];
    tick(f);
    py_capture_add_foreign(f->capture, state_addr(2), state_addr(0));
    py_capture_add_foreign(f->capture, state_addr(2), state_addr(0));
    ck_assert_uint_eq(find(f, 102, 0, states), 2);
    ck_assert_uint_eq(states[0], state_addr(0));
    ck_assert_uint_eq(states[1], state_addr(2));
    py_capture_add_foreign(f->capture, state_addr(2), state_addr(9)); /* there is no such state */
    py_capture_add_foreign(f->capture, state_addr(2), state_addr(2));
    ck_assert_uint_eq(find(f, 102, 0, states), 2);
    py_capture_add_foreign(f->capture, state_addr(2), state_addr(3));
    ck_assert_uint_eq(find(f, 102, 0, states), 3);
    ck_assert_uint_eq(find(f, 100, 0, states), 1);
    bool incomplete = false;
    ck_assert_uint_eq(py_capture_thread(f->capture, &f->memory.mem, 102, 0, states, 2, &incomplete),
                      2);
    py_capture_remove_foreign(f->capture, state_addr(2), state_addr(0));
    ck_assert_uint_eq(find(f, 102, 0, states), 2);
    ck_assert_uint_eq(states[0], state_addr(3));
    fake_free(f);
}
END_TEST

/* The state's owner ends it. */
START_TEST(a_foreign_state_that_is_gone_is_left_out)
{
    struct fake *f = fake_new(9);
    uint64_t states[4];
    tick(f);
    py_capture_add_foreign(f->capture, state_addr(2), state_addr(3));
    ck_assert_uint_eq(find(f, 102, 0, states), 2);
    put(f, interp_addr(1) + f->rt.layout.interp.threads, 0);
    tick(f);
    ck_assert_uint_eq(find(f, 102, 0, states), 1);
    ck_assert_uint_eq(states[0], state_addr(2));
    fake_free(f);
}
END_TEST

START_TEST(broken_lists_end)
{
    struct fake *f = fake_new(10);
    uint64_t states[4];
    put(f, state_addr(0) + f->rt.layout.thread.next, state_addr(2));
    put(f, interp_addr(1) + f->rt.layout.interp.next, interp_addr(0));
    tick(f);
    ck_assert_uint_ge(find(f, 100, 0, states), 1);
    put(f, state_addr(0) + f->rt.layout.thread.next, 8);
    put(f, BASE + f->rt.layout.runtime.interpreters, 8);
    tick(f);
    ck_assert_uint_eq(find(f, 100, 0, states), 0);
    fake_free(f);
}
END_TEST

/* The data stack's links are any words: reading ahead is bounded and changes nothing. */
START_TEST(garbage_data_stacks_are_survived)
{
    static const uint64_t garbage[][2] = {
        {0, 0}, {BASE, BASE + 32}, {BASE, UINT64_MAX}, {8, 4096}, {UINT64_MAX - 8, UINT64_MAX}};
    struct fake *f = fake_new(12);
    uint64_t states[4];
    tick(f);
    put(f, BASE, BASE); /* a chunk that comes before itself */
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        put(f, state_addr(0) + f->rt.layout.thread.datastack, garbage[i][0]);
        put(f, state_addr(0) + f->rt.layout.thread.datastack + 8, garbage[i][1]);
        f->memory.reads = 0;
        ck_assert_uint_eq(find(f, 100, 0, states), 1);
        ck_assert_uint_lt(f->memory.reads, 256);
    }
    fake_free(f);
}
END_TEST

START_TEST(every_read_may_fail)
{
    struct fake *f = fake_new(12);
    uint64_t states[4];
    for (f->memory.fail_at = 0; f->memory.reads = 0, tick(f), f->memory.reads > f->memory.fail_at;
         f->memory.fail_at++)
        ;
    for (f->memory.fail_at = 0;; f->memory.fail_at++) {
        bool incomplete = false;
        f->memory.reads = 0;
        uint32_t n = py_capture_thread(f->capture, &f->memory.mem, 100, 0, states, 4, &incomplete);
        ck_assert_uint_le(n, 1);
        if (f->memory.reads <= f->memory.fail_at)
            break;
    }
    fake_free(f);
}
END_TEST

CHECK_MAIN("py_capture", 20, threads_are_found_by_tid_and_by_fs_base, musl_keeps_the_tid_elsewhere,
           an_unchanged_list_is_not_read_again, every_change_of_a_head_is_noticed,
           a_thread_in_the_place_of_another_is_found, a_list_without_end_ends,
           a_thread_that_begins_later_is_found, a_thread_that_begins_much_later_is_found,
           states_that_came_since_the_tick_are_found,
           a_new_state_is_preferred_to_one_without_frames, threads_without_python_cost_few_reads,
           states_without_frames_make_room, new_states_are_followed_for_a_while,
           reused_states_are_not_believed, foreign_states_come_before_the_own_one,
           a_foreign_state_that_is_gone_is_left_out, broken_lists_end,
           garbage_data_stacks_are_survived, every_read_may_fail)
