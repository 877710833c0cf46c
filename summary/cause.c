#include "summary/cause.h"

#include "base/text.h"
#include "summary/asks.h"
#include "summary/frame_role.h"
#include "summary/idle.h"
#include "summary/known.h"
#include "summary/wait_class.h"

/* What the functions on a stack are about, whether they wait or not; CAUSE_UNKNOWN: nothing that is
 * known. */
static enum cause cause_of_frames(const struct shown_frame *stack, size_t n, bool on_cpu)
{
    enum cause cause = CAUSE_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        const struct shown_frame *f = &stack[i];
        if (f->kind == SHOWN_MARK && str_eq(f->name, "[gc]"))
            return CAUSE_GC;
        if (known_does(f, DOES_IMPORT))
            cause = CAUSE_IMPORTS;
        else if (cause == CAUSE_IMPORTS && frame_role(f, false) == ROLE_OWN)
            cause = CAUSE_UNKNOWN; /* the user's own module runs */
        else if (known_does(f, DOES_START_THREAD))
            cause = CAUSE_STARTS;
        else if (on_cpu && frame_passes_data(f))
            cause = CAUSE_PICKLES;
    }
    return cause;
}

/* A wait that is for somebody. */
static enum cause cause_of_ordinary(const struct call_tree *t, uint32_t node)
{
    const struct call_node at = call_tree_node(t, node);
    const char *call = at.frame->call;
    switch (at.futex) {
    case FUTEX_LOCK:
    case FUTEX_RWLOCK:
        return CAUSE_LOCK;
    case FUTEX_JOIN:
        return CAUSE_JOIN;
    case FUTEX_CONDITION:
    case FUTEX_SEMAPHORE:
    case FUTEX_BARRIER:
        return CAUSE_CONDITION;
    case FUTEX_UNKNOWN:
        break;
    }
    if (str_starts(call, "futex"))
        return waits_for_libc(t, node) ? CAUSE_LOCK : CAUSE_CONDITION;
    if (str_starts(call, "wait"))
        return CAUSE_CHILD;
    bool file_lock = str_eq(call, "flock") || str_eq(call, "fcntl");
    return file_lock || str_ends(call, "nanosleep") ? CAUSE_LOCK : CAUSE_PEER;
}

static enum cause cause_of_unusual(const struct shown_frame *f)
{
    if (f->wait == WAIT_UNKNOWN)
        return CAUSE_UNKNOWN;
    bool device =
        f->asleep || str_eq(f->call, "ioctl") || (f->object && str_starts(f->object, "/dev/"));
    return device ? CAUSE_DEVICE : CAUSE_PEER;
}

static enum cause cause_of_class(const struct call_tree *t, uint32_t node, enum wait_class class)
{
    const struct call_node at = call_tree_node(t, node);
    switch (class) {
    case CLASS_NONE:
        return CAUSE_COMPUTES;
    case CLASS_SPIN:
        return CAUSE_SPINS;
    case CLASS_IDLE:
        return CAUSE_IDLE;
    case CLASS_SLEEP:
        return CAUSE_TIMER;
    case CLASS_ORDINARY:
        return cause_of_ordinary(t, node);
    case CLASS_GIL:
        return CAUSE_GIL;
    case CLASS_FILE:
        return CAUSE_FILE;
    case CLASS_PAGE:
        return CAUSE_PAGE;
    case CLASS_UNUSUAL:
        return cause_of_unusual(at.frame);
    case CLASS_STOPPED:
    case CLASS_KINDS:
        break;
    }
    return CAUSE_STOPPED;
}

/* What a STACK of N frames that sleeps asks for between, where a library's function is known to;
 * CAUSE_TIMER: nothing that is known. */
