/* This program itself is the Python: lists of tasks and chains of coroutines that never end. */
#include "pyframes/py_await.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "pyframes/py_asyncio.h"
#include "pyframes/py_layout.h"
#include "target/modules.h"
#include "tests/support/check_main.h"
#include "tests/support/own_mem.h"

enum { WORD = 8, WORDS = 64 };
/* As .AsyncioDebug has them, in words. */
enum { TASK_STATE = 5, TASK_WAITER = 8, TASK_CORO, TASK_NAME, TASK_NODE };
enum { LOOP = 20, RUNNING, THREAD_TASKS, INTERP_TASKS = 30 };

__attribute__((section(".AsyncioDebug"))) uint64_t asyncio_offsets[13] = {1};

static uint64_t runtime[WORDS], interp[WORDS], thread[WORDS], task[WORDS], loop[WORDS];
static uint64_t coroutine[WORDS], other[WORDS], future[WORDS], code[WORDS];
static struct {
    uint64_t words[WORDS];
} task_type, coroutine_type, future_type;

static struct own_mem own;
static struct py_runtime rt;
static struct modules *modules;
static struct py_awaits *awaits;

static uint64_t address(const void *of)
{
    return (uintptr_t)of;
}

static void name_type(uint64_t *type, const char *name)
{
    memset(type, 0, WORDS * sizeof *type);
    type[rt.layout.object.type / WORD + 2] = address(name);
}

static void describe(void)
{
    const uint64_t offsets[] = {
        sizeof task,
        TASK_NAME * WORD,
        (TASK_STATE - 1) * WORD,
        0,
        0,
        TASK_CORO * WORD,
        TASK_NODE * WORD,
        sizeof interp,
        INTERP_TASKS * WORD,
        sizeof thread,
        LOOP * WORD,
        RUNNING * WORD,
        THREAD_TASKS * WORD,
    };
    memcpy(asyncio_offsets, offsets, sizeof offsets);
}

/* A coroutine of CODE that awaits what AWAITED is. */
static void make_coroutine(uint64_t *c, const void *awaited)
{
    enum { LOCALS = 2 };
    const struct py_layout *l = &rt.layout;
    uint8_t *bytes = (uint8_t *)c;
    uint8_t *frame = bytes + l->generator.frame;
    uint64_t values[LOCALS] = {address(loop), address(awaited)};
    uint64_t runs = address(code);
    int32_t n = LOCALS;
    memset(c, 0, WORDS * sizeof *c);
    c[l->object.type / WORD] = address(&coroutine_type);
    bytes[l->generator.state] = l->traits.awaiting;
    memcpy(frame + l->frame.code, &runs, sizeof runs);
    memcpy(frame + l->frame.top, &n, sizeof n);
    memcpy(frame + l->frame.locals, values, sizeof values);
    frame[l->frame.owner] = 1;
}

