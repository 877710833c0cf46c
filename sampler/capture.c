#include "sampler/capture.h"

#include <errno.h>
#include <string.h>

#include "arch/stop.h"
#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/altstack.h"
#include "sampler/futex_bytes.h"
#include "sampler/lock_watch.h"
#include "sampler/on_cpu.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"
#include "sampler/wait_object.h"

enum {
    OFF_CPU_ATTEMPTS = 3,
    HELD_STACK_BYTES = 512 * 1024,    /* at most: these take 25 µs, 6 MiB would take 1 ms */
    OTHER_STACK_BYTES = 512 * 1024,   /* at most: half of the blocks a capture may have */
    OFF_CPU_STACK_BYTES = 128 * 1024, /* at least: no thread waits for it */
    SPARE_RING_BYTES = 256 * 1024,    /* some 2,000 messages without a stack */
};

/* Fills the head of a message about T, and begins a new count of how long its sample holds. */
static void fill_head(const struct sampler *s, struct thread *t, struct message *m,
                      enum message_kind kind, int64_t now_ns)
{
    dormant_update(t);
    *m = (struct message){
        .kind = kind,
        .process = t->process->number,
        .thread = t->id,
        .tid = t->tid,
        .ns_tid = t->ns_tid,
        .time_ns = now_ns,
        .until_ns = t->until_ns,
        .interval_ns = s->interval_ns,
        .look_ns = s->interval_ns * dormant_look_ticks(t),
        .repeats = t->repeats,
        .sched = t->sched,
        .shot = s->shooting,
        .born = t->born,
        .held_ns = t->held_ns,
        .lost_ns = t->lost_ns,
        .faults = t->faults_last,
        .own_switches = t->own_switches,
    };
    t->shot |= s->shooting && kind == MESSAGE_SAMPLE;
    claim_emitted(t, now_ns);
}

/* Drops what was read of a thread that was killed while it was held: the next message takes its
 * place in the ring. */
static void drop_held(struct sampler *s)
{
    counters_add(&s->counters, COUNT_REFUSED, s->held.thread != NULL);
    s->held = (struct held_capture){0};
}

/* Room in the ring for a message without a stack, which leaves SPARE bytes; NULL: there is none,
 * which is counted. */
static void *begin_message(struct sampler *s, size_t bytes, size_t spare)
{
    drop_held(s);
    void *m = ring_reserve(s->ring, bytes + spare);
    counters_add(&s->counters, COUNT_RING_FULL, !m);
    return m;
}

static bool end_message(struct sampler *s, size_t bytes)
{
    ring_commit(s->ring, bytes);
    s->emitted = true;
    return true;
}

/* Emits a message about T, whose counts are SCHED. */
static bool emit_with(struct sampler *s, struct thread *t, enum message_kind kind, uint32_t flags,
                      const struct schedstat *sched, int64_t now_ns)
{
    bool sample = kind == MESSAGE_SAMPLE;
    struct sample_message *m = begin_message(s, sizeof *m, sample ? SPARE_RING_BYTES : 0);
    if (!m)
        return false;
    *m = (struct sample_message){.snapshot.state = t->sampled.state};
    fill_head(s, t, &m->head, kind, now_ns);
    m->head.flags = flags;
    m->head.sched = *sched;
    return end_message(s, sample ? sizeof *m : sizeof m->head);
}

bool capture_emit(struct sampler *s, struct thread *t, enum message_kind kind, uint32_t flags,
                  int64_t now_ns)
{
    return emit_with(s, t, kind, flags, &t->sched, now_ns);
}

bool capture_emit_never_stopped(struct sampler *s, struct thread *t)
{
    return emit_with(s, t, MESSAGE_SAMPLE, SAMPLE_NO_STACK | SAMPLE_NEVER_STOPPED, &t->asked.sched,
                     t->asked_ns);
}

bool capture_emit_process(struct sampler *s, const struct process *p, enum message_kind kind,
                          int64_t now_ns)
{
    struct message *m = begin_message(s, sizeof *m, 0);
    if (!m)
        return false;
    *m = (struct message){.kind = kind,
                          .process = p->number,
                          .tid = p->pid,
                          .time_ns = now_ns,
                          .interval_ns = s->interval_ns,
                          .shot = s->shooting};
    return end_message(s, sizeof *m);
}

