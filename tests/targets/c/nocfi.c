/* Blocked below assembly without CFI; with NO_WAY_OUT its code does not show how it returns, with
 * NO_WAY_IN not how it got to where it is either.
 * STACK: read blocks no_cfi calls_assembly main [libc.so.6] __libc_start_main _start */
#include "ready.h"

NOINLINE __attribute__((used)) void blocks(void)
{
    say_ready();
    wait_for_test();
}

#ifdef NO_WAY_OUT
#define GO_ON "lea 1f(%rip), %rax\njmp *%rax\n1: "
#else
#define GO_ON ""
#endif

#ifdef NO_WAY_IN
#define BEGIN "lea 2f(%rip), %rax\njmp *%rax\n2: "
#else
#define BEGIN ""
#endif

void no_cfi(void);
__asm__(".type no_cfi, @function\n"
        "no_cfi: " BEGIN "push %rbx\n"
        "sub $48, %rsp\n"
        "call blocks\n" GO_ON "add $48, %rsp\n"
        "pop %rbx\n"
        "ret\n"
        ".size no_cfi, . - no_cfi\n");

NOINLINE static void calls_assembly(void)
{
    no_cfi();
    NOT_A_TAIL();
}

int main(void)
{
    calls_assembly();
    NOT_A_TAIL();
    return 0;
}
