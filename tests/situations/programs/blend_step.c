/* One of blend's libraries. */
#include <math.h>
#include <omp.h>
#include <time.h>

enum { CELLS = 20000, THREADS = 2 };

static double cells[THREADS][CELLS];

static double cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((visibility("default"))) double blend(void);

double blend(void)
{
    static double workers_s;
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        for (int i = 0; i < CELLS; i++)
            cells[me][i] = 0.5 * (sin(cells[me][i]) + cos(cells[me][i]));
        if (me == 1)
            workers_s = cpu_s();
    }
    return workers_s;
}
