/* Eight threads publish to topics of one table.  The culprit: a spin lock, on fewer CPUs than
 * threads; the twin has a mutex, and looks topics up outside of it. */
#include "steady.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 8, TOPICS = 400 };

static pthread_spinlock_t lock;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint32_t topics[TOPICS];
static struct steady run;

static __attribute__((noinline)) uint32_t find_topic(uint32_t name)
{
    uint32_t i = 0;
    while (i + 1 < TOPICS && topics[i] != name)
        i++;
    return i;
}

static __attribute__((noinline)) void publish(uint32_t name)
{
    if (run.twin) {
        uint32_t at = find_topic(name);
        (void)pthread_mutex_lock(&mutex);
        topics[at] = name;
        (void)pthread_mutex_unlock(&mutex);
        return;
    }
    (void)pthread_spin_lock(&lock);
    topics[find_topic(name)] = name;
    (void)pthread_spin_unlock(&lock);
}

static void *produce(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; now() < run.end_s; i++)
        publish(i % TOPICS);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    (void)pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    run = steady_begin(argc, argv);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, produce, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    steady_tell("topics", TOPICS);
}
