#include "pyframes/py_gil.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"

enum {
    RUNTIME = 0x100000,
    THREAD = 0x200000,
    OTHER = 0x201000,
    INTERP = 0x300000,
    GIL = 0x400000,
    PAGE_BYTES = 4096,
};

/* A memory of single words; all else is unreadable. */
struct words {
    struct mem mem;
    struct {
        uint64_t addr, value;
    } items[64];
    size_t n;
};
static struct words words;
static struct py_runtime rt;

static int words_read(struct mem *mem, uint64_t addr, void *buf, size_t len)
{
    struct words *w = (struct words *)mem;
    for (size_t i = w->n; i-- > 0;) {
        if (w->items[i].addr != addr || len > sizeof w->items[i].value)
            continue;
        memcpy(buf, &w->items[i].value, len);
        return 0;
    }
    return -EFAULT;
}

static const struct mem_ops words_ops = {.read = words_read};

static void put(uint64_t addr, uint64_t value)
{
    ck_assert_uint_lt(words.n, sizeof words.items / sizeof *words.items);
    words.items[words.n].addr = addr;
    words.items[words.n++].value = value;
}

/* The GIL's structure, held by HOLDER; 0: held last by OTHER. */
static void put_gil(uint64_t gil, uint64_t holder)
{
    put(gil + rt.layout.gil.last_holder, holder ? holder : OTHER);
    put(gil + rt.layout.gil.locked, holder != 0);
}

static struct py_gil_state state(uint64_t thread, int64_t syscall, uint64_t arg0)
{
    return py_gil_state(&rt, &words.mem, &thread, 1, syscall, arg0);
}

static void check(uint64_t thread, int64_t syscall, uint64_t arg0, enum py_gil expected)
{
    ck_assert_int_eq(state(thread, syscall, arg0).gil, expected);
}

static void begin(uint32_t minor)
{
    words = (struct words){.mem = {&words_ops}};
    rt = (struct py_runtime){.layout = *py_layout_of(minor), .addr = RUNTIME};
}

START_TEST(in_the_runtime)
{
    for (uint32_t minor = 7; minor <= 11; minor++) {
        begin(minor);
        uint64_t gil = RUNTIME + rt.layout.runtime.gil;
        put_gil(gil, 0);
        check(THREAD, -1, 0, PY_GIL_NONE);
        check(OTHER, -1, 0, PY_GIL_NONE);
        put_gil(gil, THREAD);
        check(THREAD, -1, 0, PY_GIL_HOLDING);
        check(OTHER, -1, 0, PY_GIL_NONE);
        struct py_gil_state waits = state(OTHER, SYS_futex, gil + 40);
        ck_assert_int_eq(waits.gil, PY_GIL_WAITING);
        ck_assert_uint_eq(waits.holder, THREAD);
        check(OTHER, SYS_restart_syscall, gil + 40, PY_GIL_WAITING);
        check(OTHER, SYS_read, gil + 40, PY_GIL_NONE);
        check(OTHER, SYS_futex, gil + rt.layout.gil.bytes, PY_GIL_NONE);
        check(OTHER, SYS_futex, gil - 8, PY_GIL_NONE);
    }
}
END_TEST

/* 3.12 and later: two thread states on one thread, each of an interpreter with its own GIL. */
START_TEST(one_per_interpreter)
{
    enum { INTERP_BYTES = 0x10000 };
    static const uint64_t both[] = {OTHER, THREAD};
    begin(12);
    for (uint64_t i = 0; i < 2; i++) {
        put(both[i] + rt.layout.thread.interp, INTERP + i * INTERP_BYTES);
        put(INTERP + i * INTERP_BYTES + rt.layout.interp.gil, GIL + i * PAGE_BYTES);
        put_gil(GIL + i * PAGE_BYTES, 0);
    }
    ck_assert_int_eq(py_gil_state(&rt, &words.mem, both, 2, -1, 0).gil, PY_GIL_NONE);
    put_gil(GIL + PAGE_BYTES, THREAD);
    ck_assert_int_eq(py_gil_state(&rt, &words.mem, both, 2, -1, 0).gil, PY_GIL_HOLDING);
    ck_assert_int_eq(py_gil_state(&rt, &words.mem, both, 2, SYS_futex, GIL + 40).gil,
                     PY_GIL_WAITING);
    ck_assert_int_eq(py_gil_state(&rt, &words.mem, both, 0, -1, 0).gil, PY_GIL_ABSENT);
    /* Garbage in the way. */
    put(INTERP + INTERP_BYTES + rt.layout.interp.gil, 8);
    check(THREAD, -1, 0, PY_GIL_NONE);
    put(INTERP + INTERP_BYTES + rt.layout.interp.gil, 0);
    check(THREAD, SYS_futex, 40, PY_GIL_NONE);
}
END_TEST

START_TEST(in_variables)
{
    begin(6);
    check(THREAD, SYS_futex, 0, PY_GIL_NONE);
    rt.current_thread = RUNTIME;
    rt.gil_start = GIL;
    rt.gil_bytes = 64;
    put(RUNTIME, THREAD);
    check(THREAD, -1, 0, PY_GIL_HOLDING);
    check(OTHER, SYS_futex, GIL + 40, PY_GIL_WAITING);
    ck_assert_uint_eq(state(OTHER, SYS_futex, GIL + 40).holder, THREAD);
    put(RUNTIME, 0);
    check(THREAD, -1, 0, PY_GIL_NONE);
}
END_TEST

START_TEST(free_threaded)
{
    begin(12);
    rt.layout.gil.enabled = 100;
    put(THREAD + rt.layout.thread.interp, INTERP);
    put(INTERP + rt.layout.interp.gil, GIL);
    put_gil(GIL, THREAD);
    put(GIL + 100, 0);
    check(THREAD, SYS_futex, GIL + 40, PY_GIL_ABSENT);
    put(GIL + 100, INT32_MAX);
    check(THREAD, -1, 0, PY_GIL_HOLDING);
}
END_TEST

CHECK_MAIN("py_gil", 20, in_the_runtime, one_per_interpreter, in_variables, free_threaded)
