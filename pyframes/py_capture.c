#include "pyframes/py_capture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_code_record.h"
#include "pyframes/py_fixed.h"
#include "pyframes/py_gc.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_locals.h"
#include "pyframes/py_states.h"
#include "pyframes/py_walk.h"

/* Of the data stack, read ahead of the walk: some 5,000 frames. */
enum { MAX_DATASTACK_BYTES = 512 << 10 };

/* Written one member after the other: a capture may see another thread's state, which does no harm.
 */
enum { MAX_FOREIGN = 8 };
struct foreign_state {
    _Atomic(uint64_t) own, state; /* 0: none */
};

struct py_scratch {
    struct py_stack stack; /* the last capture's */
    uint8_t *datastack;    /* NULL: not prepared yet */
    uint8_t code_object[PY_CODE_RECORD_SCRATCH_BYTES];
};

struct py_capture {
    const struct py_runtime *rt;
    struct py_states *states;
    struct py_scratch *scratch;
    struct py_scratch *own_scratch; /* NULL: it is borrowed */
    struct py_code_record *codes;
    _Atomic(const struct py_tasks *) tasks; /* NULL: not wanted, or not known yet */
    atomic_bool all_locals;                 /* not arguments alone; before LOCALS is set */
    atomic_bool locals;                     /* wanted */
    struct foreign_state foreign[MAX_FOREIGN];
    size_t next_foreign; /* the worker's: which is replaced next */
};

struct py_scratch *py_scratch_new(void)
{
    return xcalloc(1, sizeof(struct py_scratch));
}

/* Touched now: page faults would lengthen a hold. */
static void prepare(struct py_scratch *scratch)
{
    size_t bytes = PY_MAX_FRAMES * sizeof *scratch->stack.frames;
    if (scratch->datastack)
        return;
    scratch->stack.frames = xmalloc(bytes);
    scratch->stack.capacity = PY_MAX_FRAMES;
    memset(scratch->stack.frames, 0, bytes);
    scratch->datastack = xmalloc(MAX_DATASTACK_BYTES);
    memset(scratch->datastack, 0, MAX_DATASTACK_BYTES);
    memset(scratch->code_object, 0, sizeof scratch->code_object);
}

struct py_scratch *py_scratch_free(struct py_scratch *scratch)
{
    if (!scratch)
        return NULL;
    free(scratch->stack.frames);
    free(scratch->datastack);
    free(scratch);
    return NULL;
}

struct py_capture *py_capture_new(const struct py_runtime *rt, struct py_scratch *scratch)
{
    struct py_capture *c = xcalloc(1, sizeof *c);
    c->rt = rt;
    c->states = py_states_new(rt);
    c->own_scratch = scratch ? NULL : py_scratch_new();
    c->scratch = scratch ? scratch : c->own_scratch;
    prepare(c->scratch);
    c->codes = py_code_record_new(rt, c->scratch->code_object);
    return c;
}

void py_capture_tasks(struct py_capture *c, const struct py_tasks *tasks)
{
    atomic_store_explicit(&c->tasks, tasks, memory_order_release);
}

void py_capture_locals(struct py_capture *c, bool all)
{
    atomic_store_explicit(&c->all_locals, all, memory_order_relaxed);
    atomic_store_explicit(&c->locals, true, memory_order_release);
}

void py_capture_remove_foreign(struct py_capture *c, uint64_t own, uint64_t state)
{
    for (size_t i = 0; i < MAX_FOREIGN; i++)
        if (c->foreign[i].own == own && c->foreign[i].state == state)
            c->foreign[i].state = 0;
}

void py_capture_add_foreign(struct py_capture *c, uint64_t own, uint64_t state)
{
    py_capture_remove_foreign(c, own, state);
    struct foreign_state *a = &c->foreign[c->next_foreign++ % MAX_FOREIGN];
    a->state = 0;
    a->own = own;
    a->state = state;
}

static uint32_t add_foreign(const struct py_capture *c, uint64_t *states, uint32_t n, uint32_t max)
{
    for (size_t i = 0; n > 0 && n < max && i < MAX_FOREIGN; i++) {
        uint64_t state = c->foreign[i].state;
        uint32_t k = 0;
        if (!state || c->foreign[i].own != states[n - 1] || !py_states_has(c->states, state))
            continue;
        while (k < n && states[k] != state)
            k++;
        if (k < n)
            continue;
        memmove(states + 1, states, n++ * sizeof *states);
        states[0] = state; /* first: up to 3.9 only the order says that its frames are further in */
    }
    return n;
}

