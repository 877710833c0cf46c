#include "tests/support/freeze.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

enum { MAX_STACK_BYTES = 64 << 20 };

static pid_t spawn(const char *const argv[], int stdin_fd, int stdout_fd)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
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
    ck_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    struct target t = {.pid = spawn(argv, in[0], out[1])};
    close(in[0]);
    close(out[1]);
    t.to_stdin = in[1];
    t.from_stdout = out[0];
    char text[5] = {0};
    for (size_t n = 0; n < sizeof text;) {
        ssize_t r = read(t.from_stdout, text + n, sizeof text - n);
        ck_assert_msg(r > 0, "%s did not become ready", argv[0]);
        n += (size_t)r;
    }
    ck_assert(memcmp(text, "ready", sizeof text) == 0);
    ck_assert_int_eq(mem_live_open(&t.live, t.pid, NULL), 0);
    t.modules = modules_new(t.pid, t.live);
    ck_assert_int_eq(modules_refresh(t.modules), 0);
    return t;
}

void target_go_on(struct target *t)
{
    ck_assert_int_eq(write(t->to_stdin, "x", 1), 1);
}

void target_assert_unharmed(const struct target *t)
{
    char text[PROC_TEXT_BYTES];
    struct task_status status;
    ssize_t n = proc_read_text(t->pid, 0, "status", text, sizeof text);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(task_status_parse(text, (size_t)n, &status), 0);
    ck_assert_int_eq(status.tracer, 0);
    ck_assert_msg(strchr("RSD", status.state) != NULL, "state %c", status.state);
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
    ck_assert_msg(m != NULL, "no stack at %#lx", (unsigned long)addr);
    uint64_t len = m->end - addr;
    ck_assert_uint_le(len, MAX_STACK_BYTES);
    uint8_t *bytes = xmalloc(len);
    ck_assert_int_eq(mem_read(t->live, addr, bytes, len), 0);
    ck_assert_int_eq(mem_image_add(image, addr, bytes, len), 0);
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
    ck_assert_int_eq(modules_refresh(t->modules), 0);
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
    ck_assert_int_eq(ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &io), 0);
    *ret = (struct frozen){
        .snapshot.regs = {.r = {u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9,
                                u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip},
                          .known = (1U << X86_COUNT) - 1}};
    complete(t, tid, ret);
}

static void wait_for_stop(pid_t tid)
{
    int status;
    ck_assert_int_eq(waitpid(tid, &status, __WALL), tid);
    ck_assert_msg(WIFSTOPPED(status), "%d ended: %#x", tid, (unsigned)status);
}

void tracee_seize(pid_t tid)
{
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
    wait_for_stop(tid);
}

bool tracee_step(pid_t tid)
{
    static long signal; /* that stopped it last: to be delivered */
    int status;
    ck_assert_int_eq(ptrace(PTRACE_SINGLESTEP, tid, NULL, signal), 0);
    ck_assert_int_eq(waitpid(tid, &status, __WALL), tid);
    if (!WIFSTOPPED(status))
        return false;
    signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    return true;
}

void tracee_detach(pid_t tid)
{
    ck_assert_int_eq(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
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
    ck_assert_int_ge(fd, 0);
    while (state.view != SYSCALL_BLOCKED || state.number < 0) {
        nap();
        ck_assert_int_eq(syscall_state_read(fd, &state), 0);
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
