#include "sampler/capture.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/altstack.h"
#include "sampler/look.h"
#include "sampler/object.h"
#include "sampler/state.h"
#include "sampler/stop_state.h"
#include "target/syscalls.h"

enum {
    OFF_CPU_ATTEMPTS = 3,
    HELD_STACK_BYTES = 512 * 1024,  /* at most: read in some 25 µs; 6 MiB held a thread for 1 ms */
    OTHER_STACK_BYTES = 512 * 1024, /* at most: half of the blocks a capture may have */
    OFF_CPU_STACK_BYTES = 128 * 1024, /* at least: nobody waits for a read without a stop */
    SPARE_RING_BYTES = 256 * 1024,    /* some 2,000 messages without a stack */
};

/* Fills the head of a message of T's and starts the count of what comes after it. */
static void fill_head(const struct sampler *s, struct task *t, struct message *m,
                      enum message_kind kind, int64_t now_ns)
{
    sleepers_settle(t);
    *m = (struct message){
        .kind = kind,
        .process = t->process->number,
        .task = t->id,
        .tid = t->tid,
        .time_ns = now_ns,
        .until_ns = t->until_ns,
        .interval_ns = s->interval_ns,
        .repeats = t->repeats,
        .sched = t->sched,
        .held_ns = t->held_ns,
    };
    t->sampled |= kind == MESSAGE_SAMPLE;
    t->until_ns = now_ns;
    t->repeats = 0;
}

/* What was read of a thread that was killed while it was held, before anything else takes its place in the ring. */
static void drop_held(struct sampler *s)
{
    counters_add(&s->counters, COUNT_REFUSED, s->held.task != NULL);
    s->held = (struct held_capture){0};
}

bool capture_tell(struct sampler *s, struct task *t, enum message_kind kind, uint32_t flags,
                  int64_t now_ns)
{
    drop_held(s);
    struct sample_message *m =
        ring_reserve(s->ring, sizeof *m + (kind == MESSAGE_SAMPLE ? SPARE_RING_BYTES : 0));
    if (!m) {
        counters_add(&s->counters, COUNT_RING_FULL, 1);
        return false;
    }
    *m = (struct sample_message){.snapshot.state = t->state};
    fill_head(s, t, &m->head, kind, now_ns);
    m->head.flags = flags;
    ring_commit(s->ring, kind == MESSAGE_SAMPLE ? sizeof *m : sizeof m->head);
    s->told = true;
    return true;
}

static size_t stack_wanted(struct sampler *s, struct task *t)
{
    uint32_t wanted = feedback_stack(&s->feedback, t->id);
    if (wanted)
        t->stack_bytes = wanted;
    /* There is no second look. */
    if (s->config.freeze && t->stack_bytes < HELD_STACK_BYTES)
        t->stack_bytes = HELD_STACK_BYTES;
    return t->stack_bytes < MAX_STACK_BYTES ? t->stack_bytes : MAX_STACK_BYTES;
}

static uint32_t run_hook(struct task *t, struct recorder *r, struct snapshot *snapshot)
{
    const struct capture_hook *hook = process_hook(t->process);
    if (hook != t->process->told_hook)
        hook = NULL; /* it would find nothing */
    t->hook = hook;
    snapshot->unhooked = !hook;
    if (!hook)
        return 0;
    return hook->capture(hook->ctx, &r->mem, t->ns_tid, snapshot->fs_base, snapshot->annex,
                         &snapshot->incomplete);
}

static void undo_hook(struct task *t)
{
    if (t->hook)
        t->hook->undo(t->hook->ctx);
}

/* How many of MAX bytes from SP on lie in the stack's mapping.  RET_CUT: the stack may go on
 * behind them. */
static size_t within_area(struct sampler *s, struct task *t, uint64_t sp, size_t max, bool *ret_cut)
{
    bool unknown;
    uint64_t left = stack_area_end(t, sp, &unknown) - sp;
    counters_add(&s->counters, COUNT_STACKS_UNKNOWN, unknown);
    *ret_cut = unknown || left > max;
    return left < max ? left : max;
}

