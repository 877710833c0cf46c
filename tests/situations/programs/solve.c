/* Solves a system of equations, one thread, all the time.  Healthy: the culprit, if any, is where
 * it is run: in a cgroup with a CPU quota, below a shell that only waits for it. */
#include "steady.h"

#include <stdio.h>
#include <time.h>

enum { N = 64 };

static void eliminate(double a[N][N])
{
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++)
            for (int j = k; j < N; j++)
                a[i][j] -= a[k][j] * a[i][k] / a[k][k];
}

static void fill(double a[N][N])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i == j ? N : 1.0 / (1 + i + j);
}

int main(int argc, char **argv)
{
    static double a[N][N];
    struct steady run = steady_begin(argc, argv);
    clock_t cpu = clock();
    while (steady_goes_on(&run))
        for (int i = 0; i < 20; i++) {
            fill(a);
            eliminate(a);
        }
    double ran_s = (double)(clock() - cpu) / CLOCKS_PER_SEC;
    steady_tell("share", steady_per_second(&run, now() - run.start_s -
                                                     ran_s)); /* it never waits but for a CPU */
    return a[N - 1][N - 1] > 1e9;
}
