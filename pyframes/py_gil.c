#include "pyframes/py_gil.h"

#include <sys/syscall.h>

#include "pyframes/py_layout.h"

/* One GIL, as one thread state sees it. */
struct gil {
    bool absent;
    uint64_t start, bytes; /* where its condition variables and mutexes are; bytes 0: unknown */
    uint64_t holder;       /* thread state; 0: nobody */
};

/* 3.6: separate variables.  A thread state becomes the current one right after it takes the GIL,
 * and ends to be it right before it gives the GIL back. */
static struct gil read_variables(const struct py_runtime *rt, struct mem *mem)
{
    struct gil ret = {.start = rt->gil_start, .bytes = rt->gil_bytes};
    if (!rt->current_thread || mem_read_u64(mem, rt->current_thread, &ret.holder) < 0)
        ret.holder = 0;
    return ret;
}

/* Where the GIL's structure is that THREAD_STATE competes for; 0: unknown. */
static uint64_t structure_of(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state)
{
    const struct py_layout *l = &rt->layout;
    uint64_t interp;
    uint64_t gil;
    if (l->runtime.gil != PY_ABSENT)
        return rt->addr + l->runtime.gil;
    if (mem_read_u64(mem, thread_state + l->thread.interp, &interp) < 0 ||
        mem_read_u64(mem, interp + l->interp.gil, &gil) < 0)
        return 0;
    return gil;
}

static struct gil read_gil(const struct py_runtime *rt, struct mem *mem, uint64_t thread_state)
{
    const struct py_layout *l = &rt->layout;
    struct gil ret = {0};
    uint32_t enabled;
    uint32_t locked;
    if (l->runtime.gil == PY_ABSENT && l->interp.gil == PY_ABSENT)
        return read_variables(rt, mem);
    uint64_t gil = structure_of(rt, mem, thread_state);
    if (gil == 0)
        return ret;
    if (l->gil.enabled != PY_ABSENT && mem_read_u32(mem, gil + l->gil.enabled, &enabled) == 0 &&
        enabled == 0) {
        ret.absent = true;
        return ret;
    }
    ret.start = gil;
    ret.bytes = l->gil.bytes;
    /* last_holder stays while nobody holds it. */
    if (mem_read_u32(mem, gil + l->gil.locked, &locked) < 0 || locked != 1 ||
        mem_read_u64(mem, gil + l->gil.last_holder, &ret.holder) < 0)
        ret.holder = 0;
    return ret;
}

/* An interrupted wait goes on as restart_syscall, its registers unchanged. */
static bool waits_for(const struct gil *gil, int64_t syscall, uint64_t arg0)
{
    return (syscall == SYS_futex || syscall == SYS_restart_syscall) &&
           arg0 - gil->start < gil->bytes;
}

struct py_gil_state py_gil_state(const struct py_runtime *rt, struct mem *mem,
                                 const uint64_t *thread_states, size_t n, int64_t syscall,
                                 uint64_t arg0)
{
    struct py_gil_state ret = {.gil = PY_GIL_ABSENT};
    for (size_t i = 0; i < n; i++) {
        struct gil gil = read_gil(rt, mem, thread_states[i]);
        if (gil.absent)
            continue;
        if (waits_for(&gil, syscall, arg0))
            return (struct py_gil_state){PY_GIL_WAITING, gil.holder};
        if (gil.holder != 0 && gil.holder == thread_states[i])
            ret.gil = PY_GIL_HOLDING;
        else if (ret.gil != PY_GIL_HOLDING)
            ret.gil = PY_GIL_NONE;
    }
    return ret;
}