/* If the stack just read is an alternate signal stack, reads the one that the signal found, too. */
static void read_other_stack(struct sampler *s, struct task *t, struct snapshot *snapshot,
                             size_t max)
{
    struct recorder *r = &s->recorder;
    uint64_t sp = snapshot->stack_start;
    if (!snapshot->stack_bytes ||
        !altstack_interrupted(recorder_stack_at(r, sp), snapshot->stack_bytes, sp,
                              &snapshot->other_start))
        return;
    if (!snapshot->held_ns)
        stack_area_learn(t, snapshot->other_start);
    max = max < OTHER_STACK_BYTES ? max : OTHER_STACK_BYTES;
    max = within_area(s, t, snapshot->other_start, max, &snapshot->other_cut);
    snapshot->other_bytes = recorder_read_more(r, snapshot->other_start, max);
    snapshot->other_cut &= snapshot->other_bytes >= max;
}

/* What lies above frames too large to be read whole, up to the stack's END. */
static void read_parts(struct sampler *s, const struct task *t, uint64_t sp, uint64_t end)
{
    struct stack_part parts[FEEDBACK_PARTS];
    size_t n = feedback_parts(&s->feedback, t->id, parts);
    for (size_t i = 0; i < n; i++) {
        uint64_t left = parts[i].addr >= sp && parts[i].addr < end ? end - parts[i].addr : 0;
        if (left)
            (void)recorder_read_more(&s->recorder, parts[i].addr,
                                     parts[i].len < left ? parts[i].len : left);
    }
}

/* Reads the memory of a capture into M, which has room for STACK and EXTRA_CAPTURE_BYTES more. */
static void read_memory(struct sampler *s, struct task *t, struct sample_message *m, size_t stack,
                        bool parts)
{
    static const struct prefetch nothing;
    struct recorder *r = &s->recorder;
    struct snapshot *snapshot = &m->snapshot;
    recorder_begin(r, t->process->live, m, sizeof *m, sizeof *m + stack + EXTRA_CAPTURE_BYTES);
    if (stack) {
        uint64_t sp = snapshot->stack_start = snapshot->regs.r[X86_RSP];
        size_t most = within_area(s, t, sp, stack, &snapshot->stack_cut);
        snapshot->stack_bytes =
            recorder_read_stack(r, sp, most, t->prefetch ? t->prefetch : &nothing);
        snapshot->stack_cut &= snapshot->stack_bytes >= most;
        snapshot->stack_unknown = t->area_unknown != 0;
        read_other_stack(s, t, snapshot, stack);
        if (parts)
            read_parts(s, t, sp, stack_area_end(t, sp, &(bool){0}));
    }
    snapshot->annex_words = run_hook(t, r, snapshot);
}

/* Publishes M with what the recorder holds. */
static void publish(struct sampler *s, struct task *t, struct sample_message *m)
{
    struct recorder *r = &s->recorder;
    size_t bytes = recorder_finish(r, &m->ranges_offset, &m->range_count);
    feedback_forget_again(&s->feedback, t->id);
    if (!bytes) {
        counters_add(&s->counters, COUNT_RING_FULL, 1);
        return;
    }
    ring_commit(s->ring, bytes);
    s->told = true;
    t->stack_cut = m->snapshot.stack_cut || m->snapshot.other_cut;
    t->wants_prefetch = r->n_wanted > 0;
    counters_add(&s->counters, COUNT_READS, r->reads);
    r->reads = 0;
    if (t->prefetch)
        recorder_remember(r, t->prefetch);
}

/* With room to spare, so that what a full ring loses are samples, never a thread's birth or end. */
static size_t capture_bytes(size_t stack)
{
    return sizeof(struct sample_message) + stack + EXTRA_CAPTURE_BYTES + SPARE_RING_BYTES;
}

