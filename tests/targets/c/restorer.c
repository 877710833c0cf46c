/* Blocked in a signal handler whose trampoline has no CFI, as in musl.
 * STACK: read handler restorer faults main [libc.so.6] __libc_start_main _start */
#include <signal.h>
#include <sys/syscall.h>

#include "ready.h"

/* The kernel's own struct sigaction. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

void restorer(void);
__asm__(".type restorer, @function\n"
        "nop\n"
        "restorer: mov $15, %rax\n"
        "syscall\n"
        ".size restorer, . - restorer\n");

static void handler(int signal)
{
    (void)signal;
    say_ready();
    wait_for_test();
    _exit(0);
}

NOINLINE static int faults(volatile int *where)
{
    *where = 1;
    return 1;
}

int main(void)
{
    enum { SA_RESTORER_FLAG = 0x04000000 };
    const struct kernel_action action = {handler, SA_RESTORER_FLAG, restorer, 0};
    syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, 8);
    int n = faults(NULL);
    NOT_A_TAIL();
    return n;
}
