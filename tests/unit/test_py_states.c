#include <errno.h>
#include <string.h>

#include "pyframes/py_capture.h"
#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"

enum { BASE = 0x100000, INTERPS = BASE + 0x1000, STATES = BASE + 0x2000, STATE_BYTES = 0x200 };

static uint64_t state_addr(size_t i)
{
    return STATES + i * STATE_BYTES;
}

/* The interpreter INTERP with the states N, N − 1, … 1, of threads with these tids, or all of
 * THREAD.  The list begins with INTERPS; if that is another interpreter, it is its own next one. */
struct long_list {
    struct mem mem;
    struct py_runtime rt;
    size_t n, reads;
    uint64_t interp, thread;
};

static uint64_t long_word(const struct long_list *f, uint64_t addr)
{
    const struct py_layout *l = &f->rt.layout;
    if (addr == BASE + l->runtime.interpreters)
        return INTERPS;
    if (addr == BASE + l->runtime.interpreters + 8)
        return f->interp; /* the main one */
    if (addr == INTERPS + l->interp.next)
        return f->interp == INTERPS ? 0 : INTERPS;
    if (addr < STATES)
        return addr == f->interp + l->interp.threads ? state_addr(f->n) : 0;
    uint64_t i = (addr - STATES) / STATE_BYTES;
    uint64_t offset = (addr - STATES) % STATE_BYTES;
    if (offset == l->thread.next)
        return i > 1 ? state_addr(i - 1) : 0;
    if (offset == l->thread.interp)
        return f->interp;
    bool is_id = offset == l->thread.thread_id || offset == l->thread.native_id;
    return !is_id ? 0 : f->thread ? f->thread : i;
}

static int long_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct long_list *f = (struct long_list *)m;
    f->reads++;
    if (addr < BASE)
        return -EFAULT;
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = long_word(f, addr + i);
        memcpy((uint8_t *)buf + i, &word, len - i < sizeof word ? len - i : sizeof word);
    }
    return 0;
}

static const struct mem_ops long_ops = {.read = long_read};

static struct long_list list_of(uint32_t minor, size_t n)
{
    return (struct long_list){.mem.ops = &long_ops,
                              .rt = {.layout = *py_layout_of(minor), .addr = BASE},
                              .n = n,
                              .interp = INTERPS};
}

/* A stopped thread never waits for a long list: captures are made between the steps of reading it.
 */
START_TEST(a_long_list_is_read_in_steps)
{
    enum { MANY = 2000 };
    uint64_t states[4];
    uint64_t pthread = 0;
    struct long_list list = list_of(12, MANY);
    struct py_capture *capture = py_capture_new(&list.rt, NULL);
    bool incomplete = false;
    size_t steps = 0;
    for (bool more = true; more; steps++) {
        list.reads = 0;
        more = py_capture_tick(capture, &list.mem);
        ck_assert_uint_lt(list.reads, 64);
        ck_assert(py_capture_knows(capture, MANY / 2, &pthread) == !more);
    }
    ck_assert_uint_ge(steps, MANY / 64);
    ck_assert_uint_eq(py_capture_thread(capture, &list.mem, MANY / 2, 0, states, 4, &incomplete),
                      1);
    ck_assert_uint_eq(pthread, MANY / 2);
    /* Captures use the old lists while a longer one is read. */
    list.n++;
    ck_assert(py_capture_tick(capture, &list.mem));
    ck_assert(py_capture_knows(capture, MANY / 2, &pthread));
    py_capture_free(capture);
}
END_TEST

static uint32_t find(struct long_list *list, pid_t tid, uint64_t fs_base, bool *ret_incomplete)
{
    uint64_t states[4];
    struct py_capture *capture = py_capture_new(&list->rt, NULL);
    while (py_capture_tick(capture, &list->mem))
        ;
    uint32_t n = py_capture_thread(capture, &list->mem, tid, fs_base, states, 4, ret_incomplete);
    py_capture_free(capture);
    return n;
}

/* Of too many interpreters the main one, which is the last, is read, too. */
START_TEST(the_main_interpreter_is_not_missed)
{
    struct long_list list = list_of(12, 3);
    bool incomplete = false;
    list.interp = INTERPS + 0x800;
    ck_assert_uint_eq(find(&list, 2, 0, &incomplete), 1);
    ck_assert(!incomplete);
    ck_assert_uint_eq(find(&list, 9, 0, &incomplete), 0);
    ck_assert(incomplete); /* it may have a state in those that were not read */
}
END_TEST

START_TEST(of_too_many_states_that_is_told)
{
    enum { MAX_OF_THREAD = 64 };
    for (size_t more = 0; more <= 1; more++) {
        struct long_list list = list_of(12, MAX_OF_THREAD + more);
        bool incomplete = false;
        list.thread = 7;
        ck_assert_uint_eq(find(&list, 7, 0, &incomplete), 4);
        ck_assert(incomplete == (more > 0));
    }
}
END_TEST

/* Up to 3.10 the C library tells the tid; also of a state that was made since the tick. */
START_TEST(threads_whose_tid_cannot_be_read)
{
    enum { N = 3 };
    struct long_list list = list_of(9, N);
    struct py_capture *capture = py_capture_new(&list.rt, NULL);
    uint64_t states[4];
    bool incomplete = false;
    while (py_capture_tick(capture, &list.mem))
        ;
    list.n++;
    for (pid_t tid = 1; tid <= N + 1; tid++)
        ck_assert_uint_eq(py_capture_thread(capture, &list.mem, tid, 0, states, 4, &incomplete), 0);
    ck_assert_uint_eq(py_capture_thread(capture, &list.mem, 0, N, states, 4, &incomplete), 1);
    ck_assert_uint_eq(states[0], state_addr(N));
    ck_assert_uint_eq(py_capture_thread(capture, &list.mem, 0, N + 1, states, 4, &incomplete), 1);
    ck_assert_uint_eq(states[0], state_addr(N + 1));
    ck_assert(!incomplete);
    py_capture_free(capture);
}
END_TEST

CHECK_MAIN("py_states", 20, a_long_list_is_read_in_steps, the_main_interpreter_is_not_missed,
           of_too_many_states_that_is_told, threads_whose_tid_cannot_be_read)
