/* The least that a stop by ptrace(2) costs: stops the main thread of a process RATE times a second,
 * reads its registers and 16 KiB of its stack, and lets it go.  No unwinding, no names, nothing
 * kept.
 *   bare PID SECONDS RATE */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum { STACK_BYTES = 16 * 1024 };

static char stack[STACK_BYTES];

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int stop_once(pid_t pid)
{
    struct user_regs_struct regs = {0};
    struct iovec io = {&regs, sizeof regs};
    int status;
    if (ptrace(PTRACE_SEIZE, pid, 0L, 0L) != 0 || ptrace(PTRACE_INTERRUPT, pid, 0L, 0L) != 0)
        return -1;
    while (waitpid(pid, &status, __WALL | WNOHANG) == 0)
        ;
    ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io);
    struct iovec local = {stack, sizeof stack};
    struct iovec remote = {(void *)regs.rsp, sizeof stack};
    (void)!process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return (int)ptrace(PTRACE_DETACH, pid, 0L, 0L);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long rate = atol(argv[3]);
    long ticks = atol(argv[2]) * rate;
    long start = now_ns();
    long failed = 0;
    prctl(PR_SET_TIMERSLACK, 1UL);
    for (long i = 0; i < ticks; i++) {
        failed += stop_once((pid_t)atol(argv[1])) != 0;
        long next = start + (i + 1) * (1000000000L / rate);
        struct timespec until = {next / 1000000000L, next % 1000000000L};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    printf("Samples: %ld Errors: %ld\n", ticks - failed, failed);
    return 0;
}