bool capture_emit_lock(struct sampler *s, const struct process *p, const struct lock_message *lock)
{
    struct lock_message *m = begin_message(s, sizeof *m, SPARE_RING_BYTES);
    if (!m)
        return false;
    *m = *lock;
    m->head.kind = MESSAGE_LOCK;
    m->head.process = p->number;
    m->head.interval_ns = s->interval_ns;
    return end_message(s, sizeof *m);
}

static size_t stack_bytes_to_read(struct sampler *s, struct thread *t)
{
    uint32_t wanted = feedback_stack(&s->feedback, t->id);
    if (wanted)
        t->stack_bytes = wanted;
    /* There is no second capture. */
    if (s->shooting && s->config.freeze && t->stack_bytes < HELD_STACK_BYTES)
        t->stack_bytes = HELD_STACK_BYTES;
    return t->stack_bytes < MAX_STACK_BYTES ? t->stack_bytes : MAX_STACK_BYTES;
}

static uint32_t run_hook(struct thread *t, struct recorder *r, struct snapshot *snapshot)
{
    const struct capture_hook *hook = process_hook(t->process);
    if (hook != t->process->ticked_hook)
        hook = NULL; /* it has not seen the process yet */
    t->hook = hook;
    snapshot->unhooked = !hook;
    if (!hook)
        return 0;
    return hook->capture(hook->ctx, &r->mem, t->ns_tid, snapshot->fs_base, snapshot->hook_words,
                         &snapshot->incomplete);
}

static void undo_hook(struct thread *t)
{
    if (t->hook)
        t->hook->undo(t->hook->ctx);
}

/* How many of MAX bytes from SP on lie in the stack's mapping.  RET_CUT: the stack may have
 * more. */
static size_t within_area(struct sampler *s, struct thread *t, uint64_t sp, size_t max,
                          bool *ret_cut)
{
    bool unknown;
    uint64_t left = stack_area_end(t, sp, &unknown) - sp;
    counters_add(&s->counters, COUNT_STACKS_UNKNOWN, unknown);
    *ret_cut = unknown || left > max;
    return left < max ? left : max;
}

/* If the stack just read is an alternate signal stack, reads the one that the signal
 * interrupted. */
