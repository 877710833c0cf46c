/* Threads that have no CPU to themselves, and know by their own clocks where each of them ran, and
 * where it waited for a CPU.  As a library it serves threads of another's
 * (tools/bench-targets/crowd.py).
 *
 * usage: crowd plain|call|yield THREADS SECONDS
 *   plain  computes in first(), then for a third as long in second()
 *   call   second() ends in a system call
 *   yield  second() gives up the CPU every 0.2 ms
 * Prints per place: name, CPU time, time in which it waited for a CPU (seconds, of all threads).
 * Then "lost": the time in which the threads, which never sleep, neither ran nor waited for one. */
#include "tests/support/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_THREADS = 256, FIRST_US = 6000, SECOND_US = 2000, YIELDS_US = 200 };

static enum { PLAIN, CALL, YIELD } how;
static double end_s;
static double steps_a_us;
static volatile long sink;

struct place {
    double cpu_s, wall_s;
};
struct worker { /* six doubles to crowd.py */
    struct place first, second;
    double lost_s;
    pthread_t thread;
};
void crowd_begin(const char *kind, double seconds);
void *crowd_work(void *arg);
void crowd_report(const struct worker *workers, int n);

static __attribute__((noinline)) void first(void)
{
    compute_steps((int)(FIRST_US * steps_a_us));
    sink++;
}

static __attribute__((noinline)) void second(void)
{
    for (int us = 0; us < SECOND_US; us += YIELDS_US) {
        compute_steps((int)(YIELDS_US * steps_a_us));
        if (how == YIELD)
            sched_yield();
    }
    if (how == CALL)
        sink += syscall(SYS_getppid);
    sink++;
}

/* The kernel brings the thread's run time up to date for its CPU clock, and may then give the CPU
 * to another: that wait is of neither place. */
static void visit(struct place *p, void (*function)(void))
{
    double cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    double wall_s = now_s();
    function();
    p->wall_s += now_s() - wall_s;
    p->cpu_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
}

void *crowd_work(void *arg)
{
    struct worker *w = arg;
    double began_s = now_s();
    double its_own_s = clock_s(CLOCK_THREAD_CPUTIME_ID) + queue_s();
    while (now_s() < end_s) {
        visit(&w->first, first);
        visit(&w->second, second);
    }
    its_own_s = clock_s(CLOCK_THREAD_CPUTIME_ID) + queue_s() - its_own_s;
    w->lost_s = now_s() - began_s - its_own_s;
    return NULL;
}

static void calibrate(void)
{
    enum { STEPS = 2000000 };
    double s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    compute_steps(STEPS);
    steps_a_us = STEPS / ((clock_s(CLOCK_THREAD_CPUTIME_ID) - s) * 1e6);
}

void crowd_begin(const char *kind, double seconds)
{
    how = strcmp(kind, "call") == 0 ? CALL : strcmp(kind, "yield") == 0 ? YIELD : PLAIN;
    calibrate();
    end_s = now_s() + seconds;
}

static void report(const char *name, const struct place *sum)
{
    printf("%s %.6f %.6f\n", name, sum->cpu_s, sum->wall_s - sum->cpu_s);
}

void crowd_report(const struct worker *workers, int n)
{
    struct worker sum = {.lost_s = 0};
    for (int i = 0; i < n; i++) {
        sum.first.cpu_s += workers[i].first.cpu_s;
        sum.first.wall_s += workers[i].first.wall_s;
        sum.second.cpu_s += workers[i].second.cpu_s;
        sum.second.wall_s += workers[i].second.wall_s;
        sum.lost_s += workers[i].lost_s;
    }
    report("first", &sum.first);
    report("second", &sum.second);
    printf("lost %.6f\n", sum.lost_s);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    int n = argc == 4 ? atoi(argv[2]) : 0;
    if (n < 1 || n > MOST_THREADS)
        return 2;
    crowd_begin(argv[1], atof(argv[3]));
    for (int i = 1; i < n; i++)
        if (pthread_create(&workers[i].thread, NULL, crowd_work, &workers[i]) != 0)
            return 1;
    (void)crowd_work(&workers[0]);
    for (int i = 1; i < n; i++)
        if (pthread_join(workers[i].thread, NULL) != 0)
            return 1;
    crowd_report(workers, n);
    return 0;
}
