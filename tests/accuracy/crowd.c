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

enum { MOST_THREADS = 256, FIRST_US = 6000, SECOND_US = 2000, YIELDS_US = 200, PIECE_US = 20 };

static enum { PLAIN, CALL, YIELD } how;
static double end_s;
static double steps_a_us;
static volatile long sink;

struct place {
    double cpu_s, wall_s;
};
static _Thread_local struct place *here; /* the thread's: first or second */
struct worker {                          /* six doubles to crowd.py */
    struct place first, second;
    double lost_s;
    pthread_t thread;
};
void crowd_begin(const char *kind, double seconds);
void *crowd_work(void *arg);
void crowd_report(const struct worker *workers, int n);

/* What a piece of work takes longer than it should, its thread waited for a CPU.  The thread's CPU
 * clock would tell as much, but whoever reads it may lose the CPU then and there: such waits would
 * be those of the test. */
static void compute_us(int us)
{
    double last_s = now_s();
    for (int i = 0; i < us; i += PIECE_US) {
        compute_steps((int)(PIECE_US * steps_a_us));
        double s = now_s() - last_s;
        here->wall_s += s;
        here->cpu_s += s < 3 * PIECE_US / 1e6 ? s : PIECE_US / 1e6;
        last_s += s;
    }
}

/* From a half of LENGTH_US to three halves: a visit of one length falls into step with the kernel's
 * time slices, and then a place's waits are not as its CPU time. */
static int vary(int length_us)
{
    static _Thread_local unsigned seed;
    if (seed == 0)
        seed = (unsigned)gettid();
    return length_us / 2 + rand_r(&seed) % length_us;
}

static __attribute__((noinline)) void first(void)
{
    compute_us(vary(FIRST_US));
    sink++;
}

static void yield(void)
{
    double began_s = now_s();
    sched_yield();
    here->wall_s += now_s() - began_s;
}

static __attribute__((noinline)) void second(void)
{
    for (int us = vary(SECOND_US); us > 0; us -= YIELDS_US) {
        compute_us(YIELDS_US);
        if (how == YIELD)
            yield();
    }
    if (how == CALL)
        sink += syscall(SYS_getppid);
    sink++;
}

void *crowd_work(void *arg)
{
    struct worker *w = arg;
    double began_s = now_s();
    double its_own_s = clock_s(CLOCK_THREAD_CPUTIME_ID) + queue_s();
    while (now_s() < end_s) {
        here = &w->first;
        first();
        here = &w->second;
        second();
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
