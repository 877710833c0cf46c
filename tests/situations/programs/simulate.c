/* A particle simulation with OpenMP.  The culprit: OMP_NUM_THREADS is 8 where there are two CPUs;
 * the twin has two threads. */
#include "steady.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>

enum { PARTICLES = 20000 };

static double position[PARTICLES], speed[PARTICLES];

static void move(int i)
{
    for (int k = 0; k < 20; k++)
        speed[i] = 0.99 * speed[i] - 0.01 * sin(position[i] + k);
    position[i] += speed[i];
}

int main(int argc, char **argv)
{
    struct steady run = steady_begin(argc, argv);
    long steps = 0;
    for (; steady_goes_on(&run); steps++) {
#pragma omp parallel for
        for (int i = 0; i < PARTICLES; i++)
            move(i);
    }
    steady_tell("steps_per_s", steady_per_second(&run, (double)steps));
    return 0;
}
