/* Two OpenMP threads, of which the first has nearly all of the work.  The culprit:
 * OMP_WAIT_POLICY=active makes the other one spin at the barrier; in the twin it sleeps. */
#include "steady.h"

#include <math.h>
#include <omp.h>

/* The spinner's own part of a round is 1 ms long.  One of 0.1 ms is not seen in its right share
 * where the sampler takes main's CPU: docs/sampling.md, known limits. */
enum { CELLS = 1000000 };

static double cells[CELLS];

static void relax(int n)
{
    for (int i = 0; i < n; i++)
        cells[i] = 0.5 * (sin(cells[i]) + cos(cells[i]));
}

int main(int argc, char **argv)
{
    struct steady run = steady_begin(argc, argv);
    double waited_s = 0;
    while (steady_goes_on(&run)) {
        double done_s = 0;
#pragma omp parallel
        {
            relax(omp_get_thread_num() == 0 ? CELLS : CELLS / 10);
            if (omp_get_thread_num() == 1)
                done_s = now();
        }
        waited_s += now() - done_s;
    }
    steady_tell("share", steady_per_second(&run, waited_s));
    return 0;
}
