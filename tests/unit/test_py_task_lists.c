/* Lists of tasks (CPython 3.14+) that lead nowhere, or back into their own midst. */
#include "pyframes/py_task_lists.h"

#include "pyframes/py_asyncio.h"
#include "pyframes/py_layout.h"
#include "tests/support/check_main.h"
#include "tests/support/own_mem.h"

enum { TASKS = 100, NODE_AT = 16, TASK_WORDS = 4, LISTS_AT = 2048 };

/* An interpreter with one thread state; each of them has the head of a list. */
static uint64_t runtime[512], interp[512], state[512];
static uint64_t all[TASKS][TASK_WORDS];
static uint64_t found[PY_MAX_TASKS];
static struct own_mem own;
static struct py_runtime rt;
static const struct py_asyncio asyncio = {
    .task.node = NODE_AT, .thread_tasks = LISTS_AT, .interp_tasks = LISTS_AT};

static uint64_t address(const void *of)
{
    return (uintptr_t)of;
}

static uint64_t *node(int i)
{
    return &all[i][NODE_AT / sizeof(uint64_t)];
}

/* The state's list has the tasks before the last ten, the interpreter's those. */
static void begin(void)
{
    const int split = TASKS - 10;
    own = own_mem();
    rt = (struct py_runtime){.addr = address(runtime), .layout = *py_layout_of(12)};
    rt.layout.traits = *py_traits_of(14);
    runtime[rt.layout.runtime.interpreters / 8] = address(interp);
    interp[rt.layout.interp.next / 8] = 0;
    interp[rt.layout.interp.threads / 8] = address(state);
    state[rt.layout.thread.next / 8] = 0;
    state[LISTS_AT / 8] = address(node(0));
    interp[LISTS_AT / 8] = address(node(split));
    for (int i = 0; i < TASKS; i++)
        *node(i) = address(node(i + 1 < TASKS ? i + 1 : 0));
    *node(split - 1) = address(&state[LISTS_AT / 8]);
    *node(TASKS - 1) = address(&interp[LISTS_AT / 8]);
}

static size_t read_all(bool *ret_more)
{
    own.reads = 0;
    return py_tasks_read(&rt, &own.mem, &asyncio, found, ret_more);
}

START_TEST(lists_are_read_to_their_heads)
{
    bool more = true;
    begin();
    ck_assert_uint_eq(read_all(&more), TASKS);
    ck_assert(!more);
    ck_assert_uint_eq(found[TASKS - 1], address(all[TASKS - 1]));
}
END_TEST

START_TEST(a_ring_that_misses_its_head_is_left)
{
    for (int to = 0; to < 3; to++) { /* the node before, itself, the first one */
        bool more = false;
        begin();
        *node(49) = address(node(to == 0 ? 48 : to == 1 ? 49 : 0));
        ck_assert_uint_eq(read_all(&more), 60);
        ck_assert(more);
    }
}
END_TEST

/* Whatever cannot be read ends its list, and no other. */
START_TEST(a_node_that_is_not_there_ends_its_list)
{
    bool more = false;
    begin();
    own.hole = node(49);
    ck_assert_uint_eq(read_all(&more), 60);
    ck_assert(more);
    ck_assert_uint_lt(own.reads, 80);
}
END_TEST

CHECK_MAIN("py_task_lists", 20, lists_are_read_to_their_heads, a_ring_that_misses_its_head_is_left,
           a_node_that_is_not_there_ends_its_list)
