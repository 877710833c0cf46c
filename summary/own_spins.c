#include "summary/own_spins.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/share.h"
#include "summary/asks.h"
#include "summary/wait_name.h"

enum { MOST_ADDRESSES = 16, LEAST_SAMPLES = 20, LOOP_BYTES = 64, LOOP_LINES = 2 };
static const double most_of_it = 0.9;
static const double much_asked = 0.3, little_else = 0.1; /* of a function's own time */
static const double mostly_tried = 0.7;                  /* the same of native code */

/* Where the samples of one node lie: addresses of one process, or lines. */
struct place {
    uint64_t at;
    int64_t ns;
};
struct spot_sum {
    struct place places[MOST_ADDRESSES];
    size_t n;
    process_id process; /* the first one that was seen there: others have other addresses */
    uint64_t samples;
    int64_t ns, placed_ns; /* all; at an address of PROCESS */
    int64_t asked_ns, other_ns, paused_ns;
    /* Of a native function, with the C library's that it calls: all, and what tries to get a lock
     * or a child's end. */
    int64_t owned_ns, tried_ns;
};

static bool pauses(const struct shown_frame *f)
{
    static const char *const names[] = {"mmpause",  "cpurelax",       "ia32pause",
                                        "spinloop", "yieldprocessor", NULL};
    return wait_name_has(f->name, names);
}

static bool reads_atomic(const struct shown_frame *f)
{
    return strstr(f->name, "atomic") != NULL;
}

static bool is_named_so(const struct shown_frame *f)
{
    static const char *const names[] = {
        "barrier$",    "barrierwait", "barriersync", "barrierenter", "barrierarrive",
        "spinlock",    "spinwait",    "spinuntil",   "spinon",       "spinfor",
        "spinwhile",   "busywait",    "busyloop",    "waitfor",      "waituntil",
        "waiton",      "waitwhile",   "waitall",     "wait$",        "acquire$",
        "acquirelock", "lock$",       NULL};
    return wait_name_has(f->name, names);
}

static void add_place(struct spot_sum *sum, uint64_t at, int64_t ns)
{
    size_t i = 0;
    sum->placed_ns += ns;
    while (i < sum->n && sum->places[i].at != at)
        i++;
    if (i == MOST_ADDRESSES)
        return;
    sum->n += i == sum->n;
    sum->places[i].at = at;
    sum->places[i].ns += ns;
}

/* STACK, whose innermost function of the user's is at INNER. */
static void add_stack(struct spot_sum *sum, const struct shown_frame *stack, size_t n, size_t inner,
                      const struct profile_thread *t, const struct run *run)
{
    int64_t ns = run->weights.wall_ns;
    bool calls = false;
    bool pause = false;
    uint64_t address = stack[inner].address;
    for (size_t i = inner + 1; i < n; i++) {
        bool native = stack[i].kind == SHOWN_NATIVE;
        calls |=
            stack[i].kind == SHOWN_PYTHON || (native && !stack[i].interpreter && !stack[i].libc);
        pause |= native && stack[i].inlined && pauses(&stack[i]);
        /* Without optimisation a look at an atomic variable is a call. */
        address = native && !reads_atomic(&stack[i]) ? stack[i].address : address;
    }
    enum asked asked = asks_of(stack + inner, n - inner);
    bool asks = asked != ASKED_NOTHING && asked != ASKED_FILE; /* of files there may be many */
    sum->process = sum->samples ? sum->process : t->process;
    sum->samples += run->samples;
    sum->ns += ns;
    sum->asked_ns += asks ? ns : 0;
    sum->other_ns += calls && !asks ? ns : 0;
    sum->paused_ns += pause ? ns : 0;
    if (stack[inner].kind == SHOWN_PYTHON)
        add_place(sum, stack[inner].current_line, ns);
    else if (address && t->process.ix == sum->process.ix)
        add_place(sum, address, ns);
}

/* The user's innermost function at or above NODE; 0: there is none. */
static uint32_t owner_of(const struct call_tree *t, uint32_t node)
{
    while (node && call_tree_node(t, node).role != ROLE_OWN)
        node = call_tree_node(t, node).parent;
    return node;
}

