#include "pyframes/py_asyncio.h"

#include <errno.h>

#include "base/text.h"

/* A free-threaded build's thread state contains its allocator: 18 kB in 3.14 and 3.15. */
enum { MAX_TASK_BYTES = 4096, MAX_THREAD_BYTES = 64 << 10, MAX_INTERP_BYTES = 16 << 20 };
enum { WORD = 8 };

/* u64 each: sizes of structures, and offsets in them. */
enum {
    TASK_SIZE,
    TASK_NAME,
    TASK_AWAITED_BY,
    TASK_IS_TASK,
    TASK_AWAITED_BY_IS_SET,
    TASK_COROUTINE,
    TASK_NODE,
    INTERP_SIZE,
    INTERP_TASKS,
    THREAD_SIZE,
    RUNNING_LOOP,
    RUNNING_TASK,
    THREAD_TASKS,
    ALL
};
static const struct {
    int offset, size;
    uint64_t most; /* of the size */
} checks[] = {
    {TASK_NAME, TASK_SIZE, MAX_TASK_BYTES},        {TASK_COROUTINE, TASK_SIZE, MAX_TASK_BYTES},
    {TASK_AWAITED_BY, TASK_SIZE, MAX_TASK_BYTES},  {TASK_NODE, TASK_SIZE, MAX_TASK_BYTES},
    {INTERP_TASKS, INTERP_SIZE, MAX_INTERP_BYTES}, {RUNNING_LOOP, THREAD_SIZE, MAX_THREAD_BYTES},
    {RUNNING_TASK, THREAD_SIZE, MAX_THREAD_BYTES}, {THREAD_TASKS, THREAD_SIZE, MAX_THREAD_BYTES},
};

static bool is_sound(const uint64_t words[ALL])
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        uint64_t size = words[checks[i].size];
        if (size < WORD || size > checks[i].most || words[checks[i].offset] > size - WORD)
            return false;
    }
    return words[TASK_COROUTINE] >= WORD;
}

/* The description has neither the future that a task waits for, which is just before the coroutine,
 * nor the state, which is just behind awaited_by. */
static int read_description(const struct py_layout *l, struct mem *mem, uint64_t addr,
                            struct py_asyncio *ret)
{
    uint64_t words[ALL];
    int r = mem_read(mem, addr, words, sizeof words);
    if (r == 0 && !is_sound(words))
        r = -EPROTO;
    if (r < 0)
        return r;
    *ret = (struct py_asyncio){
        .task = {.loop = l->object.type + WORD,
                 .state = (uint32_t)words[TASK_AWAITED_BY] + WORD,
                 .callback = l->object.type + 2 * WORD,
                 .waiter = (uint32_t)words[TASK_COROUTINE] - WORD,
                 .coroutine = (uint32_t)words[TASK_COROUTINE],
                 .name = (uint32_t)words[TASK_NAME],
                 .node = (uint32_t)words[TASK_NODE]},
        .running_loop = (uint32_t)words[RUNNING_LOOP],
        .running_task = (uint32_t)words[RUNNING_TASK],
        .thread_tasks = (uint32_t)words[THREAD_TASKS],
        .interp_tasks = (uint32_t)words[INTERP_TASKS],
    };
    return 0;
}

/* In a module of its own, or inside the interpreter. */
static int find_description(const struct py_runtime *rt, struct modules *modules, uint64_t *ret)
{
    struct addr_range range;
    for (uint32_t i = 0; i < modules_count(modules); i++) {
        struct module *m = modules_get(modules, i);
        if (modules_find(modules, m->start) != m ||
            !(str_starts(m->name, "_asyncio.") || py_runtime_owns(rt, m->start)))
            continue;
        struct elf_file *elf = module_elf(modules, m);
        if (elf && elf_file_section(elf, ".AsyncioDebug", &range) == 0) {
            *ret = range.start + m->bias;
            return 0;
        }
    }
    return -ENOENT;
}

static void of_row(const struct py_layout *l, struct py_asyncio *ret)
{
    uint32_t waiter = l->object.type + l->traits.task_waiter;
    *ret = (struct py_asyncio){
        .task = {.loop = l->object.type + WORD,
                 .state = l->object.type + l->traits.task_state,
                 .callback = l->object.type + 2 * WORD,
                 .waiter = waiter,
                 .coroutine = waiter + WORD,
                 .name = waiter + 2 * WORD,
                 .node = PY_ABSENT},
        .running_loop = PY_ABSENT,
        .running_task = PY_ABSENT,
        .thread_tasks = PY_ABSENT,
        .interp_tasks = PY_ABSENT,
    };
}

int py_asyncio_find(const struct py_runtime *rt, struct modules *modules, struct mem *mem,
                    struct py_asyncio *ret)
{
    const struct py_layout *l = &rt->layout;
    uint64_t addr;
    if (l->traits.tasks == PY_TASKS_UNREAD)
        return -ENOENT;
    if (l->traits.asyncio_debug) {
        int r = find_description(rt, modules, &addr);
        return r < 0 ? r : read_description(l, mem, addr, ret);
    }
    of_row(l, ret);
    return 0;
}
