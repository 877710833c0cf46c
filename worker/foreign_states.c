#include "worker/foreign_states.h"

#include "base/clock.h"
#include "pyframes/py_capture.h"
#include "pyframes/py_code.h"
#include "pyframes/py_interpreters.h"
#include "target/proc.h"

enum {
    MAX_TRIED = 64,
    ONE_PART_OF = 10, /* of the time is for what is not found */
};

struct adopt_search {
    struct target_process *process;
    const struct sample_message *m;
    struct mem *recorded;
    const struct native_stack *native;
    struct py_stack *python;
    struct merged_stack *merged;
};

static void merge(const struct adopt_search *s)
{
    py_merge(s->process->python->merger, s->recorded, s->native, s->python, s->m->snapshot.syscall,
             s->merged);
}

static bool has(const struct py_stack *python, uint64_t state)
{
    size_t i = 0;
    while (i < python->n_states && python->states[i] != state)
        i++;
    return i < python->n_states;
}

/* Are the frames of the state tried last, the Kth, those of activations that had none?  A lower
 * number of activations without frames is no proof: in a thread without frames of its own nobody
 * looks for them. */
static bool fits(const struct merged_stack *merged, size_t unmatched, size_t k)
{
    return merged->unmatched < unmatched && !(merged->elsewhere >> k & 1) &&
           (merged->unmatched || merged->result <= PY_MERGE_ENTERING);
}

/* Its frames stay if they fit. */
static void try_state(const struct adopt_search *s, uint64_t state)
{
    struct py_stack *python = s->python;
    size_t unmatched = s->merged->unmatched, n = python->n, k = python->n_states;
    struct py_stack more = {.frames = python->frames + n, .capacity = python->capacity - n};
    if (k == PY_MAX_STATES || has(python, state) ||
        py_walk(s->process->python->runtime, s->process->live, &state, 1, &more) < 0 ||
        more.end != PY_WALK_DONE || more.n == 0)
        return;
    python->n += more.n;
    python->states[k] = state;
    python->state_ends[k] = python->n;
    python->n_states++;
    merge(s);
    if (fits(s->merged, unmatched, k))
        return;
    python->n = n;
    python->n_states = k;
    s->merged->unmatched = unmatched;
}

/* Nothing changes the frames of a thread that does not run. */
static bool is_where_it_was(const struct sample_message *m, const struct target_process *s)
{
    struct schedstat now;
    return proc_schedstat(s->pid, m->head.tid, &now) == 0 && now.runs == m->head.sched.runs;
}

static bool is_wanted(const struct adopt_search *s)
{
    const struct sample_message *m = s->m;
    return s->merged->unmatched && s->python->end == PY_WALK_DONE && m->snapshot.held_ns == 0 &&
           m->snapshot.state == THREAD_BLOCKED && m->head.sched.runs &&
           !(m->head.flags & SAMPLE_APPROXIMATE);
}

static bool search(const struct adopt_search *s, uint64_t first)
{
    uint64_t states[MAX_TRIED];
    if (first)
        try_state(s, first);
    size_t n =
        py_interpreters_states(s->process->python->runtime, s->process->live, states, MAX_TRIED);
    for (size_t i = 0; i < n && s->merged->unmatched; i++)
        try_state(s, states[i]);
    return s->merged->unmatched == 0 && s->merged->result <= PY_MERGE_ENTERING &&
           is_where_it_was(s->m, s->process);
}

bool foreign_states_find(struct foreign_search *a, struct target_process *s,
                         const struct sample_message *m, struct mem *recorded,
                         const struct native_stack *native, struct py_stack *python,
                         struct merged_stack *merged)
{
    struct adopt_search it = {s, m, recorded, native, python, merged};
    int64_t start = clock_now_ns();
    if (!is_wanted(&it) || start < a->not_before_ns)
        return false;
    size_t n = python->n, n_states = python->n_states;
    if (search(&it, a->found)) {
        a->found = python->states[python->n_states - 1];
        for (size_t k = n_states; n_states && k < python->n_states; k++)
            py_capture_add_foreign(s->python->capture, python->states[n_states - 1],
                                   python->states[k]);
        py_codes_check(s->python->codes, recorded, start, python);
        return true;
    }
    python->n = n;
    python->n_states = n_states;
    merge(&it);
    int64_t end = clock_now_ns();
    a->not_before_ns = end + (end - start) * ONE_PART_OF;
    return false;
}
