#include "sampler/tracer.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "arch/stop.h"
#include "arch/syscalls.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hold.h"
#include "base/minmax.h"

/* How the kernel goes on with an interrupted system call (include/linux/errno.h). */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };
enum { SEIZE_SIGNAL = SIGURG, SEIZE_LEAST_NS = 50 * NS_PER_MS };
enum { FIRST_CAPACITY = 256, DETACH_TRIES = 3 };
/* Bounds of a hold, whose begin and end no clock of ours sees (docs/sampling.md, "How long a thread
 * is held"). */
enum {
    UNSEEN_NS = 20 * NS_PER_US,   /* the most from a stop to its report */
    LEAVING_NS = 100 * NS_PER_US, /* the most to leave a CPU; longer: it was preempted */
    WAKING_NS = 20 * NS_PER_US,   /* the most to wake a thread; longer: it took our CPU */
};

/* Open addressing by tid.  The table grows in tracer_request() alone: the handler may use it. */
struct request {
    pid_t tid; /* 0: free; −1: deleted */
    bool held;
    bool renew; /* as given to tracer_request() */
    int64_t asked_ns, interrupted_ns, deaf_ns, held_since_ns;
    uint64_t tag;
};

struct tracer {
    struct tracer_handler handler;
    struct request *requests;
    uint32_t capacity, used, pending; /* USED counts deleted ones, too */
    uint32_t held;
    int64_t listened_ns;   /* no thread had stopped by then that was not heard of */
    bool listens;          /* a stop ends the sampler's sleep */
    sigset_t blocked;      /* the mask outside of the calls */
    sigset_t open;         /* lets SIGCHLD in */
    sigset_t seizing;      /* lets SIGCHLD and SEIZE_SIGNAL in */
    sigset_t child;        /* SIGCHLD */
    sigjmp_buf seize_exit; /* out of a PTRACE_SEIZE; valid while the mask is SEIZING */
};

/* For SIGCHLD's handler, which has no argument of ours.  Only the sampler's thread sets it. */
static _Thread_local struct tracer *the_tracer;

static struct request *find_request(const struct tracer *t, pid_t tid)
{
    for (uint64_t i = hash_u64((uint64_t)tid);; i++) {
        struct request *request = &t->requests[i & (t->capacity - 1)];
        if (request->tid == tid)
            return request;
        if (request->tid == 0)
            return NULL;
    }
}

static struct request *insert(struct tracer *t, pid_t tid, uint64_t tag, bool renew)
{
    uint64_t i = hash_u64((uint64_t)tid);
    while (t->requests[i & (t->capacity - 1)].tid > 0)
        i++;
    struct request *request = &t->requests[i & (t->capacity - 1)];
    t->used += request->tid == 0;
    int64_t now_ns = clock_now_ns();
    *request = (struct request){
        .tid = tid, .renew = renew, .asked_ns = now_ns, .interrupted_ns = now_ns, .tag = tag};
    t->pending++;
    return request;
}

/* Doubles the table, or sweeps deleted requests out of it. */
static void make_room(struct tracer *t)
{
    if ((t->used + 1) * 2 <= t->capacity)
        return;
    struct request *old = t->requests;
    uint32_t n = t->capacity;
    t->capacity = t->pending * 4 > n ? n * 2 : n;
    t->requests = xcalloc(t->capacity, sizeof *t->requests);
    t->used = t->pending = 0;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].tid > 0)
            *insert(t, old[i].tid, old[i].tag, old[i].renew) = old[i];
    free(old);
}

static void forget(struct tracer *t, struct request *request)
{
    t->held -= request->held;
    t->pending--;
    request->tid = -1;
}

static bool is_interrupted(int64_t result)
{
    return result == -EINTR || result == -ERESTARTSYS || result == -ERESTARTNOINTR ||
           result == -ERESTARTNOHAND || result == -ERESTART_RESTARTBLOCK;
}

/* Has the kernel make the interrupted call again from its beginning, unless a signal handler runs
 * first. */
static bool restart(const struct stop *stop)
{
    return ptrace(PTRACE_POKEUSER, stop->tid, stop_result_at, -(long)ERESTARTNOHAND) == 0;
}

/* Some calls return −EINTR for our stop although no signal came (docs/interrupted-calls.md): has
 * the kernel restart them.  This is done first of all, in case wallspy dies in the next instant. */
