#include "summary/own_spins.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/share.h"
#include "summary/asks.h"
#include "summary/spot_map.h"
#include "summary/wait_name.h"

enum { LEAST_SAMPLES = 20, MANY_SAMPLES = 100, LOOP_BYTES = 64, LOOP_LINES = 2 };
static const double most_of_it = 0.9;
static const double little_else = 0.1;  /* of a function's own time */
static const double mostly_asked = 0.5; /* of it, in Python */
static const double mostly_tried = 0.7; /* of it, in native code */
static const double much_paused = 0.3;

/* The time that runs of one spot took: equal spots have equal stacks, so that each is looked at
 * once, however many runs there are. */
struct row {
    struct spot at;
    process_id process; /* the first that was seen there: another one has other addresses */
    uint32_t node;      /* the samples of one are looked at together */
    uint32_t owner;     /* the user's innermost function; 0: there is none */
    uint64_t place;     /* an address or a line of NODE; 0: unknown */
    uint64_t call;      /* the same of OWNER */
    uint64_t samples;
    int64_t ns;
    enum asked asked;
    bool other, pauses, atomic; /* in other functions; in the CPU's pause; in an atomic variable */
};
struct rows {
    struct row *items;
    size_t n, capacity;
};
/* What some rows have in common. */
struct sum {
    uint64_t samples;
    int64_t ns, other_ns, pause_ns, atomic_ns, asked_ns[ASKED_UNTOLD + 1];
};
typedef uint64_t place_of(const struct row *row);

static bool pauses(const struct shown_frame *f)
{
    static const char *const names[] = {"_mmpause_", "_cpurelax_", "_iapause_", "_yieldprocessor_",
                                        NULL};
    return strstr(f->name, "hint::spin_loop") || strstr(f->name, "spin_loop_hint") ||
           wait_name_has(f->name, names);
}

static bool reads_atomic(const struct shown_frame *f)
{
    return strstr(f->name, "atomic") != NULL;
}

/* No other function has such a name.  "spin_force", "price_barrier" and GNSS's "acquire" say
 * nothing. */
static bool is_named_so(const struct shown_frame *f)
{
    static const char *const names[] = {
        "_spinlock$",  "_spinwait$",      "_busywait$",  "_barrierwait$", "_waitfor_",
        "_waituntil_", "_waitatbarrier$", "_spinuntil_", "_spinwhile_",   NULL};
    return wait_name_has(f->name, names) && !asks_for_time(f->name);
}

/* Such a name needs a sample that agrees. */
static bool may_be_named_so(const struct shown_frame *f)
{
    static const char *const names[] = {
        "barrier$",      "barrierwait", "barriersync", "barrierenter",
        "barrierarrive", "spinlock",    "spinwait",    "busywait",
        "waitall",       "waiton_",     "waitwhile",   "wait$",
        "acquire$",      "acquirelock", "_lock$",      NULL};
    return wait_name_has(f->name, names) && !asks_for_time(f->name);
}

/* ---- rows ---- */

/* What ROW's STACK shows, whose innermost function of the user's is at INNER. */
static void look_at(struct row *row, const struct shown_frame *stack, size_t n, size_t inner)
{
    bool python = stack[inner].kind == SHOWN_PYTHON;
    row->place = row->call = python ? stack[inner].current_line : stack[inner].address;
    for (size_t i = inner + 1; i < n; i++) {
        const struct shown_frame *f = &stack[i];
        bool native = f->kind == SHOWN_NATIVE;
        bool atomic = native && reads_atomic(f);
        row->atomic |= atomic;
        row->other |= f->kind == SHOWN_PYTHON || (native && !f->interpreter && !f->libc);
        row->pauses |= native && f->inlined && pauses(f);
        /* Without optimisation a look at an atomic variable is a call. */
        row->place = native && !python && !atomic ? f->address : row->place;
    }
    row->asked = asks_of(stack + inner, n - inner);
}

/* A function in Python is looked at as a whole, with the library's that it calls. */
static void fill(struct row *row, struct call_tree *t, struct view *v)
{
    size_t n;
    const struct shown_frame *stack = view_stack(v, row->at, &n);
    size_t inner = n;
    while (inner && frame_role(&stack[inner - 1], false) != ROLE_OWN)
        inner--;
    row->node = call_tree_of(t, row->at);
    row->owner = inner ? call_tree_own(t, row->node) : 0;
    if (!row->owner)
        return;
    look_at(row, stack, n, inner - 1);
    if (stack[inner - 1].kind == SHOWN_PYTHON)
        row->node = row->owner;
}

