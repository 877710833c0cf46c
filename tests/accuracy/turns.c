/* A thread that computes and waits in turn, and knows by its own clocks how much of each it did
 * where.
 *
 * usage: turns nap|mixed SECONDS
 *   nap    sleeps 1 ms, computes 0.5 ms
 *   mixed  computes, writes to the disk, polls and sleeps, each for some milliseconds
 * Prints per place: name, CPU time, time off the CPU without waits for one (seconds). */
#include "tests/support/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static int file;

static __attribute__((noinline)) void compute(double s)
{
    double end = clock_s(CLOCK_THREAD_CPUTIME_ID) + s;
    while (clock_s(CLOCK_THREAD_CPUTIME_ID) < end)
        compute_steps(1000);
}

static __attribute__((noinline)) void take_a_nap(double s)
{
    nanosleep(&(struct timespec){0, (long)(s * 1e9)}, NULL);
    sink++;
}

static __attribute__((noinline)) void wait_in_poll(double s)
{
    poll(NULL, 0, (int)(s * 1e3));
    sink++;
}

static __attribute__((noinline)) void write_to_disk(double s)
{
    static char block[1 << 16];
    (void)s;
    if (pwrite(file, block, sizeof block, 0) < 0 || fsync(file) != 0)
        exit(1);
    sink++;
}

static struct place {
    const char *name;
    void (*visit)(double s);
    double s; /* each visit, about */
    double cpu_s, off_cpu_s;
} nap[] = {{"compute", compute, 0.0005, 0, 0}, {"take_a_nap", take_a_nap, 0.001, 0, 0}, {0}},
  mixed[] = {{"compute", compute, 0.004, 0, 0},
             {"write_to_disk", write_to_disk, 0, 0, 0},
             {"compute", compute, 0.003, 0, 0},
             {"wait_in_poll", wait_in_poll, 0.011, 0, 0},
             {"compute", compute, 0.002, 0, 0},
             {"take_a_nap", take_a_nap, 0.006, 0, 0},
             {0}};

static void visit(struct place *p)
{
    double wall_s = now_s();
    double wait_s = queue_s();
    double cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID);
    p->visit(p->s * (0.5 + (double)(rand() % 1000) / 1000));
    cpu_s = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_s;
    p->cpu_s += cpu_s;
    /* What is left in compute() is the host's, which took the CPU away from this machine. */
    if (p->visit != compute)
        p->off_cpu_s += now_s() - wall_s - cpu_s - (queue_s() - wait_s);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct place *places = strcmp(argv[1], "nap") == 0 ? nap : mixed;
    char name[] = "/tmp/turns-XXXXXX";
    file = mkstemp(name);
    unlink(name);
    double end = now_s() + strtod(argv[2], NULL);
    while (now_s() < end)
        for (struct place *p = places; p->name; p++)
            visit(p);
    for (struct place *p = places; p->name; p++)
        printf("%s %f %f\n", p->name, p->cpu_s, p->off_cpu_s);
    return 0;
}
