#include "pyframes/py_await.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_asyncio.h"
#include "pyframes/py_blocks.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_step.h"
#include "pyframes/py_string.h"
#include "pyframes/py_task.h"

enum {
    WORD = 8,
    MAX_TRIES = 3,
    MAX_BASES = 8,
    MAX_STEPS = 2 * PY_MAX_AWAITS, /* not each awaitable has a frame */
    MAX_VALUES = 1 << 16,          /* in a frame */
    TAGS = 7,                      /* of a value in a frame, 3.14 and later */
    AWAIT = 2,                     /* RESUME's argument, 3.11 and 3.12: 2 `yield from`, 3 `await` */
};

enum type {
    TYPE_OTHER,
    TYPE_COROUTINE,
    TYPE_GENERATOR,
    TYPE_ASYNC_GENERATOR,
    TYPE_PART, /* its first field is what it awaits */
    TYPE_FUTURE_ITER,
    TYPE_FUTURE,
    TYPE_TASK,
    TYPE_GATHER,
};
static const struct {
    const char *name;
    enum type type;
    bool interpreters; /* a type of the interpreter's own */
} types[] = {
    {"coroutine", TYPE_COROUTINE, true},
    {"generator", TYPE_GENERATOR, true},
    {"async_generator", TYPE_ASYNC_GENERATOR, true},
    {"async_generator_asend", TYPE_PART, true},
    {"async_generator_athrow", TYPE_PART, true},
    {"anext_awaitable", TYPE_PART, true},
    {"coroutine_wrapper", TYPE_PART, true},
    {"_asyncio.FutureIter", TYPE_FUTURE_ITER, false},
    {"_asyncio.Future", TYPE_FUTURE, false},
    {"_asyncio.Task", TYPE_TASK, false},
    {"_GatheringFuture", TYPE_GATHER, false},
};

struct py_awaits {
    const struct py_runtime *rt;
    struct mem *live;
    struct mem *mem; /* live memory by blocks, of one reading */
    struct py_blocks blocks;
    struct py_asyncio asyncio;
    struct map types; /* address → enum type */
};

int py_awaits_new(struct py_awaits **ret, const struct py_runtime *rt, struct modules *modules,
                  struct mem *live)
{
    struct py_asyncio asyncio;
    int r = py_asyncio_find(rt, modules, live, &asyncio);
    if (r < 0)
        return r;
    struct py_awaits *w = xcalloc(1, sizeof *w);
    w->rt = rt;
    w->live = live;
    py_blocks_init(&w->blocks, live);
    w->mem = &w->blocks.mem;
    w->asyncio = asyncio;
    *ret = w;
    return 0;
}

size_t py_awaits_loops(const struct py_awaits *w, struct py_loop loops[PY_MAX_LOOPS])
{
    return py_loops_read(w->rt, w->live, &w->asyncio, loops);
}

size_t py_awaits_tasks(const struct py_awaits *w, uint64_t tasks[PY_MAX_TASKS], bool *ret_more)
{
    return py_tasks_read(w->rt, w->live, &w->asyncio, tasks, ret_more);
}

struct py_awaits *py_awaits_free(struct py_awaits *w)
{
    if (w)
        map_release(&w->types);
    free(w);
    return NULL;
}

/* ---- types ---- */

/* A name that ends near the end of what is mapped cannot be read in one piece. */
static void read_type_name(const struct py_awaits *w, uint64_t type, char ret[PY_TYPE_BYTES])
{
    uint64_t name;
    memset(ret, 0, PY_TYPE_BYTES);
    if (mem_read_u64(w->mem, type + w->rt->layout.object.type + PY_TYPE_NAME, &name) < 0)
        return;
    for (size_t len = PY_TYPE_BYTES - 1; len >= 4; len /= 2) {
        if (mem_read(w->mem, name, ret, len) == 0)
            return;
        memset(ret, 0, PY_TYPE_BYTES);
    }
}

static enum type type_by_name(const struct py_awaits *w, uint64_t type)
{
    char name[PY_TYPE_BYTES];
    read_type_name(w, type, name);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(name, types[i].name) && (!types[i].interpreters || py_runtime_owns(w->rt, type)))
            return types[i].type;
    return TYPE_OTHER;
}

