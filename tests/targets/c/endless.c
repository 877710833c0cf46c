/* Functions without CFI, some of which never return: a thread that works until the process ends.
 * STACK: read blocks step endless thread_main [libc.so.6] [libc.so.6] */
#include <pthread.h>

#include "endless.h"

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
