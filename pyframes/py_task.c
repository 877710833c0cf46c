#include "pyframes/py_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_asyncio.h"
#include "pyframes/py_int.h"
#include "pyframes/py_string.h"

struct py_tasks {
    const struct py_runtime *rt;
    uint64_t str_type, int_type, coroutine_type; /* 0: unknown */
    uint32_t name, coroutine;                    /* in a task */
    uint32_t running;                            /* in the thread state */
};

/* The task that a thread runs. */
struct running_task {
    uint64_t name; /* a str, or the int N of one called Task-N */
    bool is_number;
    uint64_t coroutine;
};

bool py_tasks_possible(const struct py_runtime *rt)
{
    return rt->layout.traits.asyncio_debug;
}

static uint64_t find_type(struct modules *modules, struct module *m, const char *name)
{
    struct addr_range range;
    struct elf_file *elf = module_elf(modules, m);
    return elf && elf_file_symbol(elf, name, &range) == 0 ? range.start + m->bias : 0;
}

int py_tasks_find(struct py_tasks **ret, const struct py_runtime *rt, struct modules *modules,
                  struct mem *mem)
{
    struct py_asyncio where;
    struct py_tasks t = {.rt = rt};
    int r = py_tasks_possible(rt) ? py_asyncio_find(rt, modules, mem, &where) : -ENOENT;
    if (r < 0)
        return r;
    t.name = where.task.name;
    t.coroutine = where.task.coroutine;
    t.running = where.running_task;
    struct module *interpreter = modules_find(modules, rt->module_start);
    if (interpreter) {
        t.str_type = find_type(modules, interpreter, "PyUnicode_Type");
        t.coroutine_type = find_type(modules, interpreter, "PyCoro_Type");
        t.int_type = find_type(modules, interpreter, "PyLong_Type");
    }
    *ret = xmalloc(sizeof **ret);
    **ret = t;
    return 0;
}

struct py_tasks *py_tasks_free(struct py_tasks *t)
{
    free(t);
    return NULL;
}

static int find_running(const struct py_tasks *t, struct mem *mem, uint64_t thread_state,
                        struct running_task *ret)
{
    uint64_t task, type;
    int r = mem_read_u64(mem, thread_state + t->running, &task);
    if (r == 0 && task == 0)
        r = -ENOENT;
    if (r == 0)
        r = mem_read_u64(mem, task + t->name, &ret->name);
    if (r == 0)
        r = mem_read_u64(mem, task + t->coroutine, &ret->coroutine);
    if (r == 0)
        r = mem_read_u64(mem, ret->name + t->rt->layout.object.type, &type);
    if (r != 0)
        return r;
    ret->is_number = t->int_type != 0 && type == t->int_type;
    return ret->is_number || t->str_type == 0 || type == t->str_type ? 0 : -EPROTO;
}

int py_task_number_read(const struct py_layout *l, struct mem *mem, uint64_t addr, uint64_t *ret)
{
    struct py_int number;
    int r = py_int_read(l, mem, addr, &number);
    if (r == 0 && (number.negative || !number.digits || number.digits > PY_INT_DIGITS_READ))
        r = -EPROTO;
    if (r == 0)
        *ret = number.number;
    return r;
}

void py_task_record(const struct py_tasks *t, struct mem *recording, uint64_t thread_state)
{
    uint8_t bytes[256];
    struct running_task task;
    uint64_t data;
    size_t len;
    if (find_running(t, recording, thread_state, &task) != 0)
        return;
    (void)mem_read_u64(recording, task.coroutine + t->rt->layout.object.type, &data);
    if (task.is_number) {
        (void)py_task_number_read(&t->rt->layout, recording, task.name, &data);
        return;
    }
    if (py_string_find(&t->rt->layout, recording, task.name, &data, &len) < 0)
        return;
    for (size_t at = 0; at < len; at += sizeof bytes) {
        size_t n = len - at < sizeof bytes ? len - at : sizeof bytes;
        if (mem_read(recording, data + at, bytes, n) < 0)
            return;
    }
}

int py_task_read(const struct py_tasks *t, struct mem *mem, uint64_t thread_state, struct text *out,
                 uint64_t *ret_frame)
{
    const struct py_layout *l = &t->rt->layout;
    struct running_task task;
    uint64_t number, type;
    int r = find_running(t, mem, thread_state, &task);
    if (r == 0 && task.is_number)
        r = py_task_number_read(l, mem, task.name, &number);
    else if (r == 0)
        r = py_string_read(l, mem, task.name, out);
    if (r != 0)
        return r;
    if (task.is_number)
        text_addf(out, "Task-%llu", (unsigned long long)number);
    bool known = mem_read_u64(mem, task.coroutine + l->object.type, &type) == 0 &&
                 (t->coroutine_type == 0 || type == t->coroutine_type);
    *ret_frame = known ? task.coroutine + l->generator.frame : 0;
    return 0;
}