/* Tasks and futures may be of a class that is made of theirs. */
static enum type find_type(const struct py_awaits *w, uint64_t type)
{
    for (int i = 0; i < MAX_BASES && type; i++) {
        enum type found = type_by_name(w, type);
        if (found != TYPE_OTHER)
            return found;
        if (mem_read_u64(w->mem, type + w->rt->layout.object.type + PY_TYPE_BASE, &type) < 0)
            return TYPE_OTHER;
    }
    return TYPE_OTHER;
}

static enum type type_of(struct py_awaits *w, uint64_t object)
{
    uint64_t type;
    uint64_t known;
    if (!py_step_is_address(object) ||
        mem_read_u64(w->mem, object + w->rt->layout.object.type, &type) < 0 ||
        !py_step_is_address(type))
        return TYPE_OTHER;
    if (!map_get(&w->types, type, &known)) {
        known = find_type(w, type);
        map_put(&w->types, type, known);
    }
    return (enum type)known;
}

const char *py_type_name(const struct py_awaits *w, uint64_t object, char ret[PY_TYPE_BYTES])
{
    uint64_t type;
    ret[0] = '\0';
    if (py_step_is_address(object) &&
        mem_read_u64(w->mem, object + w->rt->layout.object.type, &type) == 0)
        read_type_name(w, type, ret);
    return ret;
}

/* ---- a coroutine ---- */

/* The object that the frame at FRAME awaits, on top of its stack or next to it; 0: none. */
static uint64_t awaited_by(const struct py_awaits *w, uint64_t frame)
{
    const struct py_layout *l = &w->rt->layout;
    uint64_t first = frame + l->frame.locals;
    uint64_t end = 0;
    uint64_t value;
    uint32_t n = 0;
    if (l->frame.stack != PY_ABSENT) {
        if (mem_read_u64(w->mem, frame + l->frame.stack, &end) < 0)
            return 0;
    } else if (l->frame.top == PY_ABSENT || mem_read_u32(w->mem, frame + l->frame.top, &n) < 0 ||
               n > MAX_VALUES) {
        return 0;
    } else {
        end = first + (uint64_t)n * WORD;
    }
    if (l->traits.two_awaited)
        end -= WORD;
    if (end <= first || end - first > (uint64_t)MAX_VALUES * WORD ||
        mem_read_u64(w->mem, end - WORD, &value) < 0)
        return 0;
    return value & ~(uint64_t)TAGS;
}

/* 3.11 and 3.12: behind the instruction that it is suspended in stands RESUME, whose argument tells
 * what it waits in. */
static bool resumes_await(const struct py_awaits *w, uint64_t instr)
{
    uint8_t unit[2];
    return mem_read(w->mem, instr + sizeof unit, unit, sizeof unit) == 0 && unit[1] >= AWAIT;
}

/* Adds the frame of the coroutine or generator at OBJECT.  Returns what that awaits, or 0. */
static uint64_t add_frame(const struct py_awaits *w, uint64_t object, struct py_await *ret)
{
    const struct py_layout *l = &w->rt->layout;
    uint64_t frame = object + l->generator.frame;
    struct py_frame *f = &ret->frames[ret->n];
    uint8_t state;
    if (mem_read(w->mem, object + l->generator.state, &state, sizeof state) < 0 ||
        !py_step_read_one(w->rt, w->mem, frame, f))
        return 0;
    if (mem_read_u64(w->mem, frame + l->frame.locals, &ret->owners[ret->n]) < 0)
        ret->owners[ret->n] = 0;
    ret->owners[ret->n] &= ~(uint64_t)TAGS;
    if (ret->n++ == 0)
        ret->does = state == l->traits.executing ? PY_TASK_RUNS
                    : state == l->traits.created ? PY_TASK_DUE
                                                 : PY_TASK_WAITS;
    if (state != l->traits.awaiting || (l->traits.await_in_resume && !resumes_await(w, f->instr)))
        return 0;
    return awaited_by(w, frame);
}

/* Adds the frames of OBJECT, a coroutine, and of all that it awaits. */
static void follow(struct py_awaits *w, uint64_t object, struct py_await *ret)
{
    uint64_t first = w->rt->layout.object.type + WORD;
    for (int steps = 0; object && steps < MAX_STEPS; steps++) {
        enum type type = type_of(w, object);
        if (type == TYPE_PART) {
            if (mem_read_u64(w->mem, object + first, &object) < 0)
                return;
        } else if (type == TYPE_COROUTINE || type == TYPE_GENERATOR ||
                   type == TYPE_ASYNC_GENERATOR) {
            ret->cut = ret->n == PY_MAX_AWAITS;
            object = ret->cut ? 0 : add_frame(w, object, ret);
        } else {
            return;
        }
    }
}