static void repair(struct stop *stop, const struct stopped *at, bool renew)
{
    int64_t result = at->result;
    stop->restarting = is_interrupted(result);
    stop->cut = syscall_was_cut(stop->syscall, at->args, result);
    stop->undone = result == -ERESTARTSYS && !syscall_restarts_cleanly(stop->syscall);
    if (result == -ERESTART_RESTARTBLOCK && renew)
        stop->renewed = restart(stop);
    if (result != -EINTR)
        return;
    stop->repaired = syscall_needs_repair(stop->syscall, at->args) && restart(stop);
    stop->perturbed = !stop->repaired;
}

static void read_registers(struct stop *stop, bool may_repair, bool renew)
{
    struct user_regs_struct user;
    struct iovec io = {&user, sizeof user};
    struct stopped at;
    stop->syscall = -2;
    if (ptrace(PTRACE_GETREGSET, stop->tid, NT_PRSTATUS, &io) != 0 || io.iov_len != sizeof user)
        return;
    stop_describe(&user, &at);
    if (at.call >= 0)
        stop->syscall = at.call;
    if (at.call >= 0 && may_repair)
        repair(stop, &at, renew);
    stop->regs = at.regs;
    stop->fs_base = at.thread_pointer;
    stop->registers_ok = true;
}

/* Is there a signal for the whole process of TID, which is held, that TID would take?  The kernel
 * has looked for another thread to take it, and woken that one.  It is seen until it is taken,
 * which mostly lasts longer than a hold.  Source: kernel/signal.c (complete_signal). */
static bool misses_signal(pid_t tid)
{
    enum { MOST = 4 };
    struct __ptrace_peeksiginfo_args shared = {.flags = PTRACE_PEEKSIGINFO_SHARED, .nr = MOST};
    siginfo_t signals[MOST];
    uint64_t blocked;
    bool any = false;
    long n = ptrace(PTRACE_PEEKSIGINFO, tid, &shared, signals);
    if (n <= 0 || ptrace(PTRACE_GETSIGMASK, tid, sizeof blocked, &blocked) != 0)
        return false;
    for (long i = 0; i < n; i++)
        any |= !(blocked >> (signals[i].si_signo - 1) & 1);
    return any;
}

/* Lets TID go, with SIGNAL if one was on its way to the program.  PTRACE_DETACH wakes the thread,
 * which then often takes our CPU, so that the call returns a timeslice later: 4 ms and more on a
 * loaded machine, as for 19 of 24 holds that seemed longer than 0.2 ms. */
static void release(struct tracer *t, struct request *request, pid_t tid, long signal)
{
    struct hold hold = {.signalled = misses_signal(tid)};
    int64_t end_ns = clock_now_ns();
    bool released = false;
    for (int i = 0; i < DETACH_TRIES && !released; i++)
        released = ptrace(PTRACE_DETACH, tid, 0L, signal) == 0;
    hold_active = false;
    /* Not released: it was killed, and its end comes.  If not, pending.c finds it stuck. */
    if (!request || !released)
        return;
    uint64_t tag = request->tag;
    int64_t waking_ns = min_i64(clock_now_ns() - end_ns, WAKING_NS);
    int64_t gone_ns = end_ns + waking_ns;
    hold.ns = (uint32_t)min_i64(gone_ns - request->held_since_ns, UINT32_MAX);
    hold.most_ns = (uint32_t)min_i64(gone_ns - request->interrupted_ns, UINT32_MAX);
    hold.deaf_ns = (uint32_t)min_i64(request->deaf_ns, UINT32_MAX);
    forget(t, request);
    t->handler.released(t->handler.ctx, tag, &hold);
}

/* The thread stopped some time between the request and HEARD_NS, when the stop was reported. */
static int64_t held_since(const struct request *request, int64_t heard_ns, int64_t registers_ns)
{
    if (registers_ns - heard_ns > LEAVING_NS)
        return registers_ns;
    return heard_ns - min_i64(heard_ns - request->asked_ns, UNSEEN_NS);
}

/* SINCE_NS 0: the hold is over, unless others are held. */
static void note_holding(struct tracer *t, int64_t since_ns)
{
    if (!t->held)
        atomic_store_explicit(t->handler.holding_since_ns, since_ns, memory_order_relaxed);
}

/* A thread has stopped: hands it out and lets it go.  A thread without a request, because it took
 * the tid of the process by execve, may be in a call that needs the repair, too. */
