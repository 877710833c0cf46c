#include "pyframes/py_join.h"

#include <errno.h>

#include "pyframes/py_code.h"
#include "pyframes/py_dict.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_int.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_lock.h"
#include "pyframes/py_modules.h"

enum { MAX_THREADS = 256 };

/* The int at ADDR: that of a pthread_t has one or two digits, a bool one or none. */
static int read_int(const struct py_layout *l, struct mem *live, uint64_t addr, uint64_t *ret)
{
    struct py_int number;
    if (!addr || py_int_read(l, live, addr, &number) < 0 || number.negative ||
        number.digits > PY_INT_DIGITS_READ)
        return -ENOENT;
    *ret = number.number;
    return 0;
}

/* The pthread_t of the Thread whose attributes are D; 0: unknown. */
static uint64_t read_ident(const struct py_layout *l, struct mem *live, const struct py_dict *d)
{
    uint64_t ident = 0;
    return read_int(l, live, py_dict_find(l, live, d, "_ident"), &ident) < 0 ? 0 : ident;
}

/* Does the thread wait on SEM for the end of the one that THREAD, whose attributes are D, is? */
static bool is_of(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                  uint64_t sem, const struct py_dict *d, uint64_t ident)
{
    const struct py_layout *l = &rt->layout;
    struct py_lock lock;
    uint64_t handle;
    uint64_t its;
    if (l->traits.join == PY_JOIN_LOCK)
        return py_lock_find(rt, live, f, sem, &lock) == 0 &&
               lock.addr == py_dict_find(l, live, d, "_tstate_lock");
    const char *name = l->traits.join == PY_JOIN_HANDLE ? "_handle" : "_os_thread_handle";
    uint64_t object = py_dict_find(l, live, d, name);
    return object && mem_read_u64(live, object + l->object.type + PY_HANDLE, &handle) == 0 &&
           mem_read_u64(live, handle + PY_HANDLE_IDENT, &its) == 0 && its == ident;
}

static uint64_t find_joined(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                            uint64_t sem)
{
    const struct py_layout *l = &rt->layout;
    struct py_dict d;
    uint64_t thread;
    if (mem_read_u64(live, f->self + l->frame.locals, &thread) < 0 || !thread ||
        py_attributes_read(l, live, thread & ~(uint64_t)l->traits.executable_tags, &d) < 0)
        return 0;
    uint64_t ident = read_ident(l, live, &d);
    bool good = ident && is_of(rt, live, f, sem, &d, ident);
    py_dict_release(&d);
    return good ? ident : 0;
}

/* ---- the end of the program ---- */

/* The pthread_t of the Thread at ADDR if it is no daemon; else 0. */
static uint64_t needs_to_end(const struct py_layout *l, struct mem *live, uint64_t addr)
{
    struct py_dict d;
    uint64_t daemon;
    if (py_attributes_read(l, live, addr, &d) < 0)
        return 0;
    bool no_daemon =
        read_int(l, live, py_dict_find(l, live, &d, "_daemonic"), &daemon) == 0 && daemon == 0;
    uint64_t ident = no_daemon ? read_ident(l, live, &d) : 0;
    py_dict_release(&d);
    return ident;
}

/* threading._active has the threads in the order in which they began; the first is the main thread,
 * or after a fork() the one that called it. */
static uint64_t find_first_to_end(const struct py_runtime *rt, struct mem *live)
{
    const struct py_layout *l = &rt->layout;
    struct py_dict active;
    uint64_t addr;
    uint64_t ident = 0;
    if (py_module_find(rt, live, "threading", "_active", &addr) < 0 ||
        py_dict_read(l, live, addr, &active) < 0)
        return 0;
    size_t n = active.n < MAX_THREADS ? active.n : MAX_THREADS;
    for (size_t i = 1; i < n && !ident; i++)
        if (active.entries[i].value)
            ident = needs_to_end(l, live, active.entries[i].value);
    py_dict_release(&active);
    return ident;
}

int py_join_find(const struct py_runtime *rt, struct mem *live, const struct py_frame *f,
                 uint64_t sem, uint64_t *ret_thread_id)
{
    const struct py_layout *l = &rt->layout;
    static const char file[] = "/threading.py";
    const char *join = l->traits.join == PY_JOIN_LOCK ? "_wait_for_tstate_lock" : "join";
    if (py_code_is(l, live, f->code, join, file))
        *ret_thread_id = find_joined(rt, live, f, sem);
    else if (py_code_is(l, live, f->code, "_shutdown", file))
        *ret_thread_id = find_first_to_end(rt, live);
    else
        return -ENOENT;
    return *ret_thread_id ? 0 : -ENOENT;
}
