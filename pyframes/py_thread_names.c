#include "pyframes/py_thread_names.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pyframes/py_dict.h"
#include "pyframes/py_modules.h"
#include "pyframes/py_string.h"

struct py_thread_names {
    const struct py_runtime *rt;
    struct mem *live;
    uint64_t active; /* threading._active, as it was found last; 0: not found yet */
};

struct py_thread_names *py_thread_names_new(const struct py_runtime *rt, struct mem *live)
{
    struct py_thread_names *n = xcalloc(1, sizeof *n);
    n->rt = rt;
    n->live = live;
    return n;
}

struct py_thread_names *py_thread_names_free(struct py_thread_names *n)
{
    free(n);
    return NULL;
}

/* The keys are threads' identifiers, which are pthread_t: an int of that size is its own hash. */
static int find_thread(const struct py_thread_names *n, uint64_t thread_id, uint64_t *ret)
{
    struct py_dict active;
    int r = py_dict_read(&n->rt->layout, n->live, n->active, &active);
    if (r < 0)
        return r;
    r = -ENOENT;
    for (size_t i = 0; r < 0 && i < active.n; i++)
        if (active.entries[i].value != 0 && active.entries[i].hash == thread_id) {
            *ret = active.entries[i].value;
            r = 0;
        }
    py_dict_release(&active);
    return r;
}

static int read_name(const struct py_thread_names *n, uint64_t thread, struct text *out)
{
    struct py_dict attributes;
    int r = py_attributes_read(&n->rt->layout, n->live, thread, &attributes);
    if (r < 0)
        return r;
    uint64_t name = py_dict_find(&n->rt->layout, n->live, &attributes, "_name");
    py_dict_release(&attributes);
    return name ? py_string_read(&n->rt->layout, n->live, name, out) : -ENOENT;
}

static int name_of(const struct py_thread_names *n, uint64_t thread_id, struct text *out)
{
    uint64_t thread;
    int r = find_thread(n, thread_id, &thread);
    return r < 0 ? r : read_name(n, thread, out);
}

int py_thread_names_ask(struct py_thread_names *n, uint64_t thread_id, struct text *out)
{
    if (n->active != 0 && name_of(n, thread_id, out) == 0)
        return 0;
    /* Py_Finalize() and Py_Initialize() make a new dict, elsewhere. */
    int r = py_module_find(n->rt, n->live, "threading", "_active", &n->active);
    return r < 0 ? r : name_of(n, thread_id, out);
}

int py_thread_names_find(struct py_thread_names *n, uint64_t thread_id, struct text *out)
{
    return n->rt->layout.traits.names_kernel_threads ? -ENOENT
                                                     : py_thread_names_ask(n, thread_id, out);
}

int py_thread_names_of_state(struct py_thread_names *n, struct mem *recorded, uint64_t thread_state,
                             struct text *out)
{
    uint64_t thread_id;
    int r = mem_read_u64(recorded, thread_state + n->rt->layout.thread.thread_id, &thread_id);
    return r < 0 ? r : py_thread_names_find(n, thread_id, out);
}
