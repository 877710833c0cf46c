/* The least that a sampler does that looks at each thread of many processes at each tick: reads the
 * schedstat of each and, of one that has run, where it is, and 16 KiB of its stack.  It learns of
 * no new thread, and keeps nothing.  With -s it stops each thread that runs for that, by ptrace,
 * and says for how much of its time the one was held that was stopped most; else it stops nobody.
 *   floor [-s] SECONDS RATE PID... */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 14, STACK_BYTES = 16 * 1024, NS_PER_S = 1000000000, SLICE_NS = 300000 };

static struct thread {
    pid_t pid, tid;
    int schedstat, call;
    unsigned long runs;
    int off_cpu, seized, asked;
    long stops, begun_ns, counted_ns; /* what it had run and waited for a CPU at its first stop */
} threads[MOST];
static size_t n_threads;
static int may_stop;
static char stack[STACK_BYTES];

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* As sampler/priority.c does. */
static void want_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attr = {.size = sizeof attr, .runtime_ns = SLICE_NS};
    (void)syscall(SYS_sched_setattr, 0, &attr, 0);
    prctl(PR_SET_TIMERSLACK, 1UL);
}

static int open_file(const char *pid, const char *tid, const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%s/task/%s/%s", pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void add_threads(const char *pid)
{
    char path[PATH_MAX];
    struct dirent *entry;
    (void)snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && n_threads < MOST)
            threads[n_threads++] = (struct thread){
                .pid = (pid_t)atol(pid),
                .tid = (pid_t)atol(entry->d_name),
                .schedstat = open_file(pid, entry->d_name, "schedstat"),
                .call = open_file(pid, entry->d_name, "syscall"),
            };
    if (folder)
        closedir(folder);
}

/* What T has run and waited for a CPU; *RET_RUNS: how often it was put on one. */
static long counted_ns(const struct thread *t, unsigned long *ret_runs)
{
    char text[256];
    unsigned long ran = 0;
    unsigned long waited = 0;
    ssize_t len = pread(t->schedstat, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    if (sscanf(text, "%lu %lu %lu", &ran, &waited, ret_runs) != 3)
        *ret_runs = t->runs;
    return (long)(ran + waited);
}

static void read_stack(const struct thread *t, unsigned long sp)
{
    struct iovec local = {stack, sizeof stack};
    struct iovec remote = {(void *)sp, sizeof stack};
    (void)!process_vm_readv(t->pid, &local, 1, &remote, 1, 0);
}

static void ask(struct thread *t)
{
    if (!t->seized && ptrace(PTRACE_SEIZE, t->tid, 0, 0) == 0) {
        t->seized = 1;
        t->begun_ns = now_ns();
        t->counted_ns = counted_ns(t, &t->runs);
    }
    t->asked = t->seized && ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) == 0;
}

/* Lets each thread go as it stops.  It may have been asked while it had no CPU. */
static void release_all(void)
{
    struct user_regs_struct regs;
    int status;
    for (pid_t tid; (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0;)
        for (size_t k = 0; k < n_threads; k++) {
            struct thread *t = &threads[k];
            if (t->tid != tid)
                continue;
            if (ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0)
                read_stack(t, regs.rsp);
            (void)ptrace(PTRACE_CONT, tid, 0, 0);
            t->asked = 0;
            t->stops++;
            break;
        }
}

static void visit(struct thread *t)
{
    char text[256];
    unsigned long runs;
    (void)counted_ns(t, &runs);
    if ((runs == t->runs && (t->off_cpu || !may_stop)) || t->asked)
        return;
    t->runs = runs;
    ssize_t len = pread(t->call, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    unsigned long sp = 0; /* the last but one */
    t->off_cpu = sscanf(text, "%*s %*s %*s %*s %*s %*s %*s %lx", &sp) == 1;
    if (t->off_cpu)
        read_stack(t, sp);
    else if (may_stop)
        ask(t);
}

/* A thread that only computes: what it neither ran nor waited for a CPU it was held. */
static double held_share(void)
{
    const struct thread *most = &threads[0];
    unsigned long runs;
    for (size_t k = 1; k < n_threads; k++)
        if (threads[k].stops > most->stops)
            most = &threads[k];
    long took_ns = now_ns() - most->begun_ns;
    return most->stops ? 1 - (double)(counted_ns(most, &runs) - most->counted_ns) / (double)took_ns
                       : 0;
}

/* Until UNTIL_NS; a child's stop ends the sleep. */
static void sleep_until(long until_ns)
{
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    for (long left; (left = until_ns - now_ns()) > 0; release_all()) {
        struct timespec t = {left / NS_PER_S, left % NS_PER_S};
        (void)sigtimedwait(&child, NULL, &t);
    }
}

int main(int argc, char **argv)
{
    may_stop = argc > 1 && strcmp(argv[1], "-s") == 0;
    argc -= may_stop;
    argv += may_stop;
    if (argc < 4)
        return 2;
    long interval = NS_PER_S / atol(argv[2]);
    long ticks = atol(argv[1]) * atol(argv[2]);
    long late = 0;
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    for (int i = 3; i < argc; i++)
        add_threads(argv[i]);
    want_short_slices();
    long next = now_ns();
    for (long i = 0; i < ticks; i++) {
        for (size_t k = 0; k < n_threads; k++) {
            visit(&threads[k]);
            if (may_stop)
                release_all();
        }
        for (next += interval; now_ns() > next + interval; next += interval, i++)
            late++; /* as wallspy counts them: left out */
        sleep_until(next);
    }
    printf("ticks %ld late %ld threads %zu held %.5f\n", ticks, late, n_threads, held_share());
    return 0; /* ends the tracing, too */
}
