/* main gets letters from the thread assemble, and that one gets paper from the thread supply.  The
 * culprit: supply needs nearly all of the time to unpack it; the twin's paper lies ready. */
#include "steady.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

struct counter {
    sem_t asked, given;
    unsigned goods;
};

static struct counter paper, letters;
static struct steady run;

static unsigned receive(struct counter *c)
{
    sem_post(&c->asked);
    sem_wait(&c->given);
    return c->goods;
}

static void give(struct counter *c, unsigned goods)
{
    c->goods = goods;
    sem_post(&c->given);
}

static unsigned unpack(unsigned box)
{
    for (double end_s = now() + 0.03; now() < end_s;)
        for (int i = 0; i < 1000; i++)
            box = box * 1664525U + 1013904223U;
    return box;
}

static void *supply(void *unused)
{
    for (unsigned box = 1; steady_goes_on(&run);) {
        sem_wait(&paper.asked);
        box = run.twin ? box + 1 : unpack(box);
        give(&paper, box);
    }
    return unused;
}

static void *assemble(void *unused)
{
    while (steady_goes_on(&run)) {
        sem_wait(&letters.asked);
        give(&letters, receive(&paper) + 1);
    }
    return unused;
}

static void start(void *(*work)(void *), const char *name)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_setname_np(thread, name);
}

int main(int argc, char **argv)
{
    double waited_s = 0;
    unsigned sum = 0;
    sem_init(&paper.asked, 0, 0);
    sem_init(&paper.given, 0, 0);
    sem_init(&letters.asked, 0, 0);
    sem_init(&letters.given, 0, 0);
    run = steady_begin(argc, argv);
    start(supply, "supply");
    start(assemble, "assemble");
    while (now() < run.end_s - 0.1) { /* the threads go on for a while: somebody answers */
        double start_s = now();
        sum += receive(&letters);
        waited_s += now() - start_s;
        usleep(2000);
    }
    steady_tell("share", steady_per_second(&run, waited_s));
    return sum == 1;
}