static void begin(void)
{
    own = own_mem();
    modules = modules_new(getpid(), &own.mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    const struct module *m = modules_find(modules, address(asyncio_offsets));
    ck_assert_ptr_nonnull(m);
    rt = (struct py_runtime){.layout = *py_layout_of(12),
                             .addr = address(runtime),
                             .module_start = m->start,
                             .module_end = m->end};
    rt.layout.traits = *py_traits_of(14);
    rt.layout.interp.threads = 2 * WORD;
    describe();
    name_type(task_type.words, "_asyncio.Task");
    name_type(coroutine_type.words, "coroutine");
    name_type(future_type.words, "_asyncio.Future");
    runtime[rt.layout.runtime.interpreters / WORD] = address(interp);
    interp[2] = address(thread);
    thread[LOOP] = address(loop);
    thread[THREAD_TASKS] = address(&task[TASK_NODE]);
    interp[INTERP_TASKS] = address(&interp[INTERP_TASKS]);
    memset(task, 0, sizeof task);
    task[1] = address(&task_type);
    task[2] = address(loop);
    task[TASK_WAITER] = address(future);
    task[TASK_CORO] = address(coroutine);
    task[TASK_NODE] = address(&thread[THREAD_TASKS]);
    future[1] = address(&future_type);
    make_coroutine(coroutine, other);
    make_coroutine(other, future);
    ck_assert_int_eq(py_awaits_new(&awaits, &rt, modules, &own.mem), 0);
}

static void end(void)
{
    awaits = py_awaits_free(awaits);
    modules_free(modules);
}

START_TEST(one_task)
{
    uint64_t *tasks = xcalloc(PY_MAX_TASKS, sizeof *tasks);
    struct py_loop loops[PY_MAX_LOOPS];
    struct py_await found;
    bool more;
    begin();
    ck_assert_uint_eq(py_awaits_tasks(awaits, tasks, &more), 1);
    ck_assert(!more);
    ck_assert_uint_eq(tasks[0], address(task));
    ck_assert_uint_eq(py_awaits_loops(awaits, loops), 1);
    ck_assert_uint_eq(loops[0].addr, address(loop));
    ck_assert_uint_eq(loops[0].thread_state, address(thread));
    ck_assert_int_eq(py_await_read(awaits, tasks[0], &found), 0);
    ck_assert_int_eq(found.does, PY_TASK_WAITS);
    ck_assert_int_eq(found.awaits, PY_AWAITS_FUTURE);
    ck_assert_uint_eq(found.awaited, address(future));
    ck_assert_uint_eq(found.n, 2);
    ck_assert(!found.cut);
    ck_assert_uint_eq(found.frames[1].code, address(code));
    ck_assert_uint_eq(found.owners[1], address(loop));
    free(tasks);
    end();
}
END_TEST

START_TEST(what_is_no_task)
{
    struct py_await found;
    begin();
    task[TASK_STATE] = 2; /* done */
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), -ENOENT);
    task[TASK_STATE] = 0;
    task[1] = address(&future_type);
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), -ENOENT);
    ck_assert_int_eq(py_await_read(awaits, 8, &found), -ENOENT);
    ck_assert_int_eq(py_await_read(awaits, UINT64_MAX, &found), -ENOENT);
    end();
}
END_TEST

START_TEST(states)
{
    const struct py_traits *traits = py_traits_of(14);
    struct py_await found;
    begin();
    uint8_t *state = (uint8_t *)coroutine + rt.layout.generator.state;
    *state = traits->created;
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
    ck_assert_int_eq(found.does, PY_TASK_DUE);
    ck_assert_uint_eq(found.n, 1);
    *state = traits->executing;
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
    ck_assert_int_eq(found.does, PY_TASK_RUNS);
    ck_assert_uint_eq(found.n, 1);
    *state = traits->awaiting;
    task[TASK_WAITER] = 0;
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
    ck_assert_int_eq(found.does, PY_TASK_DUE);
    ck_assert_uint_eq(found.n, 2);
    coroutine[1] = address(&future_type);
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
    ck_assert_int_eq(found.does, PY_TASK_UNKNOWN);
    ck_assert_uint_eq(found.n, 0);
    end();
}
END_TEST

START_TEST(chains_that_lead_back)
{
    struct py_await found;
    begin();
    make_coroutine(other, coroutine);
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
    ck_assert_uint_eq(found.n, PY_MAX_AWAITS);
    ck_assert(found.cut);
    end();
    begin();
    name_type(coroutine_type.words, "anext_awaitable");
    coroutine[2] = address(coroutine);
    ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
    ck_assert_uint_eq(found.n, 0);
    end();
}
END_TEST

START_TEST(values_that_are_not_there)
{
    static const int32_t counts[] = {0, -1, INT32_MAX, 1 << 16};
    struct py_await found;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        begin();
        memcpy((uint8_t *)coroutine + rt.layout.generator.frame + rt.layout.frame.top, &counts[i],
               sizeof counts[i]);
        ck_assert_int_eq(py_await_read(awaits, address(task), &found), 0);
        ck_assert_uint_eq(found.n, 1);
        end();
    }
}
END_TEST

START_TEST(lists_that_lead_back)
{
    uint64_t *tasks = xcalloc(PY_MAX_TASKS, sizeof *tasks);
    bool more;
    begin();
    task[TASK_NODE] = address(&task[TASK_NODE]);
    ck_assert_uint_eq(py_awaits_tasks(awaits, tasks, &more), 1);
    ck_assert(more);
    task[TASK_NODE] = 12345; /* misaligned */
    ck_assert_uint_eq(py_awaits_tasks(awaits, tasks, &more), 1);
    ck_assert(more);
    task[TASK_NODE] = UINT64_MAX - 7;
    (void)py_awaits_tasks(awaits, tasks, &more);
    ck_assert(more);
    end();
    free(tasks);
}
END_TEST

CHECK_MAIN("py_await", 20, one_task, what_is_no_task, states, chains_that_lead_back,
           values_that_are_not_there, lists_that_lead_back)
