/* Threads that take page faults in copy(), take none, and pass a byte to each other, SECONDS long.
 * Says "ready", and at the end for each what the kernel counted: NAME, page faults, switches. */
#include "tests/support/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* All rest before and after, so that a look finds the counters at 0, and at their last. */
enum { BYTES = 4 << 20, BEFORE_US = 1500000, AFTER_US = 2500000 };
static double length_s;
static int there[2], back[2];
static char *from, *to;

static __attribute__((noinline)) void copy(void)
{
    memcpy(to, from, BYTES);
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void think(void)
{
    for (volatile int i = 0; i < 5000000; i++)
        ;
}

static void fault(void)
{
    (void)madvise(to, BYTES, MADV_DONTNEED);
    copy();
    think();
}

static void ping(void)
{
    char byte = 0;
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
        abort();
}

static void pong(void)
{
    char byte;
    while (read(there[0], &byte, 1) == 1)
        if (write(back[1], &byte, 1) != 1)
            abort();
}

struct worker {
    const char *name;
    void (*work)(void);
    struct rusage used;
    pthread_t thread;
};

static void *run(void *arg)
{
    struct worker *w = arg;
    (void)pthread_setname_np(pthread_self(), w->name);
    (void)usleep(BEFORE_US);
    double begun_s = now_s();
    while (now_s() - begun_s < length_s)
        w->work();
    if (w->work == ping)
        (void)close(there[1]);
    (void)getrusage(RUSAGE_THREAD, &w->used);
    (void)usleep(AFTER_US);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[] = {
        {.name = "copier", .work = fault},
        {.name = "thinker", .work = think},
        {.name = "ping", .work = ping},
        {.name = "pong", .work = pong},
    };
    enum { N = sizeof workers / sizeof *workers };
    length_s = argc > 1 ? strtod(argv[1], NULL) : 3;
    from = malloc(BYTES);
    to = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!from || to == MAP_FAILED || pipe(there) < 0 || pipe(back) < 0)
        return 1;
    memset(from, 1, BYTES);
    (void)madvise(to, BYTES, MADV_NOHUGEPAGE);
    printf("ready\n");
    (void)fflush(stdout);
    for (size_t i = 0; i < N; i++)
        (void)pthread_create(&workers[i].thread, NULL, run, &workers[i]);
    for (size_t i = 0; i < N; i++)
        (void)pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < N; i++)
        printf("%s %ld %ld\n", workers[i].name,
               workers[i].used.ru_minflt + workers[i].used.ru_majflt,
               workers[i].used.ru_nvcsw + workers[i].used.ru_nivcsw);
    return 0;
}
