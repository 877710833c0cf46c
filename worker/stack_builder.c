#include "worker/stack_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/name_limiter.h"
#include "pyframes/py_capture.h"
#include "pyframes/py_internal.h"
#include "pyframes/py_locals.h"
#include "target/freezer.h"
#include "worker/foreign_states.h"
#include "worker/stack_wanted.h"

enum { MAX_TASKS = 1000 };

struct stack_builder {
    struct profile *profile;
    struct feedback *feedback;
    struct waits *waits;
    struct stack_options options;
    struct native_stack native;
    struct py_stack python;
    struct merged_stack merged;
    frame_id truncated, native_not_read, not_shown, collecting;
    struct name_limiter tasks;
    uint64_t merges[PY_MERGE_COUNT], samples, not_complete, not_held, guessed, python_cut,
        hook_incomplete, unknown_code, foreign_found, early;
    struct foreign_search foreign;
    struct py_locals locals;
};

struct stack_builder *stack_builder_new(struct profile *profile, struct feedback *feedback,
                                        struct waits *waits, const struct stack_options *options)
{
    struct stack_builder *st = xcalloc(1, sizeof *st);
    st->profile = profile;
    st->feedback = feedback;
    st->waits = waits;
    st->options = *options;
    st->native.capacity = UNWIND_MAX_FRAMES;
    st->native.frames = xmalloc(UNWIND_MAX_FRAMES * sizeof *st->native.frames);
    st->python.capacity = PY_MAX_FRAMES;
    st->python.frames = xmalloc(PY_MAX_FRAMES * sizeof *st->python.frames);
    st->merged.capacity = py_merge_room(UNWIND_MAX_FRAMES, PY_MAX_FRAMES);
    st->merged.frames = xmalloc(st->merged.capacity * sizeof *st->merged.frames);
    st->truncated = profile_mark(profile, "[truncated]", NULL);
    st->collecting = profile_mark(profile, "[gc]", NULL);
    st->native_not_read = profile_mark(profile, "[native frames not read]", NULL);
    st->not_shown = profile_mark(profile, "[not shown]", NULL); /* as view.c says it */
    return st;
}

void stack_builder_prepare(const struct stack_builder *st, struct target_process *s)
{
    s->want_tasks = st->options.tasks;
    s->want_locals = st->options.locals;
    s->want_all_locals = st->options.all_locals;
    s->no_python = st->options.no_python && !st->options.gil_only;
}

static bool lacks_registers(const struct native_stack *native)
{
    bool guessed = false;
    for (size_t i = 0; i < native->n && native->lacked_registers; i++)
        guessed |= native->frames[i].trust == FRAME_GUESSED;
    return guessed || native->end == UNWIND_NEEDS_REGS;
}

static void give_feedback(struct stack_builder *st, const struct sample_message *m)
{
    const struct native_stack *native = &st->native;
    uint32_t task = m->head.thread;
    if (!st->feedback || (native->end != UNWIND_DONE && native->end != UNWIND_STACK_CUT &&
                          native->end != UNWIND_NEEDS_REGS))
        return;
    if (lacks_registers(native) && !m->snapshot.held_ns)
        feedback_want_registers(st->feedback, task, m->head.sched.runs);
    if (!m->snapshot.stack_unknown)
        stack_wanted_send(st->feedback, task, native, &m->snapshot);
}

static void unwind(struct stack_builder *st, struct target_process *s,
                   const struct sample_message *m, const struct snapshot *snapshot)
{
    st->native.n = 0;
    st->native.end = UNWIND_DONE;
    if (st->options.no_native || m->head.flags & (SAMPLE_NOT_HELD | SAMPLE_WAITS_UNASKED))
        return;
    unwinder_run(s->unwinder, snapshot, &st->native);
    if (target_process_catch_up(s, &st->native, snapshot->taken_ns))
        unwinder_run_again(s->unwinder, snapshot, &st->native);
    else if (st->feedback && target_process_is_behind(s, &st->native))
        feedback_want_recapture(st->feedback, m->head.thread, m->head.sched.runs);
    give_feedback(st, m);
}

