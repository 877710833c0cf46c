/* Four threads count words and note each count.  The culprit: one mutex is for the tables of all of
 * them, and is kept while a count is noted; the twin has a mutex for each thread's table. */
#include "steady.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, WORDS = 1024 };
static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct table {
    pthread_mutex_t lock;
    unsigned counts[WORDS];
    double waited_s;
} tables[THREADS];
static struct steady run;

static void note(void)
{
    usleep(2000);
}

static void add_word(struct table *t, unsigned word)
{
    pthread_mutex_t *lock = run.twin ? &t->lock : &counts_lock;
    double start_s = now();
    pthread_mutex_lock(lock);
    t->waited_s += now() - start_s;
    t->counts[word % WORDS]++;
    note();
    pthread_mutex_unlock(lock);
}

static void *count(void *table)
{
    unsigned word = 1;
    while (steady_goes_on(&run)) {
        for (int i = 0; i < 100000; i++)
            word = word * 1664525U + 1013904223U;
        add_word(table, word);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    double waited_s = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_mutex_init(&tables[i].lock, NULL);
    run = steady_begin(argc, argv);
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "count-%d", i);
        if (pthread_create(&threads[i], NULL, count, &tables[i]) != 0)
            return 1;
        pthread_setname_np(threads[i], name);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        waited_s += tables[i].waited_s;
    }
    steady_tell("share", steady_per_second(&run, waited_s / THREADS));
    return 0;
}