static void read_other_stack(struct sampler *s, struct thread *t, struct snapshot *snapshot,
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

/* Reads the ranges that the worker wants above frames too large to be read, up to the stack's
 * END. */
static void read_ranges(struct sampler *s, const struct thread *t, uint64_t sp, uint64_t end)
{
    struct stack_range ranges[FEEDBACK_RANGES];
    size_t n = feedback_ranges(&s->feedback, t->id, ranges);
    for (size_t i = 0; i < n; i++) {
        uint64_t left = ranges[i].addr >= sp && ranges[i].addr < end ? end - ranges[i].addr : 0;
        if (left)
            (void)recorder_read_more(&s->recorder, ranges[i].addr,
                                     ranges[i].len < left ? ranges[i].len : left);
    }
}

/* Reads the memory of a capture into M, which has room for STACK and EXTRA_CAPTURE_BYTES more. */
static void read_memory(struct sampler *s, struct thread *t, struct sample_message *m, size_t stack,
                        bool extra)
{
    static const struct prefetch nothing;
    struct recorder *r = &s->recorder;
    struct snapshot *snapshot = &m->snapshot;
    recorder_begin(r, t->process->live, m, sizeof *m, sizeof *m + stack + EXTRA_CAPTURE_BYTES);
    if (stack) {
        uint64_t sp = snapshot->stack_start = snapshot->regs.r[REG_SP];
        size_t most = within_area(s, t, sp, stack, &snapshot->stack_cut);
        snapshot->stack_bytes =
            recorder_read_stack(r, sp, most, t->prefetch ? t->prefetch : &nothing);
        snapshot->stack_cut &= snapshot->stack_bytes >= most;
        snapshot->stack_unknown = t->area_unknown != 0;
        read_other_stack(s, t, snapshot, stack);
        if (extra)
            read_ranges(s, t, sp, stack_area_end(t, sp, &(bool){0}));
    }
    snapshot->n_hook_words = run_hook(t, r, snapshot);
    futex_bytes_read(r, snapshot);
    snapshot->read_ns = clock_now_ns();
}

/* Emits M with what the recorder has. */
static void publish(struct sampler *s, struct thread *t, struct sample_message *m)
{
    struct recorder *r = &s->recorder;
    size_t bytes = recorder_finish(r, &m->ranges_offset, &m->range_count);
    feedback_forget_recapture(&s->feedback, t->id);
    if (!bytes) {
        counters_add(&s->counters, COUNT_RING_FULL, 1);
        return;
    }
    ring_commit(s->ring, bytes);
    s->emitted = true;
    t->stack_cut = m->snapshot.stack_cut || m->snapshot.other_cut;
    t->wants_prefetch = r->n_wanted > 0;
    counters_add(&s->counters, COUNT_READS, r->reads);
    r->reads = 0;
    if (t->prefetch)
        recorder_remember(r, t->prefetch);
}

/* With room to spare: a full ring loses samples, never a thread's birth or end. */
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

/* Is T's process under SIGSTOP ('T') or a debugger's stop ('t')?  A stop is of all threads, so each
 * tick reads the stat of one. */
static char stopped_how(struct sampler *s, struct thread *t, bool in_call)
{
    struct process *p = t->process;
    uint64_t tick = counters_get(&s->counters, COUNT_TICKS) + 1;
    /* A stop may spread over the threads while they are visited: one outside of any call is asked
     * itself. */
    if (p->job_stop_tick == tick && (in_call || p->job_stop))
        return p->job_stop;
    char state = thread_read_state(s, t);
    if (t->pending && state == 't') /* ours, just now: unmoved() will say so */
        return '\0';
    p->job_stop_tick = tick;
    p->job_stop = '\0';
    if (state == 'T' || state == 't')
        p->job_stop = state;
    return p->job_stop;
}

/* Returns enum sample_flags. */
static uint32_t describe_off_cpu(struct sampler *s, struct snapshot *snapshot, struct thread *t,
                                 const struct syscall_state *view)
{
    snapshot->tid = t->tid;
    snapshot->taken_ns = clock_now_ns();
    char stopped = stopped_how(s, t, view->number >= 0);
    snapshot->state = stopped ? THREAD_STOPPED : THREAD_BLOCKED;
    snapshot->syscall = claim_place(t, view).syscall;
    memcpy(snapshot->syscall_args, view->args, sizeof view->args);
    snapshot->regs.r[REG_SP] = view->sp;
    snapshot->regs.r[REG_PC] = view->pc;
    snapshot->regs.known = REG_BIT(REG_SP) | REG_BIT(REG_PC);
    if (view->number >= 0) { /* glibc's vfork keeps its return address in it */
        snapshot->regs.r[REG_ARGUMENT] = view->args[0];
        snapshot->regs.known |= REG_BIT(REG_ARGUMENT);
    }
    return stopped == 't' ? SAMPLE_TRACED : 0;
}

static bool same_view(const struct syscall_state *a, const struct syscall_state *b)
{
    return a->view == b->view && a->number == b->number && a->sp == b->sp && a->pc == b->pc &&
           memcmp(a->args, b->args, sizeof a->args) == 0;
}

/* Did T stay where it was while it was read?  Its run count proves it; where there is none, an
 * equal view makes it likely. */
static bool unmoved(struct sampler *s, struct thread *t, const struct syscall_state *before,
                    int *ret_error)
{
    struct schedstat now;
    *ret_error = thread_read_schedstat(s, t, &now);
    if (*ret_error < 0)
        return false;
    bool same = now.runs == t->sched.runs;
    t->sched = now;
    if (s->can.schedstat || !same)
        return same;
    struct syscall_state after;
    *ret_error = thread_read_syscall(s, t, &after);
    return *ret_error == 0 && same_view(before, &after);
}

/* One try.  0: emitted; -EAGAIN: T moved. */
static int try_off_cpu(struct sampler *s, struct thread *t, const struct syscall_state *view)
{
    size_t stack = stack_bytes_to_read(s, t);
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
    wait_object_read(&s->recorder, t->process, m);
    int error;
    if (!unmoved(s, t, view, &error)) {
        undo_hook(t);
        return error < 0 ? error : -EAGAIN;
    }
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, t->pending ? t->asked_ns : m->snapshot.taken_ns);
    if (t->pending) {
        m->head.sched = t->asked.sched;
        claim_asked_until(t, m->snapshot.taken_ns);
    }
    m->head.flags = flags | (s->can.schedstat ? 0 : SAMPLE_APPROXIMATE);
    lock_watch_sampled(s, t, m, true);
    publish(s, t, m);
    claim_sampled(t, m->snapshot.state, claim_place(t, view), s->can.schedstat);
    counters_add(&s->counters, COUNT_NO_STOP_CAPTURES, 1);
    return 0;
}