static bool python_is_cut(const struct stack_builder *st)
{
    return st->python.end != PY_WALK_DONE && st->python.end != PY_WALK_TORN;
}

/* Held where the thread state leads to no Python frame, for some instructions: the C stack
 * knows. */
static void walk_caller(struct stack_builder *st, struct target_process *s,
                        const struct snapshot *snapshot)
{
    uint64_t low, high;
    if (st->python.n == 0 && snapshot->n_hook_words == 1 &&
        py_merge_caller(s->python->merger, &st->native, &low, &high))
        (void)py_walk_caller(s->python->runtime, snapshot->mem, snapshot->hook_words[0], low, high,
                             &st->python);
}

static void walk(struct stack_builder *st, struct target_process *s,
                 const struct snapshot *snapshot)
{
    st->python.n = st->python.n_left = st->python.n_states = 0;
    st->python.end = PY_WALK_DONE;
    if (!s->python || st->options.no_python || !snapshot->n_hook_words)
        return;
    (void)py_walk(s->python->runtime, snapshot->mem, snapshot->hook_words, snapshot->n_hook_words,
                  &st->python);
    walk_caller(st, s, snapshot);
    st->python_cut += python_is_cut(st);
    st->hook_incomplete += snapshot->incomplete;
    py_codes_check(s->python->codes, snapshot->mem, snapshot->taken_ns, &st->python);
}

/* Where unwinding ended early, what Python left on the C stack may lead on. */
static void resume(struct stack_builder *st, struct target_process *s,
                   const struct snapshot *snapshot)
{
    struct known_frame known[PY_MAX_KNOWN];
    const struct native_stack *native = &st->native;
    bool early = native->n && native->end != UNWIND_DONE && native->end != UNWIND_STACK_CUT;
    size_t n = 0;
    if (early && st->python.n)
        n = py_merge_known(s->python->merger, &st->python, native->frames[native->n - 1].sp, known);
    for (size_t i = 0; i < n; i++)
        if (unwinder_resume(s->unwinder, snapshot, &known[i], &st->native))
            return;
}

/* A code object is recorded once, maybe with this stack, which is hidden. */
static void learn_codes(struct stack_builder *st, struct target_process *s,
                        const struct snapshot *snapshot)
{
    frame_id frame;
    bool hidden;
    for (size_t i = 0; i < st->python.n; i++)
        (void)py_code_resolve(s->python->codes, snapshot->mem, &st->python.frames[i], &frame,
                              &hidden);
}

/* A capture from before Python was found in the process: a frame in their place says that Python's
 * frames are missing, and nothing went wrong. */
static void settle_early(struct stack_builder *st, const struct snapshot *snapshot)
{
    if (!snapshot->unhooked || st->merged.result != PY_MERGE_MISMATCH)
        return;
    st->merged.result = PY_MERGE_NO_PYTHON;
    st->merged.unmatched = 0;
    st->early++;
}

static void merge(struct stack_builder *st, struct target_process *s,
                  const struct sample_message *m, const struct snapshot *snapshot)
{
    struct merged_stack *merged = &st->merged;
    if (s->python && !st->options.no_python) {
        py_merge(s->python->merger, snapshot->mem, &st->native, &st->python, snapshot->syscall,
                 merged);
        settle_early(st, snapshot);
        st->foreign_found += foreign_states_find(&st->foreign, s, m, snapshot->mem, &st->native,
                                                 &st->python, merged);
    } else {
        merged->result = PY_MERGE_NO_PYTHON;
        merged->elsewhere = 0;
        merged->n = st->native.n;
        for (uint32_t i = 0; i < merged->n; i++)
            merged->frames[i] = (struct merged_frame){.kind = MERGED_NATIVE, .index = i};
    }
    st->merges[merged->result] += !(m->head.flags & SAMPLE_WAITS_UNASKED);
}

/* Code of CPython's JIT compiler leads to the eval loop's C frame, which the marker proves: no
 * guess on the way there counts. */
