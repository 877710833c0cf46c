/* Two players throw dice.  The culprit: rand() has one state for all threads, behind a lock inside
 * the C library; in the twin each player has a state of its own. */
#include "steady.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { PLAYERS = 2, THROWS = 100 };
static struct steady run;
static struct player {
    _Alignas(128) long sixes, rounds;
    unsigned state;
} players[PLAYERS];

__attribute__((noinline)) static void throw_dice(struct player *p)
{
    for (int i = 0; i < THROWS; i++)
        p->sixes += (run.twin ? rand_r(&p->state) : rand()) % 6 == 5;
    p->rounds++;
}

static void *play(void *player)
{
    while (steady_goes_on(&run))
        throw_dice(player);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[PLAYERS];
    long rounds = 0;
    run = steady_begin(argc, argv);
    for (int i = 0; i < PLAYERS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "player-%d", i);
        players[i].state = (unsigned)i;
        if (pthread_create(&threads[i], NULL, play, &players[i]) != 0)
            return 1;
        pthread_setname_np(threads[i], name);
    }
    for (int i = 0; i < PLAYERS; i++) {
        pthread_join(threads[i], NULL);
        rounds += players[i].rounds;
    }
    steady_tell("work_per_s", steady_per_second(&run, (double)rounds));
    return 0;
}
