/* Functions without CFI, some of which never return: a thread that works until the process ends.
 * STACK: read blocks step endless thread_main [libc.so.6] [libc.so.6] */
#include <pthread.h>

#include "ready.h"

NOINLINE static void blocks(void)
{
    say_ready();
    wait_for_test();
}

NOINLINE static void step(volatile int *n)
{
    ++*n;
    blocks();
    if (*n)
        _exit(0);
}

__attribute__((noreturn)) NOINLINE static void endless(void)
{
    volatile int n = 0;
    for (;;)
        step(&n);
}

__attribute__((noreturn)) static void *thread_main(void *arg)
{
    (void)arg;
    endless();
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, NULL))
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