static frame_id native_frame_of(struct stack_builder *st, struct target_process *s, size_t i)
{
    struct native_frame *f = &st->native.frames[i];
    bool jit = s->python && py_merge_is_jit(s->python->merger, &st->native, i);
    if (jit && f->trust == FRAME_GUESSED)
        f->trust = FRAME_RECOVERED;
    return target_process_native_frame(s, f, jit ? PY_JIT_NAME : NULL);
}

static frame_id frame_of(struct stack_builder *st, struct target_process *s,
                         const struct snapshot *snapshot, const struct merged_frame *f)
{
    frame_id ret = {0};
    bool hidden = false;
    if (f->kind == MERGED_NATIVE)
        return native_frame_of(st, s, f->index);
    if (f->kind == MERGED_NOTE)
        return profile_mark(st->profile, f->note, NULL);
    st->unknown_code += py_code_resolve(s->python->codes, snapshot->mem,
                                        &st->python.frames[f->index], &ret, &hidden) < 0;
    if (st->options.locals && !hidden)
        py_locals_add(&st->locals, s->python->runtime, snapshot->mem, &st->python.frames[f->index],
                      st->options.all_locals);
    return hidden ? (frame_id){0} : ret;
}

/* Is the root missing?  Native frames missing between Python's frames are the merge's to mark. */
static bool is_truncated(const struct stack_builder *st)
{
    const struct merged_stack *merged = &st->merged;
    if (merged->n && merged->frames[merged->n - 1].kind == MERGED_PYTHON)
        return python_is_cut(st) || (merged->root_matched && st->native.end != UNWIND_DONE);
    return st->native.end != UNWIND_DONE;
}

/* How many merged frames the task that the thread runs has; SIZE_MAX: it runs none, or its
 * coroutine is just being entered or left.  A coroutine of another type has no frame: then the
 * whole stack is the task's. */
static size_t find_task(struct stack_builder *st, struct target_process *s,
                        const struct snapshot *snapshot, frame_id *ret_mark)
{
    const struct merged_stack *merged = &st->merged;
    struct text name = {0};
    uint64_t self = 0;
    int r = -ENOENT;
    text_add(&name, "[task ");
    for (uint32_t i = 0; r < 0 && s->python && s->python->tasks && i < snapshot->n_hook_words; i++)
        r = py_task_read(s->python->tasks, snapshot->mem, snapshot->hook_words[i], &name, &self);
    text_add(&name, "]");
    if (r == 0) {
        name_limiter_limit(&st->tasks, &name, MAX_TASKS, name_limiter_by_group);
        *ret_mark = profile_mark(st->profile, name.s, NULL);
    }
    text_release(&name);
    if (r < 0 || merged->n == 0)
        return SIZE_MAX;
    for (size_t i = 0; self && i < merged->n; i++)
        if (merged->frames[i].kind == MERGED_PYTHON &&
            st->python.frames[merged->frames[i].index].self == self)
            return i + 1;
    return self ? SIZE_MAX : merged->n;
}

/* How many merged frames are inside of the collector's mark; SIZE_MAX: the thread does not collect
 * garbage. */
static size_t find_collector(struct stack_builder *st, struct target_process *s,
                             const struct snapshot *snapshot)
{
    const struct merged_stack *merged = &st->merged;
    if (!s->python || !snapshot->n_hook_words)
        return SIZE_MAX;
    struct py_gc_found found = py_gc_find(s->python->gc, snapshot->mem, snapshot->hook_words,
                                          snapshot->n_hook_words, &st->native, &st->python);
    unsigned kind = found.place == PY_GC_NATIVE ? MERGED_NATIVE : MERGED_PYTHON;
    for (size_t i = 0; found.place != PY_GC_NONE && i < merged->n; i++)
        if (merged->frames[i].kind == kind && merged->frames[i].index == found.index)
            return i + (kind == MERGED_NATIVE);
    return SIZE_MAX;
}

