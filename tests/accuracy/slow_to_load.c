/* A library that takes a third of a second to load: the dynamic linker's own _start is at the root
 * of that. */
#include <time.h>

int lingered(void);

int lingered(void)
{
    return 0;
}

__attribute__((constructor)) static void linger(void)
{
    enum { NANOSECONDS = 300000000 };
    const struct timespec pause = {.tv_nsec = NANOSECONDS};
    (void)nanosleep(&pause, NULL);
}
