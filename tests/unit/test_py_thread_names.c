#include "pyframes/py_thread_names.h"

#include <errno.h>
#include <string.h>

#include "pyframes/py_layout.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

/* A target's memory: 3.10's runtime, interpreter, thread state and Thread, and dicts with one key
 * each. */
enum {
    BASE = 0x100000,
    RUNTIME = BASE,
    INTERP = BASE + 0x1000,
    STATE = BASE + 0x2000,
    MODULE = BASE + 0x3000,
    TYPE = BASE + 0x3100,
    DICTS = BASE + 0x4000,
    DICT_BYTES = 0x400,
    ARENA_BYTES = 0x8000,
    DICT_OFFSET = 16,
};

static uint8_t bytes[ARENA_BYTES];
static struct bytes_mem arena;
static struct py_runtime rt;

static void put(uint64_t addr, uint64_t value)
{
    memcpy(bytes + (addr - BASE), &value, sizeof value);
}

static uint64_t put_str(uint64_t addr, const char *text)
{
    put(addr + rt.layout.unicode.length, strlen(text));
    put(addr + rt.layout.unicode.state, 0x19 << rt.layout.unicode.kind_shift);
    memcpy(bytes + (addr - BASE) + rt.layout.unicode.ascii_bytes, text, strlen(text));
    return addr;
}

/* {KEY: VALUE}, the Nth dict. */
static uint64_t put_dict(unsigned n, uint64_t hash, const char *key, uint64_t value)
{
    enum { KEYS = 0x100, STR = 0x200, SLOTS = 8, ENTRIES = 40 + SLOTS };
    uint64_t dict = DICTS + n * DICT_BYTES;
    put(dict + 32, dict + KEYS);
    put(dict + KEYS + 8, SLOTS);
    put(dict + KEYS + 32, 1);
    put(dict + KEYS + ENTRIES, hash);
    put(dict + KEYS + ENTRIES + 8, put_str(dict + STR, key));
    put(dict + KEYS + ENTRIES + 16, value);
    return dict;
}

/* The thread THREAD_ID, called NAME, of an interpreter whose dicts are from the FIRSTth on. */
static void start_python(unsigned first, uint64_t thread_id, const char *name)
{
    uint64_t object = DICTS + (first + 4) * DICT_BYTES;
    put(object + rt.layout.object.type, TYPE);
    put(TYPE + 288, DICT_OFFSET); /* tp_dictoffset */
    put(object + DICT_OFFSET, put_dict(first, 0, "_name", put_str(object + 0x100, name)));
    uint64_t active = put_dict(first + 1, thread_id, "", object);
    put(MODULE + rt.layout.object.type + 8, put_dict(first + 2, 0, "_active", active));
    put(INTERP + rt.layout.interp.modules, put_dict(first + 3, 0, "threading", MODULE));
    put(STATE + rt.layout.thread.thread_id, thread_id);
}

static struct py_thread_names *begin(void)
{
    memset(bytes, 0, sizeof bytes);
    arena = bytes_mem_of(BASE, bytes, sizeof bytes);
    rt = (struct py_runtime){.layout = *py_layout_of(10), .addr = RUNTIME};
    put(RUNTIME + rt.layout.runtime.interpreters, INTERP);
    put(RUNTIME + rt.layout.runtime.main_interpreter, INTERP);
    return py_thread_names_new(&rt, &arena.mem);
}

static void expect(struct py_thread_names *names, int want, const char *name)
{
    struct text out = {0};
    ck_assert_int_eq(py_thread_names_of_state(names, &arena.mem, STATE, &out), want);
    ck_assert_str_eq(out.len ? out.s : "", name);
    text_release(&out);
}

START_TEST(a_new_interpreter_has_other_threads)
{
    struct py_thread_names *names = begin();
    start_python(0, 0x7000, "of the first");
    expect(names, 0, "of the first");
    put(STATE + rt.layout.thread.thread_id, 0x9000); /* not threading's */
    expect(names, -ENOENT, "");
    start_python(5, 0x8000, "of the second");
    expect(names, 0, "of the second");
    py_thread_names_free(names);
}
END_TEST

/* 3.6 does not say which it is. */
START_TEST(the_oldest_interpreter_is_asked)
{
    enum { SECOND = INTERP + 0x800 };
    struct py_thread_names *names = begin();
    start_python(0, 0x7000, "of the main one");
    put(RUNTIME + rt.layout.runtime.interpreters, SECOND);
    expect(names, 0, "of the main one");
    py_thread_names_free(names);
    names = py_thread_names_new(&rt, &arena.mem);
    rt.layout.runtime.main_interpreter = PY_ABSENT;
    expect(names, -EFAULT, ""); /* SECOND has no modules */
    put(SECOND + rt.layout.interp.next, INTERP);
    expect(names, 0, "of the main one");
    py_thread_names_free(names);
    names = py_thread_names_new(&rt, &arena.mem);
    put(INTERP + rt.layout.interp.next, SECOND); /* none is the oldest */
    expect(names, -ENOENT, "");
    py_thread_names_free(names);
}
END_TEST

/* Each pointer on the way from the runtime to the name. */
START_TEST(a_pointer_that_leads_nowhere_ends_the_search)
{
    enum { NOWHERE = 8 };
    const struct py_layout *l = py_layout_of(10);
    const uint64_t ways[] = {
        RUNTIME + l->runtime.main_interpreter,
        INTERP + l->interp.modules,
        DICTS + 3 * DICT_BYTES + 32,             /* sys.modules' keys */
        MODULE + l->object.type + 8,             /* threading's dict */
        DICTS + 2 * DICT_BYTES + 32,             /* its keys */
        DICTS + 1 * DICT_BYTES + 32,             /* _active's keys */
        DICTS + 4 * DICT_BYTES + l->object.type, /* the Thread's type */
        DICTS + 4 * DICT_BYTES + DICT_OFFSET,    /* its dict */
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct py_thread_names *names = begin();
        start_python(0, 0x7000, "of the first");
        expect(names, 0, "of the first");
        put(ways[i], NOWHERE);
        py_thread_names_free(names);
        names = py_thread_names_new(&rt, &arena.mem);
        expect(names, -EFAULT, "");
        py_thread_names_free(names);
    }
}
END_TEST

START_TEST(a_state_that_was_not_kept_has_no_name)
{
    struct py_thread_names *names = begin();
    struct bytes_mem recorded = bytes_mem_of(RUNTIME, bytes, 8);
    struct text out = {0};
    start_python(0, 0x7000, "of the first");
    ck_assert_int_lt(py_thread_names_of_state(names, &recorded.mem, STATE, &out), 0);
    ck_assert_uint_eq(out.len, 0);
    py_thread_names_free(names);
}
END_TEST

CHECK_MAIN("py_thread_names", 20, a_new_interpreter_has_other_threads,
           the_oldest_interpreter_is_asked, a_pointer_that_leads_nowhere_ends_the_search,
           a_state_that_was_not_kept_has_no_name)