static stack_id intern(struct stack_builder *st, struct target_process *s,
                       const struct snapshot *snapshot)
{
    stack_id stack = {0};
    frame_id task = {0};
    size_t task_at = st->options.tasks ? find_task(st, s, snapshot, &task) : SIZE_MAX;
    size_t gc_at = find_collector(st, s, snapshot);
    if (is_truncated(st))
        stack = profile_push(st->profile, stack, st->truncated);
    for (size_t inside = st->merged.n;; inside--) {
        if (inside == task_at)
            stack = profile_push(st->profile, stack, task);
        if (inside == gc_at)
            stack = profile_push(st->profile, stack, st->collecting);
        if (inside == 0)
            return stack;
        frame_id frame = frame_of(st, s, snapshot, &st->merged.frames[inside - 1]);
        if (frame.ix)
            stack = profile_push(st->profile, stack, frame);
    }
}

static struct py_gil_state gil_of(const struct stack_builder *st, struct target_process *s,
                                  const struct snapshot *snapshot)
{
    struct py_gil_state ret = {.gil = PY_GIL_ABSENT};
    if (!s->python || !snapshot->n_hook_words)
        return ret;
    ret = py_gil_state(s->python->runtime, snapshot->mem, snapshot->hook_words,
                       snapshot->n_hook_words, snapshot->syscall, snapshot->syscall_args[0]);
    if (ret.gil == PY_GIL_ABSENT && st->options.gil_only)
        log_warn("no GIL", "CPython %s of %d runs without a GIL: --gil leaves out all it does.",
                 py_runtime_version(s->python->runtime), s->pid);
    return ret;
}

/* Leaves the thread states of STATES, a bit for each, out of the hook_words. */
static void forget_states(const struct target_process *s, struct snapshot *snapshot,
                          uint32_t states)
{
    uint64_t own = snapshot->hook_words[snapshot->n_hook_words - 1];
    uint32_t n = 0;
    for (uint32_t i = 0; i < snapshot->n_hook_words; i++)
        if (states >> i & 1)
            py_capture_remove_foreign(s->python->capture, own, snapshot->hook_words[i]);
        else
            snapshot->hook_words[n++] = snapshot->hook_words[i];
    snapshot->n_hook_words = n;
}

/* The thread states that it runs. */
static void list_states(const struct stack_builder *st, uint64_t ret[SNAPSHOT_HOOK_WORDS])
{
    static_assert((int)PY_MAX_STATES <= (int)SNAPSHOT_HOOK_WORDS, "room");
    size_t n = 0;
    for (size_t k = 0; k < st->python.n_states; k++)
        if (!(st->merged.elsewhere >> k & 1))
            ret[n++] = st->python.states[k];
}

/* Frames that are shown.  An eval frame that was guessed, but holds the marker of its Python
 * frames, was guessed right, and is replaced by them. */
static uint64_t count_guessed(const struct stack_builder *st)
{
    uint64_t n = 0;
    for (size_t i = 0; i < st->merged.n; i++)
        n += st->merged.frames[i].kind == MERGED_NATIVE &&
             st->native.frames[st->merged.frames[i].index].trust == FRAME_GUESSED;
    return n;
}

/* The ranges are sorted in place: the message is ours until it is released. */
static void open_memory(const struct sample_message *m, struct snapshot_mem *ret)
{
    snapshot_mem_init(ret, m,
                      (struct snapshot_range *)(uintptr_t)((const uint8_t *)m + m->ranges_offset),
                      m->range_count);
}

bool stack_builder_thread_name(struct target_process *s, const struct sample_message *m,
                               struct text *out)
{
    struct snapshot_mem memory;
    uint32_t n = m->snapshot.n_hook_words;
    text_clear(out);
    if (!s->python || !n || m->head.flags & SAMPLE_NO_STACK)
        return false;
    open_memory(m, &memory);
    return py_thread_names_of_state(s->python->names, &memory.mem, m->snapshot.hook_words[n - 1],
                                    out) == 0 &&
           out->len > 0;
}

/* Is S's cgroup frozen?  Asked for blocked threads, at most every two seconds. */
static bool is_frozen(struct target_process *s, const struct sample_message *m)
{
    enum { EVERY_S = 2 };
    if (m->snapshot.state != THREAD_BLOCKED)
        return false;
    if (!s->freezer_read_ns || m->head.time_ns - s->freezer_read_ns > (int64_t)EVERY_S * NS_PER_S) {
        s->freezer_read_ns = m->head.time_ns;
        s->frozen = freezer_is_frozen(s->pid);
    }
    return s->frozen;
}

