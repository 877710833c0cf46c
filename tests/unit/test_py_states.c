#include <string.h>

#include "pyframes/py_capture.h"
#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"

enum { BASE = 0x100000, INTERPS = BASE + 0x1000, STATES = BASE + 0x2000, STATE_BYTES = 0x200 };

static uint64_t state_addr(size_t i)
{
    return STATES + i * STATE_BYTES;
}

/* One interpreter; its states N, N − 1, … 1, of threads with these tids. */
struct long_list {
    struct mem mem;
    struct py_runtime rt;
    size_t n, reads;
};

static uint64_t long_word(const struct long_list *f, uint64_t addr)
{
    const struct py_layout *l = &f->rt.layout;
    if (addr == BASE + l->runtime.interpreters)
        return INTERPS;
    if (addr < STATES)
        return addr == INTERPS + l->interp.threads ? state_addr(f->n) : 0;
    uint64_t i = (addr - STATES) / STATE_BYTES;
    uint64_t offset = (addr - STATES) % STATE_BYTES;
    if (offset == l->thread.next)
        return i > 1 ? state_addr(i - 1) : 0;
    if (offset == l->thread.interp)
        return INTERPS;
    return offset == l->thread.thread_id || offset == l->thread.native_id ? i : 0;
}

static int long_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct long_list *f = (struct long_list *)m;
    f->reads++;
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = long_word(f, addr + i);
        memcpy((uint8_t *)buf + i, &word, len - i < sizeof word ? len - i : sizeof word);
    }
    return 0;
}

static const struct mem_ops long_ops = {.read = long_read};

/* Nobody who has stopped waits for a long list: it is read in steps, between which captures are made. */
START_TEST(a_long_list_is_read_in_steps)
{
    enum { MANY = 2000 };
    uint64_t states[4];
    uint64_t pthread = 0;
    struct long_list list = {.mem.ops = &long_ops, .n = MANY};
    list.rt = (struct py_runtime){.layout = *py_layout_of(12), .addr = BASE};
    struct py_capture *capture = py_capture_new(&list.rt);
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
    /* What captures go by stays while a longer one is read. */
    list.n++;
    ck_assert(py_capture_tick(capture, &list.mem));
    ck_assert(py_capture_knows(capture, MANY / 2, &pthread));
    py_capture_free(capture);
}
END_TEST

CHECK_MAIN("py_states", 20, a_long_list_is_read_in_steps)
