/* One thread compresses what the other reads, with a few blocks between them.  Healthy: both need
 * the same time for a block. */
#include "steady.h"

#include <pthread.h>
#include <semaphore.h>

enum { BLOCKS = 8 };

static sem_t empty, full;
static unsigned blocks[BLOCKS], checksum;
static struct steady run;

static unsigned read_block(unsigned n)
{
    for (double end_s = now() + 0.003; now() < end_s;)
        for (int i = 0; i < 1000; i++)
            n = n * 1664525U + 1013904223U;
    return n;
}

static unsigned compress(unsigned block)
{
    for (double end_s = now() + 0.003; now() < end_s;)
        for (int i = 0; i < 1000; i++)
            block = (block ^ (unsigned)i) * 16777619U;
    return block;
}

static void *compress_all(void *unused)
{
    for (unsigned i = 0; steady_goes_on(&run); i++) {
        sem_wait(&full);
        checksum += compress(blocks[i % BLOCKS]);
        sem_post(&empty);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    double waited_s = 0;
    sem_init(&empty, 0, BLOCKS);
    sem_init(&full, 0, 0);
    run = steady_begin(argc, argv);
    if (pthread_create(&thread, NULL, compress_all, NULL) != 0)
        return 1;
    pthread_setname_np(thread, "compress");
    for (unsigned i = 0; steady_goes_on(&run); i++) {
        unsigned block = read_block(i);
        double start_s = now();
        sem_wait(&empty);
        waited_s += now() - start_s;
        blocks[i % BLOCKS] = block;
        sem_post(&full);
    }
    sem_post(&full);
    pthread_join(thread, NULL);
    steady_tell("waited", steady_per_second(&run, waited_s));
    return 0;
}