/* Do both stacks reach their roots, and fit together? */
static bool is_whole(const struct stack_builder *st)
{
    return st->native.end == UNWIND_DONE && !is_truncated(st) && !python_is_cut(st) &&
           st->merged.result <= PY_MERGE_ENTERING;
}

/* Counts what M's stack is like.  Is it complete? */
static bool note_quality(struct stack_builder *st, const struct sample_message *m)
{
    uint64_t guessed = count_guessed(st);
    bool not_held = m->head.flags & SAMPLE_NOT_HELD;
    bool complete = is_whole(st) && guessed == 0 && !not_held;
    st->guessed += guessed;
    st->not_held += not_held;
    st->samples++;
    st->not_complete += !complete;
    if (trace_want(TRACE_MERGE))
        trace(TRACE_MERGE, "%d: %zu native (end %d), %zu python (end %d), merge %d", m->head.tid,
              st->native.n, st->native.end, st->python.n, st->python.end, st->merged.result);
    return complete;
}

/* Where the thread is in its Python code, for a wait like it. */
static void hash_python(const struct stack_builder *st, struct built_stack *ret)
{
    uint64_t hash = 0;
    for (size_t i = st->python.n; i-- > 0;) {
        const struct py_frame *f = &st->python.frames[i];
        ret->outer_hash = hash_u64(hash ^ f->code);
        hash = hash_u64(ret->outer_hash ^ (uint64_t)(uint32_t)f->lasti ^ f->instr);
    }
    ret->python_hash = hash;
}

/* Where native frames are not shown none is missing. */
static stack_id mark_not_read(const struct stack_builder *st, stack_id stack)
{
    if (!st->options.no_native)
        return profile_push(st->profile, stack, st->native_not_read);
    return stack.ix ? stack : profile_push(st->profile, stack, st->not_shown);
}

/* The thread waits for a CPU, and only its Python frames were read, which are STACK. */
static void finish_unasked(struct stack_builder *st, stack_id stack, struct built_stack *ret)
{
    ret->plain_stack = stack;
    ret->settled.stack = mark_not_read(st, stack);
    ret->at.stack = ret->settled.stack;
    ret->at.wait = profile_wait(st->profile, &(struct wait){.kind = WAIT_CPU});
}

/* Where the thread of SNAPSHOT, M's, is on STACK, and what it waits for there. */
static void finish(struct stack_builder *st, struct target_process *s,
                   const struct sample_message *m, const struct snapshot *snapshot, stack_id stack,
                   struct built_stack *ret)
{
    const struct wait_sample sample = {.target = target_process_for_waits(s),
                                       .m = m,
                                       .recorded = snapshot->mem,
                                       .python = &st->python,
                                       .gil = ret->gil,
                                       .frozen = is_frozen(s, m)};
    ret->settled.stack = stack.ix ? stack : profile_push(st->profile, stack, st->not_shown);
    ret->at.wait = waits_describe(st->waits, &sample);
    ret->times_out_ns = waits_time_out_ns(&sample);
    ret->at.stack = ret->at.wait.ix ? stack : ret->settled.stack;
    ret->was_woken = snapshot->state == THREAD_RUNNABLE && syscall_mostly_sleeps(snapshot->syscall);
    if (ret->was_woken)
        ret->settled.wait = waits_describe_before(st->waits, &sample);
    ret->complete = note_quality(st, m);
}