bool py_capture_tick(struct py_capture *c, struct mem *live)
{
    py_code_record_tick(c->codes);
    return py_states_tick(c->states, live);
}

bool py_capture_knows(const struct py_capture *c, pid_t ns_tid, uint64_t *ret_thread_id)
{
    return py_states_knows(c->states, ns_tid, ret_thread_id);
}

struct py_capture *py_capture_free(struct py_capture *c)
{
    if (!c)
        return NULL;
    py_states_free(c->states);
    py_scratch_free(c->own_scratch);
    py_code_record_free(c->codes);
    free(c);
    return NULL;
}

/* 3.11 and later: most frames lie one behind the other in chunks, the newest last.  Reading a chunk
 * whole takes one call instead of one for every few frames.  The walk reads whatever this does not:
 * errors do not matter. */
static void read_datastack(struct py_capture *c, struct mem *recording, uint64_t state)
{
    /* A chunk's top, in words of its data, is valid once a newer chunk exists. */
    enum { MAX_CHUNKS = 64 };
    const struct py_layout *l = &c->rt->layout;
    uint64_t chunk, end, words, left = MAX_DATASTACK_BYTES;
    if (l->thread.datastack == PY_ABSENT ||
        mem_read_u64(recording, state + l->thread.datastack, &chunk) < 0 ||
        mem_read_u64(recording, state + l->thread.datastack + 8, &end) < 0)
        return;
    for (int i = 0; i < MAX_CHUNKS && end > chunk && end - chunk <= left; i++) {
        left -= end - chunk;
        if (mem_read(recording, chunk, c->scratch->datastack, end - chunk) < 0 ||
            mem_read_u64(recording, chunk, &chunk) < 0 || chunk == 0 ||
            mem_read_u64(recording, chunk + PY_CHUNK_TOP, &words) < 0 || words > left)
            return;
        end = chunk + PY_CHUNK_DATA + words * 8;
    }
}

static int walk(struct py_capture *c, struct mem *recording, const uint64_t *states, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        read_datastack(c, recording, states[i]);
    return n ? py_walk(c->rt, recording, states, n, &c->scratch->stack) : 0;
}

/* Fills STATES with those of the thread, and walks their frames. */
static uint32_t walk_states(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                            uint64_t fs_base, uint64_t *states, uint32_t max, bool *ret_incomplete)
{
    enum { MAX_NEW_STATES = 8 };
    uint64_t found[MAX_NEW_STATES];
    uint32_t found_n = 0;
    c->scratch->stack.n = 0;
    uint32_t n = py_states_find(c->states, recording, ns_tid, fs_base, states, max, ret_incomplete);
    n = add_foreign(c, states, n, max);
    int error = walk(c, recording, states, n);
    /* States without a frame may have been freed since the tick: look for newer ones. */
    if (c->scratch->stack.n == 0)
        found_n = py_states_find_new(c->states, recording, ns_tid, fs_base, found,
                                     max < MAX_NEW_STATES ? max : MAX_NEW_STATES);
    if (found_n > 0) {
        memcpy(states, found, found_n * sizeof *found);
        n = found_n;
        error = walk(c, recording, states, n);
    }
    if (error < 0)
        *ret_incomplete = true;
    return n;
}

uint32_t py_capture_thread(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                           uint64_t fs_base, uint64_t *thread_states, uint32_t max,
                           bool *ret_incomplete)
{
    uint32_t n = walk_states(c, recording, ns_tid, fs_base, thread_states, max, ret_incomplete);
    if (n == 0)
        return 0;
    for (uint32_t i = 0; c->scratch->stack.n == 0 && i < n; i++)
        py_walk_record_callers(c->rt, recording, thread_states[i], &c->scratch->stack);
    (void)py_gil_state(c->rt, recording, thread_states, n, -1, 0);
    for (uint32_t i = 0; i < n; i++)
        py_gc_record(c->rt, recording, thread_states[i]);
    const struct py_tasks *tasks = atomic_load_explicit(&c->tasks, memory_order_acquire);
    for (uint32_t i = 0; tasks && i < n; i++)
        py_task_record(tasks, recording, thread_states[i]);
    py_code_record_stack(c->codes, recording, &c->scratch->stack);
    if (atomic_load_explicit(&c->locals, memory_order_acquire))
        py_locals_record(c->rt, recording, &c->scratch->stack,
                         atomic_load_explicit(&c->all_locals, memory_order_relaxed));
    return n;
}

void py_capture_undo(struct py_capture *c)
{
    py_code_record_undo(c->codes, &c->scratch->stack);
}
