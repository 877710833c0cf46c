#include "pyframes/py_others.h"

#include "pyframes/py_layout.h"

enum { MAX_INTERPRETERS = 256 };

static size_t add_interpreter(const struct py_runtime *rt, struct mem *live, uint64_t interp,
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

size_t py_others_list(const struct py_runtime *rt, struct mem *live, uint64_t *states, size_t max)
{
    const struct py_layout *l = &rt->layout;
    size_t n = 0;
    uint64_t interp;
    int r = mem_read_u64(live, rt->addr + l->runtime.interpreters, &interp);
    for (int i = 0; r == 0 && interp && n < max && i < MAX_INTERPRETERS; i++) {
        n += add_interpreter(rt, live, interp, states + n, max - n);
        r = mem_read_u64(live, interp + l->interp.next, &interp);
    }
    return n;
}