int capture_off_cpu(struct sampler *s, struct thread *t, struct syscall_state *view)
{
    for (int attempt = 0; attempt < OFF_CPU_ATTEMPTS; attempt++) {
        int r = try_off_cpu(s, t, view);
        if (r == 0)
            on_cpu_learn(s, t);
        if (r != -EAGAIN || t->pending)
            return r;
        counters_add(&s->counters, COUNT_NO_STOP_REJECTS, 1);
        r = thread_read_syscall(s, t, view);
        if (r < 0 || view->view == SYSCALL_RUNNING)
            return r < 0 ? r : -EAGAIN;
    }
    counters_add(&s->counters, COUNT_NO_STOP_GIVEN_UP, 1);
    return 0;
}

static void fill_arguments(struct snapshot *snapshot)
{
    if (snapshot->syscall >= 0)
        call_arguments(&snapshot->regs, snapshot->syscall_args);
}

void capture_prepare(struct sampler *s, struct thread *t)
{
    if (t->wants_prefetch && !t->prefetch)
        t->prefetch = xcalloc(1, sizeof *t->prefetch);
    t->stack_bytes = (uint32_t)stack_bytes_to_read(s, t);
    stack_area_prepare(t);
    (void)thread_file_fd(s, t, FILE_STATUS); /* for overhead_held_ns() */
    (void)thread_file_fd(s, t, FILE_STAT);
    drop_held(s);
    (void)ring_reserve(s->ring, capture_bytes(t->stack_bytes));
}

/* How many bytes of T's stack from sp on are read while T is held.  RET_EXTRA: ranges further up,
 * too. */
static size_t held_stack(const struct sampler *s, const struct thread *t, bool *ret_extra)
{
    uint32_t read_bytes = feedback_read_bytes(&s->feedback, t->id);
    *ret_extra = read_bytes > 0 && !s->shooting;
    if (s->shooting)
        return t->stack_bytes;
    size_t most = t->stack_bytes < HELD_STACK_BYTES ? t->stack_bytes : HELD_STACK_BYTES;
    return read_bytes && read_bytes < most ? read_bytes : most;
}

void capture_held(struct sampler *s, struct thread *t, const struct stop *stop)
{
    bool extra;
    size_t stack = held_stack(s, t, &extra);
    struct sample_message *m = reserve(s, stack);
    if (!m || !stop->registers_ok)
        return;
    bool fell_asleep = claim_judge(t, stop);
    m->snapshot.tid = t->tid;
    m->snapshot.taken_ns = stop->stopped_ns;
    m->snapshot.held_ns = 1; /* not 0: it was held; how long is not known yet */
    m->snapshot.state = stop->job_stopped ? THREAD_STOPPED : t->asked.state;
    m->snapshot.syscall = claim_stop_number(t, stop);
    m->snapshot.regs = stop->regs;
    fill_arguments(&m->snapshot);
    m->snapshot.fs_base = stop->fs_base;
    read_memory(s, t, m, stack, extra);
    s->held = (struct held_capture){t, m, fell_asleep};
}

/* The thread's own time between the request of a stop at STOPPED_NS and the look at its faults
 * behind the hold.  A thread that loses its CPU stops late, and has not run: NOW has its run time,
 * which at the request may lack up to a timer tick. */
static int64_t ran_around_ns(const struct thread *t, int64_t stopped_ns,
                             const struct schedstat *now, int64_t *before_ns)
{
    int64_t counted_ns = (int64_t)(now->run_ns - t->asked.sched.run_ns);
    *before_ns = max_i64(min_i64(stopped_ns - t->asked_ns, counted_ns), 0);
    return *before_ns + max_i64(t->faults_read_ns - stopped_ns - t->faults_held_ns, 0);
}