/* ---- a task ---- */

/* Is the first callback of FUTURE the one by which a thread's future is cancelled with it? */
static bool is_of_thread(const struct py_awaits *w, uint64_t future)
{
    const struct py_layout *l = &w->rt->layout;
    struct text name = {0};
    uint64_t function;
    uint64_t at;
    char type[PY_TYPE_BYTES];
    if (mem_read_u64(w->mem, future + w->asyncio.task.callback, &function) < 0 ||
        !str_eq(py_type_name(w, function, type), "function") ||
        mem_read_u64(w->mem, function + l->object.type + PY_FUNCTION_QUALNAME, &at) < 0 ||
        py_string_read(l, w->mem, at, &name) < 0)
        return false;
    bool is = name.len && str_starts(name.s, "_chain_future.");
    text_release(&name);
    return is;
}

static enum py_awaited kind_of(struct py_awaits *w, uint64_t awaited)
{
    enum type type = type_of(w, awaited);
    if (type == TYPE_FUTURE)
        return is_of_thread(w, awaited) ? PY_AWAITS_THREAD : PY_AWAITS_FUTURE;
    return type == TYPE_TASK     ? PY_AWAITS_TASK
           : type == TYPE_GATHER ? PY_AWAITS_GATHER
                                 : PY_AWAITS_OTHER;
}

uint64_t py_await_future(const struct py_awaits *w, uint64_t task)
{
    uint64_t future;
    return mem_read_u64(w->live, task + w->asyncio.task.waiter, &future) < 0 ? 0 : future;
}

static int read_once(struct py_awaits *w, uint64_t task, struct py_await *ret)
{
    enum { PENDING = 0 };
    const struct py_asyncio *a = &w->asyncio;
    uint64_t coroutine;
    uint32_t state;
    memset(ret, 0, sizeof *ret);
    py_blocks_clear(&w->blocks);
    ret->task = task;
    ret->does = PY_TASK_UNKNOWN;
    if (type_of(w, task) != TYPE_TASK || mem_read_u32(w->mem, task + a->task.state, &state) < 0 ||
        state != PENDING || mem_read_u64(w->mem, task + a->task.loop, &ret->loop) < 0 ||
        mem_read_u64(w->mem, task + a->task.waiter, &ret->awaited) < 0 ||
        mem_read_u64(w->mem, task + a->task.coroutine, &coroutine) < 0 || !coroutine)
        return -ENOENT;
    follow(w, coroutine, ret);
    if (ret->awaited)
        ret->awaits = kind_of(w, ret->awaited);
    if (ret->does == PY_TASK_WAITS && !ret->awaited)
        ret->does = PY_TASK_DUE;
    return 0;
}

static bool is_same(const struct py_await *a, const struct py_await *b)
{
    if (a->loop != b->loop || a->does != b->does || a->awaits != b->awaits ||
        a->awaited != b->awaited || a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->frames[i].self != b->frames[i].self || a->frames[i].code != b->frames[i].code ||
            a->frames[i].instr != b->frames[i].instr || a->owners[i] != b->owners[i])
            return false;
    return true;
}

/* The part that two readings one after the other have in common was true between them. */
int py_await_read(struct py_awaits *w, uint64_t task, struct py_await *ret)
{
    struct py_await *again = xmalloc(sizeof *again);
    int r = -EAGAIN;
    for (int i = 0; i < MAX_TRIES && r == -EAGAIN; i++) {
        r = read_once(w, task, ret);
        if (r == 0 && (read_once(w, task, again) < 0 || !is_same(ret, again)))
            r = -EAGAIN;
    }
    free(again);
    return r;
}

int py_task_name_read(const struct py_awaits *w, uint64_t task, struct text *out)
{
    uint64_t name;
    uint64_t number;
    char type[PY_TYPE_BYTES];
    int r = mem_read_u64(w->mem, task + w->asyncio.task.name, &name);
    if (r < 0 || !str_eq(py_type_name(w, name, type), "int"))
        return r < 0 ? r : py_string_read(&w->rt->layout, w->mem, name, out);
    r = py_task_number_read(&w->rt->layout, w->mem, name, &number);
    if (r == 0)
        text_addf(out, "Task-%llu", (unsigned long long)number);
    return r;
}
