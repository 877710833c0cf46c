/* What every target does: says that it is ready, then blocks until the test lets it go on. */
#pragma once

#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
/* Keeps the call before it from becoming a tail call. */
#define NOT_A_TAIL() __asm__ volatile("" ::: "memory")

__attribute__((always_inline)) static inline void say_ready(void)
{
    if (write(STDOUT_FILENO, "ready\n", 6) != 6)
        _exit(1);
}

__attribute__((always_inline)) static inline void wait_for_test(void)
{
    char c;
    if (read(STDIN_FILENO, &c, 1) != 1)
        _exit(1);
}