static void handle_stop(struct tracer *t, pid_t tid, int status)
{
    int signal = WSTOPSIG(status);
    bool ours = status >> 16 == PTRACE_EVENT_STOP;
    int64_t heard_ns = clock_now_ns();
    struct request *request = find_request(t, tid);
    struct stop stop = {.tid = tid, .tag = request ? request->tag : 0};
    hold_active = true;
    note_holding(t, heard_ns);
    stop.job_stopped = ours && signal != SIGTRAP;
    read_registers(&stop, ours && signal == SIGTRAP, !request || request->renew);
    stop.stopped_ns = clock_now_ns();
    if (request) {
        request->held_since_ns = held_since(request, heard_ns, stop.stopped_ns);
        request->deaf_ns = heard_ns - t->listened_ns;
    }
    /* Only our own stop may last; a signal of the program must not wait. */
    if (!t->handler.stopped(t->handler.ctx, &stop) && ours && request) {
        request->held = true;
        t->held++;
        hold_active = false;
        return;
    }
    release(t, request, tid, ours ? 0 : signal);
    note_holding(t, 0);
}

void tracer_release_held(struct tracer *t)
{
    for (uint32_t i = 0; i < t->capacity && t->held; i++)
        if (t->requests[i].tid > 0 && t->requests[i].held)
            release(t, &t->requests[i], t->requests[i].tid, 0);
    note_holding(t, 0);
}

uint32_t tracer_held(const struct tracer *t)
{
    return t->held;
}

static void handle_end(struct tracer *t, pid_t tid, int status)
{
    struct request *request = find_request(t, tid);
    if (request) {
        uint64_t tag = request->tag;
        forget(t, request);
        note_holding(t, 0);
        t->handler.gone(t->handler.ctx, tag);
    }
    t->handler.child(t->handler.ctx, tid, status);
}

void tracer_reap(struct tracer *t)
{
    for (;;) {
        int status = 0;
        pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
        if (tid <= 0) {
            t->listened_ns = clock_now_ns();
            return;
        }
        if (WIFSTOPPED(status))
            handle_stop(t, tid, status);
        else
            handle_end(t, tid, status);
    }
}

static void on_sigchld(int signal)
{
    (void)signal;
    int saved = errno;
    struct tracer *t = the_tracer;
    if (t && t->listens)
        t->listened_ns = clock_now_ns();
    if (t)
        tracer_reap(t);
    errno = saved;
}

/* Never jumps out of the other handler, which blocks all signals. */
static void on_seize_signal(int signal)
{
    (void)signal;
    if (the_tracer)
        siglongjmp(the_tracer->seize_exit, 1);
}

void tracer_interrupt_seize(pthread_t sampler)
{
    (void)pthread_kill(sampler, SEIZE_SIGNAL);
}

struct tracer *tracer_new(const struct tracer_handler *handler)
{
    struct tracer *t = xcalloc(1, sizeof *t);
    t->handler = *handler;
    t->listened_ns = clock_now_ns();
    t->capacity = FIRST_CAPACITY;
    t->requests = xcalloc(t->capacity, sizeof *t->requests);
    sigemptyset(&t->child);
    sigaddset(&t->child, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &t->child, NULL);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &t->blocked);
    t->open = t->blocked;
    sigdelset(&t->open, SIGCHLD);
    t->seizing = t->open;
    sigdelset(&t->seizing, SEIZE_SIGNAL);
    struct sigaction action = {.sa_handler = on_sigchld};
    struct sigaction on_seize = {.sa_handler = on_seize_signal, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    sigfillset(&on_seize.sa_mask);
    (void)sigaction(SIGCHLD, &action, NULL);
    (void)sigaction(SEIZE_SIGNAL, &on_seize, NULL);
    assert(!the_tracer);
    the_tracer = t;
    return t;
}

/* PTRACE_SEIZE waits interruptibly for an execve in progress.  SIGCHLD is let in, so that its
 * handler reaps the threads for which that execve waits.  Where the execve hangs, its file being on
 * a server that does not answer, SEIZE_SIGNAL is sent.  The kernel goes on waiting after any signal
 * whose handler returns (ERESTARTNOINTR), so this handler does not return. */
