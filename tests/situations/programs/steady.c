#include "steady.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of the thread that began. */
static _Thread_local unsigned long rounds;
static double units = 1; /* of work, in a round */
static pid_t own_pid;
static double began_s;

/* A program in which that thread only waits for others has no rounds to speak of. */
static void tell_work(void)
{
    enum { LEAST_ROUNDS = 3 };
    if (getpid() == own_pid && rounds >= LEAST_ROUNDS)
        steady_tell("work_per_s", units * (double)rounds / (now() - began_s));
}

struct steady steady_begin(int argc, char **argv)
{
    double start_s = now();
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 5;
    printf("ready\n");
    (void)fflush(stdout);
    own_pid = getpid();
    began_s = start_s;
    (void)atexit(tell_work);
    return (struct steady){argc > 2 && strcmp(argv[2], "--twin") == 0, start_s, start_s + seconds};
}

bool steady_goes_on(const struct steady *s)
{
    rounds++;
    return now() < s->end_s;
}

void steady_round_is(double work)
{
    units = work;
}

double steady_per_second(const struct steady *s, double value)
{
    return value / (now() - s->start_s);
}

bool steady_fork_apart(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            close(STDOUT_FILENO);
            return true;
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return false;
}

void steady_tell(const char *name, double value)
{
    printf("{\"%s\": %f}\n", name, value);
    (void)fflush(stdout);
}