static bool may_run(const struct run *run)
{
    return run->state == RUN_RUNNING || run->state == RUN_RUNNABLE ||
           run->state == RUN_RUNNING_OR_RUNNABLE;
}

static struct row *row_of(struct rows *rows, struct spot_map *numbers, const struct run *run,
                          process_id process)
{
    uint32_t number = spot_map_get(numbers, run->at);
    if (number)
        return &rows->items[number - 1];
    rows->items = array_reserve(rows->items, &rows->capacity, rows->n + 1, sizeof *rows->items);
    rows->items[rows->n++] = (struct row){.at = run->at, .process = process};
    spot_map_put(numbers, run->at, (uint32_t)rows->n);
    return &rows->items[rows->n - 1];
}

static int by_owner(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->process.ix != y->process.ix)
        return x->process.ix < y->process.ix ? -1 : 1;
    return x->at.stack.ix < y->at.stack.ix ? -1 : x->at.stack.ix > y->at.stack.ix;
}

static struct rows take_rows(struct call_tree *t, struct view *v)
{
    const struct profile *p = call_tree_profile(t);
    struct rows rows = {0};
    struct spot_map numbers;
    spot_map_init(&numbers, p);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *thread = profile_see_thread(p, (thread_id){i});
        for (size_t k = 0; k < thread->n_runs; k++) {
            const struct run *run = &thread->runs[k];
            if (!may_run(run))
                continue;
            struct row *row = row_of(&rows, &numbers, run, thread->process);
            row->samples += run->samples;
            row->ns += run->weights.wall_ns;
        }
    }
    spot_map_release(&numbers);
    for (size_t i = 0; i < rows.n; i++)
        fill(&rows.items[i], t, v);
    if (rows.n)
        qsort(rows.items, rows.n, sizeof *rows.items, by_owner);
    return rows;
}

/* ---- what rows say together ---- */

static struct sum sum_of(const struct row *rows, size_t n)
{
    struct sum sum = {0};
    for (size_t i = 0; i < n; i++) {
        bool atomic = rows[i].atomic && !rows[i].pauses;
        sum.samples += rows[i].samples;
        sum.ns += rows[i].ns;
        sum.asked_ns[rows[i].asked] += rows[i].ns;
        sum.other_ns += rows[i].other && !rows[i].asked ? rows[i].ns : 0;
        sum.pause_ns += rows[i].pauses ? rows[i].ns : 0;
        sum.atomic_ns += atomic ? rows[i].ns : 0;
    }
    return sum;
}

static uint64_t place_in_node(const struct row *row)
{
    return row->place;
}

static uint64_t place_in_owner(const struct row *row)
{
    return row->call;
}

