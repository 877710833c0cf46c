/* Threads that are caught anywhere: in prologues, PLT entries, signal handlers, the vdso, libc's
 * string functions, callbacks from libc, and system calls. */
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t recurse(unsigned n, const char *text)
{
    char copy[200];
    (void)snprintf(copy, sizeof copy, "%u %.3f %s", n, n * 0.5, text);
    return n ? recurse(n - 1, copy) + strlen(copy) : strlen(text);
}

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static void *sorts(void *unused)
{
    double numbers[500];
    for (;;) {
        for (size_t i = 0; i < 500; i++)
            numbers[i] = sin((double)(i * 7919 % 500));
        qsort(numbers, 500, sizeof *numbers, compare);
        sink += recurse(20, "deep");
    }
    return unused;
}

static void *copies(void *unused)
{
    for (size_t n = 1;; n = n * 13 % 70000 + 1) {
        char *from = calloc(n, 1);
        char *to = malloc(n);
        memcpy(to, from, n);
        sink += (uint64_t)memcmp(from, to, n) + (uintptr_t)memchr(to, 1, n);
        free(from);
        free(to);
    }
    return unused;
}

static void *reads_clock(void *unused)
{
    struct timespec t;
    for (;;) {
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        sink += (uint64_t)t.tv_nsec + (uint64_t)getppid();
    }
    return unused;
}

/* A frame whose size is known at run time only. */
static uint64_t fills(size_t n)
{
    char bytes[n + 1];
    memset(bytes, (int)n, n + 1);
    return n ? fills(n / 2) + (uint64_t)bytes[n / 3] : 1;
}

static void *locks(void *unused)
{
    for (unsigned i = 0;; i++) {
        pthread_mutex_lock(&lock);
        sink += fills(i % 5000);
        pthread_mutex_unlock(&lock);
        if (i % 64 == 0)
            (void)poll(NULL, 0, 1);
    }
    return unused;
}

static void on_alarm(int signal)
{
    for (int i = 0; i < 2000; i++)
        sink += fills((size_t)i % 100) + (uint64_t)signal;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 3000}, {0, 3000}};
    void *(*const all[])(void *) = {sorts, copies, reads_clock, locks, locks};
    pthread_t thread;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (pthread_create(&thread, NULL, all[i], NULL) != 0)
            return 1;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (;;) {
        sink += recurse(5, "main");
        usleep(100);
    }
}
