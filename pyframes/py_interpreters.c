#include "pyframes/py_interpreters.h"

#include <errno.h>

#include "pyframes/py_layout.h"

size_t py_interpreters_list(const struct py_runtime *rt, struct mem *live, uint64_t *interps,
                            size_t max, bool *ret_more)
{
    const struct py_layout *l = &rt->layout;
    size_t n = 0;
    uint64_t interp;
    int r = mem_read_u64(live, rt->addr + l->runtime.interpreters, &interp);
    while (r == 0 && interp && n < max) {
        interps[n++] = interp;
        r = mem_read_u64(live, interp + l->interp.next, &interp);
    }
    *ret_more = r == 0 && interp;
    return n;
}

/* 3.6 does not say which it is: the last of the list. */
static int find_last(const struct py_runtime *rt, struct mem *live, uint64_t *ret)
{
    uint64_t interps[PY_MAX_INTERPRETERS];
    bool more;
    size_t n = py_interpreters_list(rt, live, interps, PY_MAX_INTERPRETERS, &more);
    if (n == 0 || more)
        return -ENOENT;
    *ret = interps[n - 1];
    return 0;
}

int py_interpreters_main(const struct py_runtime *rt, struct mem *live, uint64_t *ret)
{
    uint32_t offset = rt->layout.runtime.main_interpreter;
    if (offset == PY_ABSENT)
        return find_last(rt, live, ret);
    int r = mem_read_u64(live, rt->addr + offset, ret);
    return r == 0 && *ret == 0 ? -ENOENT : r;
}

static size_t list_states(const struct py_runtime *rt, struct mem *live, uint64_t interp,
                          uint64_t *states, size_t max)
{
    const struct py_layout *l = &rt->layout;
    size_t n = 0;
    uint64_t state;
    int r = mem_read_u64(live, interp + l->interp.threads, &state);
    while (r == 0 && state && n < max) {
        states[n++] = state;
        r = mem_read_u64(live, state + l->thread.next, &state);
    }
    return n;
}

size_t py_interpreters_states(const struct py_runtime *rt, struct mem *live, uint64_t *states,
                              size_t max)
{
    uint64_t interps[PY_MAX_INTERPRETERS];
    bool more;
    size_t interps_n = py_interpreters_list(rt, live, interps, PY_MAX_INTERPRETERS, &more);
    size_t n = 0;
    for (size_t i = 0; i < interps_n; i++)
        n += list_states(rt, live, interps[i], states + n, max - n);
    return n;
}
