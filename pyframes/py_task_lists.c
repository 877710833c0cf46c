#include "pyframes/py_task_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "pyframes/py_asyncio.h"
#include "pyframes/py_dict.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_interpreters.h"
#include "pyframes/py_modules.h"

enum { WORD = 8, MAX_STATES = 4096, MAX_SET_SLOTS = 1 << 20 };

static uint64_t word_at(struct mem *live, uint64_t addr)
{
    uint64_t word = 0;
    return mem_read_u64(live, addr, &word) < 0 ? 0 : word;
}

/* ---- loops ---- */

static uint64_t running_loop(const struct py_runtime *rt, struct mem *live,
                             const struct py_asyncio *a, uint64_t state)
{
    const struct py_layout *l = &rt->layout;
    if (a->running_loop != PY_ABSENT)
        return word_at(live, state + a->running_loop);
    if (l->thread.loop != PY_ABSENT)
        return word_at(live, state + l->thread.loop);
    if (l->thread.dict == PY_ABSENT)
        return 0;
    uint64_t loop;
    if (py_dict_look_up(l, live, word_at(live, state + l->thread.dict),
                        "__asyncio_running_event_loop__", &loop) < 0)
        return 0;
    if (l->traits.tasks == PY_TASKS_SET_311)
        loop = word_at(live, loop + l->object.type + WORD);
    return loop;
}

size_t py_loops_read(const struct py_runtime *rt, struct mem *live, const struct py_asyncio *a,
                     struct py_loop loops[PY_MAX_LOOPS])
{
    uint64_t *states = xcalloc(MAX_STATES, sizeof *states);
    size_t n_states = py_interpreters_states(rt, live, states, MAX_STATES);
    size_t n = 0;
    for (size_t i = 0; i < n_states && n < PY_MAX_LOOPS; i++) {
        uint64_t loop = running_loop(rt, live, a, states[i]);
        if (loop)
            loops[n++] = (struct py_loop){loop, states[i]};
    }
    free(states);
    return n;
}

/* ---- a WeakSet of tasks ---- */

/* asyncio.tasks.NAME; 0: it is not loaded. */
static uint64_t find_set(const struct py_runtime *rt, struct mem *live, const char *name)
{
    uint64_t set;
    return py_module_find(rt, live, "asyncio.tasks", name, &set) < 0 ? 0 : set;
}

/* The set of weak references that the WeakSet at ADDR has. */
static uint64_t data_of(const struct py_layout *l, struct mem *live, uint64_t addr)
{
    struct py_dict d;
    if (addr == 0 || py_attributes_read(l, live, addr, &d) < 0)
        return 0;
    uint64_t data = py_dict_find(l, live, &d, "data");
    py_dict_release(&d);
    return data;
}

/* The objects of the weak references in SLOTS, N pairs of key and hash.  Of deleted entries the key
 * is an object of another type. */
static void add_referents(const struct py_layout *l, struct mem *live, const uint64_t *slots,
                          size_t n, uint64_t *tasks, size_t *n_tasks, bool *ret_more)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t key = slots[2 * i];
        uint64_t task = key ? word_at(live, key + l->object.type + PY_WEAK_REFERENT) : 0;
        if (task == 0 || task % WORD)
            continue;
        if (*n_tasks == PY_MAX_TASKS) {
            *ret_more = true;
            return;
        }
        tasks[(*n_tasks)++] = task;
    }
}

/* The N slots of a set from TABLE on, piece by piece. */
static size_t read_slots(const struct py_layout *l, struct mem *live, uint64_t table, size_t n,
                         uint64_t *tasks, bool *ret_more)
{
    enum { AT_ONCE = 1 << 13, SLOT = 2 * WORD };
    uint64_t *slots = xcalloc(AT_ONCE, SLOT);
    size_t n_tasks = 0;
    bool more = false;
    for (size_t at = 0; at < n && !more; at += AT_ONCE) {
        size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        if (mem_read(live, table + at * SLOT, slots, some * SLOT) == 0)
            add_referents(l, live, slots, some, tasks, &n_tasks, &more);
        else
            more = true;
    }
    free(slots);
    *ret_more |= more;
    return n_tasks;
}

static size_t read_set(const struct py_layout *l, struct mem *live, uint64_t set, uint64_t *tasks,
                       bool *ret_more)
{
    enum { MASK = (PY_SET_MASK - PY_SET_FILL) / WORD, TABLE = (PY_SET_TABLE - PY_SET_FILL) / WORD };
    uint64_t f[TABLE + 1];
    if (set == 0)
        return 0;
    if (mem_read(live, set + l->object.type + PY_SET_FILL, f, sizeof f) < 0) {
        *ret_more = true;
        return 0;
    }
    bool whole = f[MASK] < MAX_SET_SLOTS;
    *ret_more |= !whole;
    return read_slots(l, live, f[TABLE], whole ? (size_t)f[MASK] + 1 : MAX_SET_SLOTS, tasks,
                      ret_more);
}

/* ---- lists ---- */

struct task_list {
    uint64_t *tasks;
    size_t n;
    struct map seen; /* by task */
};

/* Adds the tasks of the ring of nodes that begins at HEAD, which is in no task.  The target may
 * have spoilt it, or be about to change it: it may lead to memory that is not there, or back into
 * its own midst.  False: the rest of it is not known. */
static bool add_list(struct task_list *list, struct mem *live, const struct py_asyncio *a,
                     uint64_t head)
{
    uint64_t node;
    uint64_t unused;
    if (mem_read_u64(live, head, &node) < 0)
        return false;
    while (node && node != head) {
        uint64_t task = node - a->task.node;
        if (list->n == PY_MAX_TASKS || node % WORD || node < a->task.node ||
            map_get(&list->seen, task, &unused))
            return false;
        map_put(&list->seen, task, 1);
        list->tasks[list->n++] = task;
        if (mem_read_u64(live, node, &node) < 0)
            return false;
    }
    return true;
}

static size_t read_lists(const struct py_runtime *rt, struct mem *live, const struct py_asyncio *a,
                         uint64_t *tasks, bool *ret_more)
{
    uint64_t interps[PY_MAX_INTERPRETERS];
    uint64_t *states = xcalloc(MAX_STATES, sizeof *states);
    size_t n_states = py_interpreters_states(rt, live, states, MAX_STATES);
    size_t n_interps = py_interpreters_list(rt, live, interps, PY_MAX_INTERPRETERS, ret_more);
    struct task_list list = {0};
    list.tasks = tasks;
    for (size_t i = 0; i < n_states && list.n < PY_MAX_TASKS; i++)
        *ret_more |= !add_list(&list, live, a, states[i] + a->thread_tasks);
    for (size_t i = 0; i < n_interps && list.n < PY_MAX_TASKS; i++)
        *ret_more |= !add_list(&list, live, a, interps[i] + a->interp_tasks);
    *ret_more |= list.n == PY_MAX_TASKS;
    map_release(&list.seen);
    free(states);
    return list.n;
}

size_t py_tasks_read(const struct py_runtime *rt, struct mem *live, const struct py_asyncio *a,
                     uint64_t tasks[PY_MAX_TASKS], bool *ret_more)
{
    const struct py_layout *l = &rt->layout;
    *ret_more = false;
    if (l->traits.tasks == PY_TASKS_LISTS)
        return read_lists(rt, live, a, tasks, ret_more);
    bool old = l->traits.tasks == PY_TASKS_SET_311;
    uint64_t set = find_set(rt, live, old ? "_all_tasks" : "_scheduled_tasks");
    return read_set(l, live, data_of(l, live, set), tasks, ret_more);
}
