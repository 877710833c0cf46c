/* This program itself is the Python: it has the description, the types, and all they lead to. */
#include "pyframes/py_task.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pyframes/py_layout.h"
#include "target/modules.h"
#include "tests/support/check_main.h"
#include "tests/support/own_mem.h"

enum { SIZE, NAME, AWAITED_BY, COROUTINE = 5, NODE, INTERP_SIZE, INTERP_TASKS, THREAD_SIZE };
enum { RUNNING_LOOP = 10, RUNNING, THREAD_TASKS, ALL };
enum { TASK_WORDS = 8, NAME_AT = 16, COROUTINE_AT = 24, RUNNING_AT = 40, NUMBER_WORDS = 8 };

__attribute__((section(".AsyncioDebug"))) uint64_t asyncio_offsets[ALL] = {1};
uint64_t PyUnicode_Type[1], PyCoro_Type[1], PyLong_Type[1];

static uint64_t thread[TASK_WORDS], task[TASK_WORDS], coroutine[TASK_WORDS], number[NUMBER_WORDS];
static struct {
    uint64_t words[8];
    char text[1000];
} string;

static struct own_mem own;
static struct py_runtime rt;
static struct modules *modules;

static uint64_t address(const void *of)
{
    return (uintptr_t)of;
}

static void begin(void)
{
    own = own_mem();
    modules = modules_new(getpid(), &own.mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    const struct module *m = modules_find(modules, address(asyncio_offsets));
    ck_assert_ptr_nonnull(m);
    rt = (struct py_runtime){
        .layout = *py_layout_of(12), .module_start = m->start, .module_end = m->end};
    rt.layout.traits = *py_traits_of(14);
    memset(asyncio_offsets, 0, sizeof asyncio_offsets);
    asyncio_offsets[SIZE] = sizeof task;
    asyncio_offsets[NAME] = NAME_AT;
    asyncio_offsets[COROUTINE] = COROUTINE_AT;
    asyncio_offsets[INTERP_SIZE] = sizeof thread;
    asyncio_offsets[THREAD_SIZE] = sizeof thread;
    asyncio_offsets[RUNNING] = RUNNING_AT;
    thread[RUNNING_AT / 8] = address(task);
    task[COROUTINE_AT / 8] = address(coroutine);
    coroutine[rt.layout.object.type / 8] = address(PyCoro_Type);
}

static struct py_tasks *found(void)
{
    struct py_tasks *t = NULL;
    ck_assert_int_eq(py_tasks_find(&t, &rt, modules, &own.mem), 0);
    return t;
}

static void end(struct py_tasks *t)
{
    py_tasks_free(t);
    modules_free(modules);
}

START_TEST(descriptions_that_make_no_sense)
{
    static const struct {
        int at;
        uint64_t value;
    } bad[] = {
        {SIZE, 4097},         {SIZE, 0},
        {NAME, 57},           {NAME, UINT64_MAX - 7},
        {COROUTINE, 57},      {COROUTINE, UINT64_MAX},
        {THREAD_SIZE, 65537}, {THREAD_SIZE, 8},
        {RUNNING, 57},        {RUNNING, UINT64_MAX - 3},
        {COROUTINE, 7},       {INTERP_SIZE, (16 << 20) + 1},
        {INTERP_SIZE, 0},     {INTERP_TASKS, 57},
        {NODE, 57},           {AWAITED_BY, UINT64_MAX},
        {RUNNING_LOOP, 57},   {THREAD_TASKS, 57},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct py_tasks *t = NULL;
        begin();
        asyncio_offsets[bad[i].at] = bad[i].value;
        ck_assert_msg(py_tasks_find(&t, &rt, modules, &own.mem) == -EPROTO, "case %zu", i);
        end(t);
    }
}
END_TEST

START_TEST(thread_state_that_holds_its_allocator)
{
    begin();
    asyncio_offsets[THREAD_SIZE] = 17696; /* free-threaded 3.15 */
    end(found());
}
END_TEST

START_TEST(descriptions_that_are_not_there)
{
    struct py_tasks *t = NULL;
    begin();
    own.hole = &asyncio_offsets[3];
    ck_assert_int_eq(py_tasks_find(&t, &rt, modules, &own.mem), -EFAULT);
    own.hole = NULL;
    rt.layout.traits = *py_traits_of(13);
    ck_assert_int_eq(py_tasks_find(&t, &rt, modules, &own.mem), -ENOENT);
    end(t);
}
END_TEST

static int read_task(const struct py_tasks *t, const char *want)
{
    struct text out = {0};
    uint64_t frame = 0;
    int r = py_task_read(t, &own.mem, address(thread), &out, &frame);
    ck_assert_str_eq(out.len ? out.s : "", want);
    ck_assert_uint_eq(frame, r == 0 ? address(coroutine) + rt.layout.generator.frame : 0);
    text_release(&out);
    return r;
}

/* An int of N digits of 30 bits. */
static void put_number(uint64_t n, uint32_t low, uint32_t high)
{
    const uint32_t digits[] = {low, high};
    size_t at = rt.layout.object.type / 8;
    number[at] = address(PyLong_Type);
    number[at + 1] = n << 3;
    memcpy(&number[at + 2], digits, sizeof digits);
    task[NAME_AT / 8] = address(number);
}

START_TEST(numbers_of_tasks)
{
    begin();
    struct py_tasks *t = found();
    put_number(1, 7, 99);
    ck_assert_int_eq(read_task(t, "Task-7"), 0);
    put_number(2, 7, 1);
    ck_assert_int_eq(read_task(t, "Task-1073741831"), 0);
    put_number(3, 7, 1);
    ck_assert_int_eq(read_task(t, ""), -EPROTO);
    put_number(0, 7, 1);
    ck_assert_int_eq(read_task(t, ""), -EPROTO);
    put_number(1, 7, 1);
    number[rt.layout.object.type / 8 + 1] |= 2; /* negative */
    ck_assert_int_eq(read_task(t, ""), -EPROTO);
    number[rt.layout.object.type / 8] = address(PyCoro_Type);
    ck_assert_int_eq(read_task(t, ""), -EPROTO);
    thread[RUNNING_AT / 8] = 0;
    ck_assert_int_eq(read_task(t, ""), -ENOENT);
    end(t);
}
END_TEST

static size_t reads_to_keep(const struct py_tasks *t)
{
    own.reads = 0;
    py_task_record(t, &own.mem, address(thread));
    return own.reads;
}

/* A name is recorded piece by piece, as far as it can be read. */
START_TEST(names_that_cannot_be_kept)
{
    begin();
    struct py_tasks *t = found();
    const struct py_layout *l = &rt.layout;
    char *bytes = (char *)&string;
    uint64_t length = sizeof string.text - 8, type = address(PyUnicode_Type);
    uint32_t state = 0x19U << l->unicode.kind_shift;
    memset(string.text, 'n', sizeof string.text);
    memcpy(bytes + l->object.type, &type, sizeof type);
    memcpy(bytes + l->unicode.length, &length, sizeof length);
    memcpy(bytes + l->unicode.state, &state, sizeof state);
    task[NAME_AT / 8] = address(&string);
    size_t whole = reads_to_keep(t);
    own.hole = bytes + l->unicode.ascii_bytes + 1;
    ck_assert_uint_eq(reads_to_keep(t), whole - length / 256);
    own.hole = bytes + l->unicode.length;
    size_t none = reads_to_keep(t);
    ck_assert_uint_lt(none, whole - length / 256);
    own.hole = &thread[RUNNING_AT / 8];
    ck_assert_uint_eq(reads_to_keep(t), 1);
    end(t);
}
END_TEST

CHECK_MAIN("py_task", 20, descriptions_that_make_no_sense, thread_state_that_holds_its_allocator,
           descriptions_that_are_not_there, numbers_of_tasks, names_that_cannot_be_kept)
