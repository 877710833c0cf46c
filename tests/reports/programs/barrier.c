/* More compute threads than CPUs, and a barrier that only spins. */
#include <pthread.h>
#include <stdatomic.h>

#include "account.h"

enum { THREADS = 8 };
static atomic_int arrived, passed;
static atomic_bool done;
static double spun[THREADS];

static void barrier(double *spins)
{
    double begin = now_s();
    int round = atomic_load(&passed);
    if (atomic_fetch_add(&arrived, 1) == THREADS - 1) {
        atomic_store(&arrived, 0);
        atomic_fetch_add(&passed, 1);
        return;
    }
    while (atomic_load_explicit(&passed, memory_order_relaxed) == round)
        __builtin_ia32_pause();
    *spins += now_s() - begin;
}

static void *compute_graph(void *spins)
{
    while (!atomic_load(&done)) {
        compute(0.0005);
        barrier(spins);
        if (spins == spun && !goes_on())
            atomic_store(&done, 1);
        barrier(spins);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double sum = 0;
    if (argc < 2)
        return 2;
    ready(argv);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, compute_graph, &spun[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += spun[i];
    }
    tell("barrier", sum / THREADS);
}
