/* What is read of a thread while it cannot move: its thread states, and the walk that fills a recording. */
#include "pyframes/py_capture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_code_keep.h"
#include "pyframes/py_gc.h"
#include "pyframes/py_gil.h"
#include "pyframes/py_layout.h"
#include "pyframes/py_states.h"
#include "pyframes/py_walk.h"

/* Of the data stack, read ahead of the walk: some 5,000 frames. */
enum { MAX_DATASTACK_BYTES = 512 << 10 };

/* Both are written one after the other: a capture may see a state that is not this thread's, which does no harm. */
enum { MAX_ADOPTED = 8 };
struct adopted {
    _Atomic(uint64_t) own, state; /* 0: none */
};

struct py_capture {
    const struct py_runtime *rt;
    struct py_states *states;
    struct py_stack scratch; /* the last capture's */
    struct py_code_keep *codes;
    uint8_t *datastack;
    _Atomic(const struct py_tasks *) tasks; /* NULL: not wanted, or not known yet */
    struct adopted adopted[MAX_ADOPTED];
    size_t next_adopted; /* the worker's: which is replaced next */
};

struct py_capture *py_capture_new(const struct py_runtime *rt)
{
    struct py_capture *c = xcalloc(1, sizeof *c);
    size_t bytes = PY_MAX_FRAMES * sizeof *c->scratch.frames;
    c->rt = rt;
    c->states = py_states_new(rt);
    c->scratch.frames = xmalloc(bytes);
    c->scratch.capacity = PY_MAX_FRAMES;
    /* Touched now: page faults would lengthen a hold. */
    memset(c->scratch.frames, 0, bytes);
    c->codes = py_code_keep_new(rt);
    c->datastack = xmalloc(MAX_DATASTACK_BYTES);
    memset(c->datastack, 0, MAX_DATASTACK_BYTES);
    return c;
}

void py_capture_tasks(struct py_capture *c, const struct py_tasks *tasks)
{
    atomic_store_explicit(&c->tasks, tasks, memory_order_release);
}

void py_capture_disown(struct py_capture *c, uint64_t own, uint64_t state)
{
    for (size_t i = 0; i < MAX_ADOPTED; i++)
        if (c->adopted[i].own == own && c->adopted[i].state == state)
            c->adopted[i].state = 0;
}

void py_capture_adopt(struct py_capture *c, uint64_t own, uint64_t state)
{
    py_capture_disown(c, own, state);
    struct adopted *a = &c->adopted[c->next_adopted++ % MAX_ADOPTED];
    a->state = 0;
    a->own = own;
    a->state = state;
}

static uint32_t add_adopted(const struct py_capture *c, uint64_t *states, uint32_t n, uint32_t max)
{
    for (size_t i = 0; n > 0 && n < max && i < MAX_ADOPTED; i++) {
        uint64_t state = c->adopted[i].state;
        uint32_t k = 0;
        if (!state || c->adopted[i].own != states[n - 1] || !py_states_has(c->states, state))
            continue;
        while (k < n && states[k] != state)
            k++;
        if (k < n)
            continue;
        memmove(states + 1, states, n++ * sizeof *states);
        states[0] = state; /* up to 3.9 nothing else says that its frames are further in */
    }
    return n;
}

bool py_capture_tick(struct py_capture *c, struct mem *live)
{
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
    free(c->scratch.frames);
    py_code_keep_free(c->codes);
    free(c->datastack);
    free(c);
    return NULL;
}

/* 3.11 and later: most frames lie one behind the other in chunks, newest last.  Read whole, they
 * come with a call per chunk instead of one per few frames.  Only to be quick: the walk reads what
 * this does not, so errors do not matter. */
static void read_datastack(struct py_capture *c, struct mem *recording, uint64_t state)
{
    /* struct _stack_chunk: previous, size, top (in words of data, once it is not the newest any
     * more), data. */
    enum { TOP = 16, DATA = 24, MAX_CHUNKS = 64 };
    const struct py_layout *l = &c->rt->layout;
    uint64_t chunk, end, words, left = MAX_DATASTACK_BYTES;
    if (l->thread.datastack == PY_ABSENT ||
        mem_read_u64(recording, state + l->thread.datastack, &chunk) < 0 ||
        mem_read_u64(recording, state + l->thread.datastack + 8, &end) < 0)
        return;
    for (int i = 0; i < MAX_CHUNKS && end > chunk && end - chunk <= left; i++) {
        left -= end - chunk;
        if (mem_read(recording, chunk, c->datastack, end - chunk) < 0 ||
            mem_read_u64(recording, chunk, &chunk) < 0 || chunk == 0 ||
            mem_read_u64(recording, chunk + TOP, &words) < 0 || words > left)
            return;
        end = chunk + DATA + words * 8;
    }
}

static int walk(struct py_capture *c, struct mem *recording, const uint64_t *states, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        read_datastack(c, recording, states[i]);
    return n ? py_walk(c->rt, recording, states, n, &c->scratch) : 0;
}

/* Fills STATES with those of the thread, and walks their frames. */
static uint32_t walk_states(struct py_capture *c, struct mem *recording, pid_t ns_tid,
                            uint64_t fs_base, uint64_t *states, uint32_t max, bool *ret_incomplete)
{
    enum { MAX_NEW_STATES = 8 };
    uint64_t found[MAX_NEW_STATES];
    uint32_t found_n = 0;
    c->scratch.n = 0;
    uint32_t n = py_states_find(c->states, recording, ns_tid, fs_base, states, max, ret_incomplete);
    n = add_adopted(c, states, n, max);
    int error = walk(c, recording, states, n);
    /* Without a frame they may also be what is left of states that were freed since the tick. */
    if (c->scratch.n == 0)
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
    for (uint32_t i = 0; c->scratch.n == 0 && i < n; i++)
        py_walk_keep_callers(c->rt, recording, thread_states[i], &c->scratch);
    (void)py_gil_state(c->rt, recording, thread_states, n, -1, 0);
    for (uint32_t i = 0; i < n; i++)
        py_gc_keep(c->rt, recording, thread_states[i]);
    const struct py_tasks *tasks = atomic_load_explicit(&c->tasks, memory_order_acquire);
    for (uint32_t i = 0; tasks && i < n; i++)
        py_task_keep(tasks, recording, thread_states[i]);
    py_code_keep_stack(c->codes, recording, &c->scratch);
    return n;
}

void py_capture_undo(struct py_capture *c)
{
    py_code_keep_undo(c->codes, &c->scratch);
}