static enum cause cause_of_sleep(const struct shown_frame *stack, size_t n)
{
    static const enum cause causes[] = {
        [ASKED_NOTHING] = CAUSE_TIMER,    [ASKED_CHILD] = CAUSE_CHILD,
        [ASKED_FILE] = CAUSE_LOCK,        [ASKED_LOCK] = CAUSE_LOCK,
        [ASKED_RESULT] = CAUSE_CONDITION, [ASKED_UNTOLD] = CAUSE_TIMER,
    };
    enum asked asked = ASKED_NOTHING;
    for (; n && !asked; n--) {
        if (frame_role(&stack[n - 1], true) == ROLE_OWN)
            break;
        asked = asks_by_sleeping(&stack[n - 1]);
    }
    return causes[asked];
}

static enum cause find_cause(struct call_tree *t, struct view *v, const struct run *run)
{
    enum wait_class class = class_of_run(t, run);
    enum cause cause = cause_of_class(t, call_tree_of(t, run->at), class);
    if (cause == CAUSE_IDLE || cause == CAUSE_STOPPED)
        return cause;
    size_t n;
    const struct shown_frame *stack = view_stack(v, run->at, &n);
    enum cause frames = cause_of_frames(stack, n, class == CLASS_NONE);
    if (frames != CAUSE_UNKNOWN)
        return frames;
    if (class == CLASS_SLEEP && run->state == RUN_BLOCKED)
        return cause_of_sleep(stack, n);
    return run->state == RUN_RUNNABLE && cause != CAUSE_SPINS ? CAUSE_CPU : cause;
}

/* Does RUN wait in functions that pass data to another process, for the user's own? */
static bool is_in_message(struct view *v, const struct run *run)
{
    size_t n;
    const struct shown_frame *stack = view_stack(v, run->at, &n);
    for (; n && frame_role(&stack[n - 1], false) != ROLE_OWN; n--)
        if (frame_passes_data(&stack[n - 1]))
            return true;
    return false;
}

/* What is kept of runs like RUN.  A walk through its stack takes microseconds, and there may be a
 * million runs at few spots. */
enum { NOTE_MESSAGE = 1 << 8 }; /* beside the cause */
static uint64_t note_of(struct call_tree *t, struct view *v, const struct run *run)
{
    uint64_t note = 0;
    if (call_tree_note(t, run, &note))
        return note;
    note = (uint64_t)find_cause(t, v, run);
    if (run->state == RUN_BLOCKED && note == CAUSE_PEER && is_in_message(v, run))
        note |= NOTE_MESSAGE;
    call_tree_set_note(t, run, note);
    return note;
}

enum cause cause_of_run(struct call_tree *t, struct view *v, const struct run *run)
{
    return (enum cause)(note_of(t, v, run) & ~(uint64_t)NOTE_MESSAGE);
}

bool waits_for_message(struct call_tree *t, struct view *v, const struct run *run)
{
    return note_of(t, v, run) & NOTE_MESSAGE;
}

const char *cause_name(enum cause cause)
{
    static const char *const names[CAUSE_KINDS] = {
        [CAUSE_UNKNOWN] = "unknown", [CAUSE_COMPUTES] = "computes",   [CAUSE_CPU] = "cpu",
        [CAUSE_GC] = "gc",           [CAUSE_IMPORTS] = "imports",     [CAUSE_PICKLES] = "pickles",
        [CAUSE_STARTS] = "starts",   [CAUSE_SPINS] = "spins",         [CAUSE_PAGE] = "page",
        [CAUSE_GIL] = "gil",         [CAUSE_LOCK] = "lock",           [CAUSE_JOIN] = "join",
        [CAUSE_CHILD] = "child",     [CAUSE_CONDITION] = "condition", [CAUSE_PEER] = "peer",
        [CAUSE_FILE] = "file",       [CAUSE_DEVICE] = "device",       [CAUSE_TIMER] = "timer",
        [CAUSE_IDLE] = "idle",       [CAUSE_STOPPED] = "stopped",     [CAUSE_FAULTS] = "faults",
        [CAUSE_NUMA] = "numa",
    };
    return names[cause];
}

bool run_is_in_idle_loop(struct call_tree *t, struct view *v, const struct run *run)
{
    size_t n;
    if (class_of_run(t, run) != CLASS_IDLE)
        return false;
    const struct shown_frame *stack = view_stack(v, run->at, &n);
    return idle_event_loop(stack, n) != NULL;
}