static uint32_t a_millisecond(uint64_t faults, int64_t over_ns)
{
    return (uint32_t)min_u64(faults * NS_PER_MS / (uint64_t)over_ns, UINT32_MAX);
}

/* The faults right around a stop are those of the stack that it found.  They are near where the
 * thread hardly ran meanwhile; where wallspy had no CPU it ran on for longer. */
static void add_faults(const struct thread *t, int64_t stopped_ns, const struct schedstat *now,
                       struct message *m)
{
    enum {
        NEAR_BEFORE_NS = 40 * NS_PER_US,
        NEAR_NS = 100 * NS_PER_US,
        AROUND_NS = NS_PER_MS,
    };
    if (!now || !t->faults_known || t->faults_after < t->faults_before)
        return;
    int64_t before_ns;
    int64_t ran_ns = ran_around_ns(t, stopped_ns, now, &before_ns);
    uint64_t faults = min_u64(t->faults_after - t->faults_before, UINT32_MAX);
    if (before_ns <= NEAR_BEFORE_NS && ran_ns - before_ns <= NEAR_NS)
        m->near_faults = (uint32_t)faults;
    if (ran_ns <= AROUND_NS)
        m->around_faults = a_millisecond(faults, max_i64(ran_ns, NEAR_NS));
}

void capture_released(struct sampler *s, struct thread *t, const struct schedstat *now)
{
    struct sample_message *m = s->held.thread == t ? s->held.message : NULL;
    bool fell_asleep = s->held.fell_asleep;
    s->held = (struct held_capture){0};
    if (!m)
        return;
    int64_t stopped_ns = m->snapshot.taken_ns;
    if (now && s->can.schedstat)
        m->snapshot.state = claim_settle(t, &m->snapshot, now, fell_asleep);
    bool waited = m->snapshot.state == THREAD_RUNNABLE;
    s->waiting |= waited;
    t->wait_shown |= waited;
    counters_add(&s->counters, COUNT_WAITS_ASKED, waited);
    if (t->wait_object)
        wait_object_add(t->wait_object, &s->recorder, m);
    else if (m->snapshot.state == THREAD_BLOCKED)
        wait_object_read(&s->recorder, t->process, m);
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, t->asked_ns);
    m->head.sched = t->asked.sched;
    m->head.own_switches = t->own_switches_asked;
    add_faults(t, stopped_ns, now, &m->head);
    m->head.wait_share = t->wait_share;
    lock_watch_sampled(s, t, m, false);
    publish(s, t, m);
    counters_add(&s->counters, COUNT_STOPS, 1);
    claim_stopped(t, m->snapshot.state, stopped_ns, s->interval_ns);
}

/* Did T wait on while its memory was read? */
static bool waited_on(struct sampler *s, struct thread *t)
{
    struct schedstat now;
    return thread_read_schedstat(s, t, &now) == 0 && now.runs == t->sched.runs;
}

bool capture_waiting(struct sampler *s, struct thread *t, bool proven, int64_t now_ns)
{
    struct sample_message *m = reserve(s, 0);
    if (!m)
        return true;
    m->snapshot.tid = t->tid;
    m->snapshot.taken_ns = now_ns;
    m->snapshot.state = THREAD_RUNNABLE;
    m->snapshot.syscall = -2; /* unknown */
    read_memory(s, t, m, 0, false);
    if ((!proven || t->hook) && !waited_on(s, t)) {
        undo_hook(t);
        return false;
    }
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, now_ns);
    m->head.flags = SAMPLE_WAITS_UNASKED;
    publish(s, t, m);
    claim_sampled(t, THREAD_RUNNABLE, (struct wait_place){0}, true);
    t->wait_seen_ns = now_ns;
    counters_add(&s->counters, COUNT_WAITS_UNASKED, 1);
    return true;
}

void capture_not_held(struct sampler *s, struct thread *t, int64_t now_ns)
{
    struct sample_message *m = reserve(s, 0);
    if (!m)
        return;
    m->snapshot.tid = t->tid;
    m->snapshot.taken_ns = now_ns;
    m->snapshot.state = t->asked.state;
    m->snapshot.syscall = -2;
    read_memory(s, t, m, 0, false);
    fill_head(s, t, &m->head, MESSAGE_SAMPLE, now_ns);
    m->head.flags = SAMPLE_NOT_HELD;
    publish(s, t, m);
}