static struct sample_message *reserve(struct sampler *s, size_t stack)
{
    drop_held(s);
    struct sample_message *m = ring_reserve(s->ring, capture_bytes(stack));
    if (m)
        memset(m, 0, sizeof *m);
    else
        counters_add(&s->counters, COUNT_RING_FULL, 1);
    return m;
}

/* Is T's process under SIGSTOP ('T') or a debugger's stop ('t': never ours, whom we asked to stop is not
 * looked at)?  All its threads are then, so one is asked once a tick: reading stat takes as long as a
 * capture. */
static char stopped_how(const struct sampler *s, const struct task *t, bool in_call)
{
    struct process *p = t->process;
    uint64_t tick = counters_get(&s->counters, COUNT_TICKS) + 1;
    /* A stop spreads over the threads while they are visited: who is outside a call is asked itself. */
    if (p->stop_asked == tick && (in_call || p->stopped))
        return p->stopped;
    char state = threads_state(t);
    p->stop_asked = tick;
    p->stopped = '\0';
    if (state == 'T' || state == 't')
        p->stopped = state;
    return p->stopped;
}

/* The kernel calls a time-out that goes on after a stop restart_syscall: its name from before. */
static int64_t call_number(const struct task *t, int64_t number, uint64_t sp, uint64_t pc)
{
    bool restarted =
        number == SYS_restart_syscall && sp && sp == t->stopped_at.sp && pc == t->stopped_at.pc;
    return restarted ? t->stopped_at.syscall : number;
}

struct wait_place capture_place(const struct task *t, const struct syscall_state *view)
{
    return (struct wait_place){call_number(t, view->number, view->sp, view->pc), view->sp,
                               view->pc};
}

bool capture_same_place(const struct wait_place *a, const struct wait_place *b)
{
    return a->syscall == b->syscall && a->sp == b->sp && a->pc == b->pc;
}

bool capture_resumed(const struct task *t, const struct syscall_state *view)
{
    struct wait_place place = capture_place(t, view);
    return view->view == SYSCALL_BLOCKED && t->stopped_runs && t->sched.runs == t->stopped_runs &&
           capture_same_place(&place, &t->stopped_at);
}

/* A blocked thread is put on a CPU twice by a stop: to stop, and to go back into its call, or to be stopped by
 * SIGSTOP again. */
static void note_wait(struct task *t, const struct stop *stop)
{
    uint64_t sp = stop->regs.r[X86_RSP];
    uint64_t pc = stop->regs.r[X86_PC];
    if (!stop->restarting && !stop->job_stopped)
        return;
    int64_t number = stop->syscall < 0 ? -1 : call_number(t, stop->syscall, sp, pc);
    t->stopped_at = (struct wait_place){number, sp, pc};
    t->stopped_runs = t->requested_state == THREAD_BLOCKED ? t->requested_sched.runs + 2 : 0;
}

/* Returns enum sample_flags. */
static uint32_t describe_off_cpu(const struct sampler *s, struct snapshot *snapshot,
                                 const struct task *t, const struct syscall_state *view)
{
    snapshot->tid = t->tid;
    snapshot->taken_ns = clock_now_ns();
    char stopped = stopped_how(s, t, view->number >= 0);
    snapshot->state = stopped ? THREAD_STOPPED : THREAD_BLOCKED;
    snapshot->syscall = call_number(t, view->number, view->sp, view->pc);
    memcpy(snapshot->syscall_args, view->args, sizeof view->args);
    snapshot->regs.r[X86_RSP] = view->sp;
    snapshot->regs.r[X86_PC] = view->pc;
    snapshot->regs.known = 1U << X86_RSP | 1U << X86_PC;
    if (view->number >= 0) { /* glibc's vfork keeps its return address there */
        snapshot->regs.r[X86_RDI] = view->args[0];
        snapshot->regs.known |= 1U << X86_RDI;
    }
    return stopped == 't' ? SAMPLE_TRACED : 0;
}

static bool same_view(const struct syscall_state *a, const struct syscall_state *b)
{
    return a->view == b->view && a->number == b->number && a->sp == b->sp && a->pc == b->pc &&
           memcmp(a->args, b->args, sizeof a->args) == 0;
}

