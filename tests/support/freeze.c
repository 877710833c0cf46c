#include "tests/support/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/proc.h"
#include "tests/support/mem_image.h"

enum { MAX_STACK_BYTES = 64 << 20 };

/* Ends the process, which in a test is one failed test; this file also serves programs without
 * check. */
static void require(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "freeze: failed: %s\n", what);
    abort();
}
#define REQUIRE(condition) require(condition, #condition)

static pid_t spawn(const char *const argv[], int stdin_fd, int stdout_fd)
{
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(stdin_fd, STDIN_FILENO);
    dup2(stdout_fd, STDOUT_FILENO);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

struct target target_start(const char *const argv[])
{
    int in[2], out[2];
    REQUIRE(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    struct target t = {.pid = spawn(argv, in[0], out[1])};
    close(in[0]);
    close(out[1]);
    t.to_stdin = in[1];
    t.from_stdout = out[0];
    char text[6] = {0};
    for (size_t n = 0; n < sizeof text;) {
        ssize_t r = read(t.from_stdout, text + n, sizeof text - n);
        REQUIRE(r > 0);
        n += (size_t)r;
    }
    REQUIRE(memcmp(text, "ready\n", sizeof text) == 0);
    REQUIRE(mem_live_open(&t.live, t.pid, NULL) == 0);
    t.modules = modules_new(t.pid, t.live);
    REQUIRE(modules_refresh(t.modules) == 0);
    return t;
}

void target_go_on(struct target *t)
{
    REQUIRE(write(t->to_stdin, "x", 1) == 1);
}

void target_assert_unharmed(const struct target *t)
{
    struct task_status status;
    REQUIRE(proc_status(t->pid, 0, &status) == 0);
    REQUIRE(status.tracer == 0);
    REQUIRE(status.state == 'R' || status.state == 'S' || status.state == 'D');
}

void target_end(struct target *t)
{
    kill(t->pid, SIGKILL);
    waitpid(t->pid, NULL, 0);
    modules_free(t->modules);
    mem_free(t->live);
    close(t->to_stdin);
    close(t->from_stdout);
}

/* Records the mapping that holds ADDR, from ADDR on; returns the bytes. */
static uint8_t *record(const struct target *t, uint64_t addr, struct mem *image, uint64_t *ret_len)
{
    const struct mapping *m = maps_find(modules_maps(t->modules), addr);
    REQUIRE(m != NULL);
    uint64_t len = m->end - addr;
    REQUIRE(len <= MAX_STACK_BYTES);
    uint8_t *bytes = xmalloc(len);
    /* glibc 2.42 guards a stack by a mark inside the mapping, which goes on to other stacks. */
    len = mem_read_spans(t->live, &(struct mem_span){addr, bytes, len}, 1);
    REQUIRE(len > 0);
    REQUIRE(mem_image_add(image, addr, bytes, len) == 0);
    *ret_len = len;
    return bytes;
}

/* A handler on an alternate stack has interrupted code on the main one. */
static void record_main_stack(const struct target *t, const struct frozen *f)
{
    const struct maps *maps = modules_maps(t->modules);
    for (size_t i = 0; i < maps->n; i++) {
        const struct mapping *m = &maps->items[i];
        uint64_t ignored;
        if (strcmp(m->path, "[stack]") == 0 &&
            f->snapshot.stack_start - m->start > m->end - m->start)
            free(record(t, m->start, f->image, &ignored));
    }
}

static void complete(const struct target *t, pid_t tid, struct frozen *ret)
{
    REQUIRE(modules_refresh(t->modules) == 0);
    struct snapshot *s = &ret->snapshot;
    ret->image = mem_image_new();
    ret->stack = record(t, s->regs.r[X86_RSP], ret->image, &s->stack_bytes);
    s->tid = tid;
    s->stack_start = s->regs.r[X86_RSP];
    s->stack = ret->stack;
    s->mem = ret->image;
    record_main_stack(t, ret);
}

void freeze_tracee(const struct target *t, pid_t tid, struct frozen *ret)
{
    struct user_regs_struct u;
    struct iovec io = {&u, sizeof u};
    REQUIRE(ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &io) == 0);
    *ret = (struct frozen){
        .snapshot.regs = {.r = {u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9,
                                u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip},
                          .known = (1U << X86_COUNT) - 1}};
    complete(t, tid, ret);
}

static void wait_for_stop(pid_t tid)
{
    int status;
    REQUIRE(waitpid(tid, &status, __WALL) == tid);
    REQUIRE(WIFSTOPPED(status));
}

void tracee_seize(pid_t tid)
{
    REQUIRE(ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0);
    REQUIRE(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0);
    wait_for_stop(tid);
}

bool tracee_step(pid_t tid)
{
    static long signal; /* that stopped it last: to be delivered */
    int status;
    REQUIRE(ptrace(PTRACE_SINGLESTEP, tid, NULL, signal) == 0);
    REQUIRE(waitpid(tid, &status, __WALL) == tid);
    if (!WIFSTOPPED(status))
        return false;
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    return true;
}

pid_t tracee_wait_for_clone(pid_t tid)
{
    unsigned long new_tid;
    REQUIRE(ptrace(PTRACE_SETOPTIONS, tid, NULL, PTRACE_O_TRACECLONE) == 0);
    REQUIRE(ptrace(PTRACE_CONT, tid, NULL, NULL) == 0);
    wait_for_stop(tid);
    REQUIRE(ptrace(PTRACE_GETEVENTMSG, tid, NULL, &new_tid) == 0);
    wait_for_stop((pid_t)new_tid);
    return (pid_t)new_tid;
}

void tracee_detach(pid_t tid)
{
    REQUIRE(ptrace(PTRACE_DETACH, tid, NULL, NULL) == 0);
}

void freeze_stopped(const struct target *t, pid_t tid, struct frozen *ret)
{
    tracee_seize(tid);
    freeze_tracee(t, tid, ret);
    tracee_detach(tid);
}

static void nap(void)
{
    const struct timespec ms = {.tv_nsec = 1000000};
    nanosleep(&ms, NULL);
}

void freeze_blocked(const struct target *t, pid_t tid, struct frozen *ret)
{
    struct syscall_state state = {.view = SYSCALL_RUNNING};
    int fd = proc_task_open(t->pid, tid, "syscall");
    REQUIRE(fd >= 0);
    while (state.view != SYSCALL_BLOCKED || state.number < 0) {
        nap();
        REQUIRE(syscall_state_read(fd, &state) == 0);
    }
    close(fd);
    *ret = (struct frozen){.snapshot.regs = {.known = 1U << X86_PC | 1U << X86_RSP}};
    ret->snapshot.syscall = state.number;
    ret->snapshot.regs.r[X86_PC] = state.pc;
    ret->snapshot.regs.r[X86_RSP] = state.sp;
    complete(t, tid, ret);
}

void frozen_release(struct frozen *f)
{
    free(f->stack);
    mem_free(f->image);
}