struct placed {
    uint64_t place;
    int64_t ns;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Is nearly all of N ROWS' time within WIDTH, of that whose place is known?  Only that counts in
 * which ASKED is asked for, if it is something, and of several processes only the first one's. */
static bool is_tight(const struct row *rows, size_t n, place_of *place, uint64_t width,
                     enum asked asked)
{
    struct placed *all = xcalloc(n, sizeof *all);
    size_t placed = 0, first = 0;
    int64_t all_ns = 0, ns = 0, best_ns = 0;
    for (size_t i = 0; i < n; i++)
        if (place(&rows[i]) && rows[i].process.ix == rows[0].process.ix &&
            (!asked || rows[i].asked == asked))
            all[placed++] = (struct placed){place(&rows[i]), rows[i].ns};
    if (placed)
        qsort(all, placed, sizeof *all, by_place);
    for (size_t i = 0; i < placed; i++) {
        all_ns += all[i].ns;
        for (ns += all[i].ns; all[i].place - all[first].place >= width; first++)
            ns -= all[first].ns;
        best_ns = ns > best_ns ? ns : best_ns;
    }
    free(all);
    return all_ns && share_of(best_ns, all_ns) >= most_of_it;
}

/* For whom would a program's only thread wait, but for a child? */
static bool is_alone(const struct call_tree *t)
{
    return profile_thread_count(call_tree_profile(t)) < 2;
}

/* What a function asks for in most of the time of SUM, at least SHARE; of files there may be
 * many. */
static enum asked mostly_asks(const struct call_tree *t, const struct sum *sum, double share)
{
    static const enum asked kinds[] = {ASKED_CHILD, ASKED_LOCK, ASKED_RESULT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (share_of(sum->asked_ns[kinds[i]], sum->ns) >= share &&
            (kinds[i] == ASKED_CHILD || !is_alone(t)))
            return kinds[i];
    return ASKED_NOTHING;
}

/* What N ROWS, of one function in Python, ask for, if they do nothing else.  Bytecode of its own
 * may be work: little of it is beside the question's line. */
static enum asked python_asks(const struct call_tree *t, const struct row *rows, size_t n)
{
    const struct sum sum = sum_of(rows, n);
    enum asked asked = mostly_asks(t, &sum, mostly_asked);
    uint64_t lines = asked == ASKED_LOCK ? 1 : LOOP_LINES; /* unlocking may be the next one */
    bool asks = sum.samples >= LEAST_SAMPLES && asked &&
                share_of(sum.other_ns, sum.ns) <= little_else &&
                is_tight(rows, n, place_in_owner, lines, ASKED_NOTHING);
    return asks ? asked : ASKED_NOTHING;
}

/* What N ROWS, of one native function, try to get, if they do nothing else.  Who gets it goes on:
 * elsewhere, and calls again from elsewhere. */
static enum asked native_tries(const struct call_tree *t, const struct row *rows, size_t n)
{
    const struct sum sum = sum_of(rows, n);
    enum asked asked = mostly_asks(t, &sum, mostly_tried);
    bool tries = sum.samples >= LEAST_SAMPLES && (asked == ASKED_LOCK || asked == ASKED_CHILD) &&
                 is_tight(rows, n, place_in_owner, LOOP_BYTES, ASKED_NOTHING) &&
                 is_tight(rows, n, place_in_owner, 1, asked);
    return tries ? asked : ASKED_NOTHING;
}

/* Do N ROWS, of one node of native code, spin?  A tight loop alone may be a kernel of a
 * computation. */
static bool native_loops(const struct call_tree *t, const struct row *rows, size_t n)
{
    const struct call_node at = call_tree_node(t, rows->node);
    const struct sum sum = sum_of(rows, n);
    bool own = at.role == ROLE_OWN;
    bool paused = share_of(sum.pause_ns, sum.ns) >= much_paused || pauses(at.frame);
    bool atomic = share_of(sum.atomic_ns, sum.ns) >= much_paused;
    /* The instruction behind a pause, or behind a read that waits for another CPU's write. */
    bool stands = sum.samples >= MANY_SAMPLES && is_tight(rows, n, place_in_node, 1, ASKED_NOTHING);
    bool named =
        own && (is_named_so(at.frame) || ((atomic || stands) && may_be_named_so(at.frame)));
    return sum.samples >= LEAST_SAMPLES && (paused || named) && !is_alone(t) &&
           is_tight(rows, n, place_in_node, LOOP_BYTES, ASKED_NOTHING);
}

/* ---- all of them ---- */

/* The end of the rows from FROM on that are of its node, or of its owner. */
static size_t end_of(const struct rows *rows, size_t from, bool of_node)
{
    size_t end = from;
    while (end < rows->n && rows->items[end].owner == rows->items[from].owner &&
           (!of_node || rows->items[end].node == rows->items[from].node))
        end++;
    return end;
}

/* What functions ask for, by node, as far as their own time says. */
static enum asked *take_asked(const struct call_tree *t, const struct rows *rows)
{
    enum asked *asked = xcalloc(call_tree_count(t) + (size_t)1, sizeof *asked);
    for (size_t at = 0; at < rows->n;) {
        size_t end = end_of(rows, at, false);
        uint32_t owner = rows->items[at].owner;
        if (owner && call_tree_node(t, owner).frame->kind == SHOWN_PYTHON)
            asked[owner] = python_asks(t, &rows->items[at], end - at);
        else if (owner)
            asked[owner] = native_tries(t, &rows->items[at], end - at);
        at = end;
    }
    return asked;
}

/* Of a function that asks: its own time, that of what it calls, too, and how many of the samples
 * that follow one of its own are below it, too. */
struct loop {
    int64_t own_ns, below_ns;
    uint64_t next, stays;
};

static void add_times(const struct call_tree *t, const struct rows *rows, const enum asked *asked,
                      struct loop *loops)
{
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t node = rows->items[i].owner;
        loops[node].own_ns += rows->items[i].ns;
        for (; node; node = call_tree_node(t, node).parent)
            loops[node].below_ns += asked[node] ? rows->items[i].ns : 0;
    }
}

static void add_steps(struct call_tree *t, const struct profile_thread *thread,
                      const enum asked *asked, struct loop *loops)
{
    for (size_t i = 0; i < thread->n_runs; i++) {
        uint32_t owner = call_tree_own(t, call_tree_of(t, thread->runs[i].at));
        if (!asked[owner] || !thread->runs[i].samples)
            continue;
        loops[owner].next += thread->runs[i].samples - 1;
        loops[owner].stays += thread->runs[i].samples - 1;
        if (i + 1 == thread->n_runs || thread->runs[i + 1].state == RUN_MISSED)
            continue;
        uint32_t node = call_tree_of(t, thread->runs[i + 1].at);
        loops[owner].next++;
        loops[owner].stays += call_tree_is_within(t, node, owner);
    }
}

/* Who only asks once is called by a loop that may work between: it is left all the time.  So may
 * be a function that a loop calls. */
static void keep_loops(struct call_tree *t, const struct rows *rows, enum asked *asked)
{
    static const double least_own = 0.7, least_stays = 0.7;
    const struct profile *p = call_tree_profile(t);
    uint32_t n = call_tree_count(t);
    struct loop *loops = xcalloc(n + (size_t)1, sizeof *loops);
    add_times(t, rows, asked, loops);
    for (uint32_t i = 1; i <= profile_thread_count(p); i++)
        add_steps(t, profile_see_thread(p, (thread_id){i}), asked, loops);
    for (uint32_t node = 1; node <= n; node++)
        if (share_of(loops[node].own_ns, loops[node].below_ns) < least_own ||
            (double)loops[node].stays < least_stays * (double)loops[node].next)
            asked[node] = ASKED_NOTHING;
    free(loops);
}

static bool any_asks(const struct call_tree *t, const enum asked *asked)
{
    for (uint32_t node = 1; node <= call_tree_count(t); node++)
        if (asked[node])
            return true;
    return false;
}

/* All nodes whose owner asks: what they are, too, is part of its question. */
static void mark_askers(struct call_tree *t, const enum asked *asked)
{
    for (uint32_t node = 1; node <= call_tree_count(t); node++) {
        uint32_t owner = call_tree_own(t, node);
        if (!asked[owner])
            continue;
        bool python = call_tree_node(t, owner).frame->kind == SHOWN_PYTHON;
        if (python || call_tree_node(t, node).frame->kind == SHOWN_NATIVE)
            call_tree_mark_spin(t, node, python ? OWN_SPIN_ASKS : OWN_SPIN_LOOPS, asked[owner]);
    }
}

static void mark_loops(struct call_tree *t, const struct rows *rows)
{
    for (size_t at = 0; at < rows->n;) {
        size_t end = end_of(rows, at, true);
        const struct row *row = &rows->items[at];
        if (row->owner && call_tree_node(t, row->node).frame->kind == SHOWN_NATIVE &&
            native_loops(t, row, end - at))
            call_tree_mark_spin(t, row->node, OWN_SPIN_LOOPS, ASKED_NOTHING);
        at = end;
    }
}

static void mark_rows(struct call_tree *t, const struct rows *rows)
{
    enum asked *asked = take_asked(t, rows);
    mark_loops(t, rows);
    if (any_asks(t, asked)) {
        keep_loops(t, rows, asked);
        mark_askers(t, asked);
    }
    free(asked);
}

/* Is there a frame that could speak for a wait?  Most recordings have none, and no stack needs a
 * look. */
static bool may_spin(const struct view *v)
{
    for (uint32_t id = 1; id <= view_frame_count(v); id++) {
        const struct shown_frame *f = view_frame(v, id);
        bool code = f->kind == SHOWN_NATIVE || f->kind == SHOWN_PYTHON;
        if (code && (asks_of(f, 1) || pauses(f) || is_named_so(f) || may_be_named_so(f)))
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
    struct rows rows = take_rows(t, v);
    mark_rows(t, &rows);
    free(rows.items);
}