/* Did the thread stay where it was while it was read?  Proven by its run count; where that is not
 * to be had, made likely by an equal view of it. */
static bool unmoved(struct sampler *s, struct task *t, const struct syscall_state *before,
                    int *ret_error)
{
    struct schedstat now;
    *ret_error = look_counts(s, t, &now);
    if (*ret_error < 0)
        return false;
    bool same = now.runs == t->sched.runs;
    t->sched = now;
    if (s->can.schedstat || !same)
        return same;
    struct syscall_state after;
    *ret_error = look_view(s, t, &after);
    return *ret_error == 0 && same_view(before, &after);
}

/* While it is off the CPU, its run count less its switches is its base. */
static void learn_switch_base(struct sampler *s, struct task *t)
{
    struct task_status status;
    struct schedstat after;
    if (look_status(s, t, &status) < 0 || look_counts(s, t, &after) < 0 ||
        after.runs != t->sched.runs)
        return;
    t->switch_base = (int64_t)(after.runs - status.voluntary - status.involuntary);
    t->base_known = true;
}

void capture_still_pending(struct task *t, int64_t now_ns)
{
    t->until_ns = now_ns;
    t->repeats += t->pending_repeats + 1;
    t->requested_ns = now_ns;
    t->requested_sched = t->sched;
    t->pending_repeats = 0;
}

/* One try.  0: told.  -EAGAIN: it moved. */
static int try_off_cpu(struct sampler *s, struct task *t, const struct syscall_state *view)
{
    size_t stack = stack_wanted(s, t);
    if (stack < OFF_CPU_STACK_BYTES)
        stack = OFF_CPU_STACK_BYTES;
    if (!view->sp)
        stack = 0;
    struct sample_message *m = reserve(s, stack);
    if (!m)
        return 0;
    uint32_t flags = describe_off_cpu(s, &m->snapshot, t, view);
    if (stack)
        stack_area_learn(t, view->sp);
    read_memory(s, t, m, stack, false);
    object_read(&s->recorder, t->process->pid, m);
    int error;
    if (!unmoved(s, t, view, &error)) {
        undo_hook(t);
        return error < 0 ? error : -EAGAIN;
    }
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, t->pending ? t->requested_ns : m->snapshot.taken_ns);
    if (t->pending) {
        m->head.sched = t->requested_sched;
        capture_still_pending(t, m->snapshot.taken_ns);
    }
    m->head.flags = flags | (s->can.schedstat ? 0 : SAMPLE_APPROXIMATE);
    publish(s, t, m);
    t->state = m->snapshot.state;
    t->repeatable = s->can.schedstat;
    t->sampled_runs = t->sched.runs;
    t->sampled_at = capture_place(t, view);
    counters_add(&s->counters, COUNT_NO_STOP_CAPTURES, 1);
    return 0;
}

int capture_off_cpu(struct sampler *s, struct task *t, struct syscall_state *view)
{
    for (int attempt = 0; attempt < OFF_CPU_ATTEMPTS; attempt++) {
        int r = try_off_cpu(s, t, view);
        if (r == 0 && !t->base_known)
            learn_switch_base(s, t);
        if (r != -EAGAIN || t->pending)
            return r;
        counters_add(&s->counters, COUNT_NO_STOP_REJECTS, 1);
        r = look_view(s, t, view);
        if (r < 0 || view->view == SYSCALL_RUNNING)
            return r < 0 ? r : -EAGAIN;
    }
    counters_add(&s->counters, COUNT_NO_STOP_GIVEN_UP, 1);
    return 0;
}

/* System calls pass them in these registers, and keep them (arch/x86/entry/entry_64.S). */
static void fill_arguments(struct snapshot *snapshot)
{
    enum { R10 = 10, R9 = 9 };
    const uint64_t *r = snapshot->regs.r;
    const uint64_t args[6] = {r[X86_RDI], r[X86_RSI], r[X86_RDX], r[R10], r[X86_R8], r[R9]};
    if (snapshot->syscall >= 0)
        memcpy(snapshot->syscall_args, args, sizeof args);
}

