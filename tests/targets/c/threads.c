/* The main thread waits for the one that blocks.
 * STACK: read blocks thread_main [libc.so.6] [libc.so.6] */
#include <pthread.h>

#include "ready.h"

NOINLINE static void blocks(void)
{
    say_ready();
    wait_for_test();
}

static void *thread_main(void *arg)
{
    blocks();
    NOT_A_TAIL();
    return arg;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, NULL))
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