/* A function in Python is looked at as a whole, with the library's that it calls. */
static void add_run(struct call_tree *t, struct view *v, const struct profile_thread *thread,
                    const struct run *run, struct spot_sum *sums)
{
    size_t n;
    const struct shown_frame *stack = view_stack(v, run->at, &n);
    size_t inner = n;
    while (inner && frame_role(&stack[inner - 1], false) != ROLE_OWN)
        inner--;
    if (!inner)
        return;
    uint32_t node = call_tree_of(t, run->at);
    uint32_t owner = owner_of(t, node);
    bool python = stack[inner - 1].kind == SHOWN_PYTHON;
    add_stack(&sums[python ? owner : node], stack, n, inner - 1, thread, run);
    enum asked asked = asks_of(stack + inner - 1, n - inner + 1);
    bool tries = asked == ASKED_LOCK || asked == ASKED_CHILD;
    sums[owner].owned_ns += run->weights.wall_ns;
    sums[owner].tried_ns += tries ? run->weights.wall_ns : 0;
}

/* Is nearly all of SUM within WIDTH? */
static bool is_tight(const struct spot_sum *sum, uint64_t width)
{
    int64_t best_ns = 0;
    for (size_t i = 0; i < sum->n; i++) {
        int64_t ns = 0;
        for (size_t k = 0; k < sum->n; k++)
            ns += sum->places[k].at - sum->places[i].at < width ? sum->places[k].ns : 0;
        best_ns = ns > best_ns ? ns : best_ns;
    }
    return sum->n && share_of(best_ns, sum->placed_ns) >= most_of_it;
}

static enum own_spin python_kind(const struct shown_frame *f, const struct spot_sum *sum)
{
    if (sum->samples < LEAST_SAMPLES)
        return OWN_SPIN_NONE;
    bool asks = share_of(sum->asked_ns, sum->ns) >= much_asked &&
                share_of(sum->other_ns, sum->ns) <= little_else;
    bool same_line = is_named_so(f) && is_tight(sum, LOOP_LINES) && sum->other_ns == 0;
    return asks || same_line ? OWN_SPIN_ASKS : OWN_SPIN_NONE;
}

static enum own_spin kind_of(const struct call_tree *t, uint32_t node, const struct spot_sum *sums)
{
    const struct call_node at = call_tree_node(t, node);
    uint32_t owner = owner_of(t, node);
    const struct shown_frame *own = owner ? call_tree_node(t, owner).frame : NULL;
    if (own && own->kind == SHOWN_PYTHON)
        return python_kind(own, &sums[owner]);
    if (at.frame->kind != SHOWN_NATIVE || sums[node].samples < LEAST_SAMPLES)
        return OWN_SPIN_NONE;
    if (own && share_of(sums[owner].tried_ns, sums[owner].owned_ns) >= mostly_tried)
        return OWN_SPIN_LOOPS;
    /* For whom would a program's only thread wait? */
    bool named = at.role == ROLE_OWN && is_named_so(at.frame) &&
                 profile_thread_count(call_tree_profile(t)) > 1;
    bool paused = share_of(sums[node].paused_ns, sums[node].ns) >= much_asked;
    bool loops = own && (named || paused || pauses(at.frame));
    return loops && is_tight(&sums[node], LOOP_BYTES) ? OWN_SPIN_LOOPS : OWN_SPIN_NONE;
}

static bool may_run(const struct run *run)
{
    return run->state == RUN_RUNNING || run->state == RUN_RUNNABLE ||
           run->state == RUN_RUNNING_OR_RUNNABLE;
}

/* Is there a frame that could speak for a wait?  Most recordings have none, and no stack needs a
 * look. */
static bool may_spin(const struct view *v)
{
    for (uint32_t id = 1; id <= view_frame_count(v); id++) {
        const struct shown_frame *f = view_frame(v, id);
        bool code = f->kind == SHOWN_NATIVE || f->kind == SHOWN_PYTHON;
        if (code &&
            (asks_of(f, 1) || pauses(f) || (is_named_so(f) && frame_role(f, false) == ROLE_OWN)))
            return true;
    }
    return false;
}

void own_spins_mark(struct call_tree *t, struct view *v)
{
    const struct profile *p = call_tree_profile(t);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) { /* so that all nodes are there */
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        for (size_t k = 0; k < thread->n_runs; k++)
            (void)call_tree_of(t, thread->runs[k].at);
    }
    if (!may_spin(v))
        return;
    uint32_t n = call_tree_count(t);
    struct spot_sum *sums = xcalloc(n + (size_t)1, sizeof *sums);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        for (size_t k = 0; k < thread->n_runs; k++)
            if (may_run(&thread->runs[k]))
                add_run(t, v, thread, &thread->runs[k], sums);
    }
    for (uint32_t node = 1; node <= n; node++)
        call_tree_mark_spin(t, node, kind_of(t, node, sums));
    free(sums);
}