void capture_prepare(struct sampler *s, struct task *t)
{
    if (t->wants_prefetch && !t->prefetch)
        t->prefetch = xcalloc(1, sizeof *t->prefetch);
    t->stack_bytes = (uint32_t)stack_wanted(s, t);
    stack_area_prepare(t);
    (void)look_fd(s, t, TASK_STATUS); /* overhead_lost_ns() */
    drop_held(s);
    (void)ring_reserve(s->ring, capture_bytes(t->stack_bytes));
}

/* How many bytes of T's stack from sp on are to be read while it waits, and whether parts further up besides. */
static size_t held_stack(const struct sampler *s, const struct task *t, bool *ret_parts)
{
    uint32_t near = feedback_near(&s->feedback, t->id);
    *ret_parts = near > 0 && !s->config.single_shot;
    if (s->config.single_shot)
        return t->stack_bytes;
    size_t most = t->stack_bytes < HELD_STACK_BYTES ? t->stack_bytes : HELD_STACK_BYTES;
    return near && near < most ? near : most;
}

void capture_held(struct sampler *s, struct task *t, const struct stop *stop)
{
    bool parts;
    size_t stack = held_stack(s, t, &parts);
    struct sample_message *m = reserve(s, stack);
    if (!m || !stop->registers_ok)
        return;
    bool fell_asleep = stop_state_judge(t, stop);
    note_wait(t, stop);
    m->snapshot.tid = t->tid;
    m->snapshot.taken_ns = stop->stopped_ns;
    m->snapshot.held_ns = 1; /* not zero: it was held; for how long is known when it is over */
    m->snapshot.state = stop->job_stopped ? THREAD_STOPPED : t->requested_state;
    m->snapshot.syscall =
        call_number(t, stop->syscall, stop->regs.r[X86_RSP], stop->regs.r[X86_PC]);
    m->snapshot.regs = stop->regs;
    fill_arguments(&m->snapshot);
    m->snapshot.fs_base = stop->fs_base;
    read_memory(s, t, m, stack, parts);
    s->held = (struct held_capture){t, m, fell_asleep};
}

void capture_released(struct sampler *s, struct task *t, const struct schedstat *now)
{
    struct sample_message *m = s->held.task == t ? s->held.message : NULL;
    bool fell_asleep = s->held.fell_asleep;
    s->held = (struct held_capture){0};
    if (!m)
        return;
    int64_t stopped_ns = m->snapshot.taken_ns;
    if (now && s->can.schedstat)
        m->snapshot.state = stop_state_settle(t, &m->snapshot, now, fell_asleep);
    t->requested_state = m->snapshot.state;
    s->waiting |= m->snapshot.state == THREAD_RUNNABLE;
    if (t->object)
        object_add(t->object, &s->recorder, m);
    else if (m->snapshot.state == THREAD_BLOCKED)
        object_read(&s->recorder, t->process->pid, m);
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, t->requested_ns);
    m->head.sched = t->requested_sched;
    publish(s, t, m);
    counters_add(&s->counters, COUNT_STOPS, 1);
    t->state = m->snapshot.state;
    /* It was waiting for a CPU at every tick until it stopped. */
    bool waited = t->pending_repeats || stopped_ns - t->requested_ns > s->interval_ns;
    t->until_ns = waited ? stopped_ns : t->requested_ns;
    t->repeats = t->pending_repeats;
}

void capture_not_held(struct sampler *s, struct task *t, int64_t now_ns)
{
    struct sample_message *m = reserve(s, 0);
    if (!m)
        return;
    m->snapshot.tid = t->tid;
    m->snapshot.taken_ns = now_ns;
    m->snapshot.state = t->requested_state;
    m->snapshot.syscall = -2;
    read_memory(s, t, m, 0, false);
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, now_ns);
    m->head.flags = SAMPLE_NOT_HELD;
    publish(s, t, m);
}
