#include "counts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void print_counts(const struct count *counts)
{
    for (const struct count *c = counts; c->name; c++)
        (void)printf("%s%s=%ld", c == counts ? "" : " ", c->name, atomic_load(&c->n));
    (void)printf("\n");
    (void)fflush(stdout);
}

void answer(const struct count *counts)
{
    char byte;
    print_counts(counts);
    for (;;) {
        ssize_t r = read(STDIN_FILENO, &byte, 1);
        if (r < 0 && errno == EINTR)
            fail("read");
        print_counts(counts);
        if (r <= 0)
            return;
    }
}

void start_thread(void *(*main)(void *), void *arg, const char *name)
{
    pthread_t thread;
    int r = pthread_create(&thread, NULL, main, arg);
    if (r) {
        errno = r;
        fail("pthread_create");
    }
    (void)pthread_setname_np(thread, name);
    (void)pthread_detach(thread);
}

int skip(const char *what)
{
    (void)printf("skip: %s is not available here\n", what);
    return 0;
}

void fail(const char *what)
{
    (void)fprintf(stderr, "target: %s: %s\n", what, strerror(errno));
    _exit(99);
}