static long seize(struct tracer *t, pid_t tid, int64_t now_ns)
{
    /* A signal that was sent too late for the last request is not for this one. */
    if (sigsetjmp(t->seize_exit, 0) && clock_now_ns() - now_ns > SEIZE_LEAST_NS) {
        (void)pthread_sigmask(SIG_SETMASK, &t->blocked, NULL);
        atomic_store_explicit(t->handler.seizing_since_ns, 0, memory_order_relaxed);
        return -ETIMEDOUT;
    }
    atomic_store_explicit(t->handler.seizing_since_ns, now_ns, memory_order_relaxed);
    (void)pthread_sigmask(SIG_SETMASK, &t->seizing, NULL);
    long r;
    do
        r = ptrace(PTRACE_SEIZE, tid, 0L, 0L);
    while (r < 0 && errno == EINTR);
    int saved = errno;
    (void)pthread_sigmask(SIG_SETMASK, &t->blocked, NULL);
    atomic_store_explicit(t->handler.seizing_since_ns, 0, memory_order_relaxed);
    return r < 0 ? -saved : 0;
}

int tracer_request(struct tracer *t, pid_t pid, pid_t tid, uint64_t tag, bool renew)
{
    struct request *out = find_request(t, tid);
    if (out && out->tag)
        return -EALREADY;
    if (out) { /* it is traced, and was asked to stop: tracer_expect() */
        out->tag = tag;
        out->renew = renew;
        return 0;
    }
    make_room(t);
    /* Inserted first: a signal on its way stops the thread, and the handler hands it out, as soon
     * as it is ours. */
    int64_t asked_ns = insert(t, tid, tag, renew)->asked_ns;
    long r = seize(t, tid, asked_ns);
    /* Refused because it is traced by us since an execve: only its tracer may interrupt it. */
    if (r == -EPERM && ptrace(PTRACE_INTERRUPT, tid, 0L, 0L) == 0)
        return 0;
    struct request *request = find_request(t, tid);
    if (r < 0) {
        if (request)
            forget(t, request);
        if (r == -ETIMEDOUT) /* it may have been attached just then */
            tracer_expect(t, tid);
        return (int)r;
    }
    /* Also when it was handed out meanwhile, because another thread may have taken its tid by
     * execve.  Gone: it died, and its end can be reaped; or PTRACE_SEIZE has waited for its own
     * execve, and attached to the thread that is called PID by now, which would never stop. */
    if (ptrace(PTRACE_INTERRUPT, tid, 0L, 0L) < 0)
        (void)ptrace(PTRACE_INTERRUPT, pid, 0L, 0L);
    if (request)
        request->interrupted_ns = clock_now_ns();
    return 0;
}

bool tracer_poll(struct tracer *t, pid_t tid, int64_t ns)
{
    int64_t end = clock_now_ns() + ns;
    do {
        tracer_reap(t);
        if (!find_request(t, tid))
            return true;
    } while (clock_now_ns() < end);
    return false;
}

bool tracer_sleep(struct tracer *t, int64_t until_ns, int wake_fd)
{
    struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
    /* Reaps first, so that no signal of an earlier stop breaks the sleep. */
    (void)sigtimedwait(&t->child, NULL, &(struct timespec){0});
    tracer_reap(t);
    for (;;) {
        int64_t left = until_ns - clock_now_ns();
        if (left <= 0)
            return false;
        struct timespec timeout = {left / NS_PER_S, left % NS_PER_S};
        t->listens = true;
        int r = ppoll(&wake, 1, &timeout, &t->open);
        t->listens = false;
        if (r == 0 || (r > 0 && wake.revents))
            return r > 0;
    }
}

void tracer_hears_nothing(struct tracer *t, int64_t since_ns)
{
    note_holding(t, since_ns);
}

uint32_t tracer_pending(const struct tracer *t)
{
    return t->pending;
}

void tracer_forget(struct tracer *t, pid_t tid)
{
    struct request *request = find_request(t, tid);
    if (request)
        forget(t, request);
    /* Another thread with its tid may be attached all the same. */
    (void)ptrace(PTRACE_INTERRUPT, tid, 0L, 0L);
}

void tracer_expect(struct tracer *t, pid_t tid)
{
    struct request *request = find_request(t, tid);
    if (request)
        forget(t, request);
    make_room(t);
    if (ptrace(PTRACE_INTERRUPT, tid, 0L, 0L) == 0)
        (void)insert(t, tid, 0, true);
}

void tracer_await_pending(struct tracer *t, int64_t most_ns)
{
    int64_t end = clock_now_ns() + most_ns;
    while (t->pending && clock_now_ns() < end)
        tracer_sleep(t, clock_now_ns() + NS_PER_MS, -1);
}

struct tracer *tracer_free(struct tracer *t)
{
    if (!t)
        return NULL;
    tracer_reap(t);
    struct sigaction ignore = {.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &ignore, NULL);
    the_tracer = NULL;
    free(t->requests);
    free(t);
    return NULL;
}