struct built_stack stack_builder_build(struct stack_builder *st, struct target_process *s,
                                       const struct sample_message *m)
{
    struct snapshot snapshot = m->snapshot;
    struct snapshot_mem memory;
    open_memory(m, &memory);
    snapshot.mem = &memory.mem;
    size_t stack_len = 0;
    snapshot.stack = snapshot_mem_at(&memory, snapshot.stack_start, &stack_len);
    if (stack_len < snapshot.stack_bytes)
        snapshot.stack = NULL;
    struct built_stack ret = {.gil = gil_of(st, s, &snapshot)};
    if (st->options.gil_only && ret.gil.gil != PY_GIL_HOLDING) {
        st->native.n = 0; /* of the sample before */
        walk(st, s, &snapshot);
        learn_codes(st, s, &snapshot);
        ret.left_out = true;
        return ret;
    }
    unwind(st, s, m, &snapshot);
    walk(st, s, &snapshot);
    resume(st, s, &snapshot);
    merge(st, s, m, &snapshot);
    if (st->merged.elsewhere) {
        learn_codes(st, s, &snapshot);
        forget_states(s, &snapshot, st->merged.elsewhere);
        ret.gil = gil_of(st, s, &snapshot);
        ret.left_out = st->options.gil_only && ret.gil.gil != PY_GIL_HOLDING;
    }
    if (ret.left_out)
        return ret;
    list_states(st, ret.python_threads);
    py_locals_clear(&st->locals);
    stack_id stack = intern(st, s, &snapshot);
    ret.locals = &st->locals;
    ret.python = st->merged.result != PY_MERGE_NO_PYTHON;
    if (snapshot.state == THREAD_RUNNABLE) {
        hash_python(st, &ret);
        ret.plain = st->merged.n && st->merged.frames[0].kind == MERGED_PYTHON;
    }
    if (m->head.flags & SAMPLE_WAITS_UNASKED) {
        finish_unasked(st, stack, &ret);
        return ret;
    }
    if (m->head.flags & SAMPLE_NOT_HELD)
        stack = mark_not_read(st, stack);
    finish(st, s, m, &snapshot, stack, &ret);
    return ret;
}

struct built_stack stack_builder_mark(struct stack_builder *st, struct target_process *s,
                                      const struct sample_message *m)
{
    struct built_stack ret = {0};
    const struct wait_sample sample = {
        .target = target_process_for_waits(s), .m = m, .gil = {.gil = PY_GIL_ABSENT}};
    if (m->head.flags & (SAMPLE_TRACED | SAMPLE_IO_WORKER | SAMPLE_NEVER_STOPPED))
        ret.at.wait = ret.settled.wait = waits_describe(st->waits, &sample);
    return ret;
}

void stack_builder_report(const struct stack_builder *st, struct profile *profile)
{
    static const enum metric merges[PY_MERGE_COUNT] = {
        [PY_MERGE_NO_PYTHON] = METRIC_MERGE_NO_PYTHON,
        [PY_MERGE_EXACT] = METRIC_MERGE_EXACT,
        [PY_MERGE_ENTERING] = METRIC_MERGE_ENTERING,
        [PY_MERGE_NATIVE_CUT] = METRIC_MERGE_NATIVE_CUT,
        [PY_MERGE_MISMATCH] = METRIC_MERGE_MISMATCH,
    };
    profile_set_number(profile, METRIC_STACKS_MADE, (double)st->samples);
    profile_set_number(profile, METRIC_STACKS_NOT_COMPLETE, (double)st->not_complete);
    profile_set_number(profile, METRIC_SAMPLES_NOT_HELD, (double)st->not_held);
    profile_set_number(profile, METRIC_FRAMES_GUESSED, (double)st->guessed);
    for (int i = 0; i < PY_MERGE_COUNT; i++)
        profile_set_number(profile, merges[i], (double)st->merges[i]);
    profile_set_number(profile, METRIC_PYTHON_WALKS_CUT, (double)st->python_cut);
    profile_set_number(profile, METRIC_STACKS_BEFORE_PYTHON, (double)st->early);
    profile_set_number(profile, METRIC_STACKS_OF_OTHERS_STATES, (double)st->foreign_found);
    profile_set_number(profile, METRIC_PYTHON_READS_FAILED, (double)st->hook_incomplete);
    profile_set_number(profile, METRIC_UNKNOWN_CODE_OBJECTS, (double)st->unknown_code);
}

struct stack_builder *stack_builder_free(struct stack_builder *st)
{
    if (!st)
        return NULL;
    free(st->native.frames);
    free(st->python.frames);
    free(st->merged.frames);
    py_locals_release(&st->locals);
    name_limiter_release(&st->tasks);
    free(st);
    return NULL;
}
