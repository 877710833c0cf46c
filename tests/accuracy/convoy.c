/* A convoy: ten threads have a lock one after the other, and main waits behind all of them.
 *
 * usage: convoy mutex|rwlock SECONDS
 *
 * Prints "waiter TID", and at the end by CLOCK_MONOTONIC, in ns: "held TID TOOK GIVES" each time
 * that a thread had the lock, "waited ASKED TOOK" each time that main waited for it.
 */
#include "tests/support/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOLDERS = 10, MOST_ROUNDS = 1000, STEP_US = 3000 };

/* All are in line before the first one gives the lock up. */
static const int hold_ms[HOLDERS] = {40, 12, 100, 15, 60, 12, 50, 20, 30, 25};

static struct holder {
    pthread_t thread;
    pid_t tid;
    int number;
    struct {
        int64_t took, gives;
    } holds[MOST_ROUNDS];
} holders[HOLDERS];
static struct {
    int64_t asked, took;
} waits[MOST_ROUNDS];
static int turn; /* of all; −1: there are no more */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static bool takes_rwlock;
static pthread_barrier_t begin, end;
static int64_t end_ns;

static void take(void)
{
    if (takes_rwlock)
        (void)pthread_rwlock_wrlock(&rwlock);
    else
        (void)pthread_mutex_lock(&mutex);
}

static void give(void)
{
    if (takes_rwlock)
        (void)pthread_rwlock_unlock(&rwlock);
    else
        (void)pthread_mutex_unlock(&mutex);
}

static void *hold_in_turn(void *holder)
{
    struct holder *h = holder;
    h->tid = gettid();
    for (;;) {
        (void)pthread_barrier_wait(&begin);
        if (turn < 0)
            return NULL;
        (void)usleep((useconds_t)(h->number * STEP_US));
        take();
        h->holds[turn].took = now_ns();
        (void)usleep((useconds_t)hold_ms[h->number] * 1000);
        h->holds[turn].gives = now_ns();
        give();
        (void)pthread_barrier_wait(&end);
    }
}

static void wait_in_line(void)
{
    (void)usleep(HOLDERS * STEP_US);
    waits[turn].asked = now_ns();
    take();
    waits[turn].took = now_ns();
    give();
}

static void print_records(int n)
{
    for (int i = 0; i < n; i++)
        printf("waited %lld %lld\n", (long long)waits[i].asked, (long long)waits[i].took);
    for (int i = 0; i < HOLDERS; i++)
        for (int k = 0; k < n; k++)
            printf("held %d %lld %lld\n", holders[i].tid, (long long)holders[i].holds[k].took,
                   (long long)holders[i].holds[k].gives);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    takes_rwlock = strcmp(argv[1], "rwlock") == 0;
    end_ns = now_ns() + (int64_t)(strtod(argv[2], NULL) * 1e9);
    (void)pthread_barrier_init(&begin, NULL, HOLDERS + 1);
    (void)pthread_barrier_init(&end, NULL, HOLDERS + 1);
    for (int i = 0; i < HOLDERS; i++) {
        holders[i].number = i;
        if (pthread_create(&holders[i].thread, NULL, hold_in_turn, &holders[i]) != 0)
            return 1;
    }
    printf("waiter %d\n", gettid());
    int n = 0;
    for (; n < MOST_ROUNDS && now_ns() < end_ns; n++) {
        turn = n;
        (void)pthread_barrier_wait(&begin);
        wait_in_line();
        (void)pthread_barrier_wait(&end);
    }
    turn = -1;
    (void)pthread_barrier_wait(&begin);
    for (int i = 0; i < HOLDERS; i++)
        (void)pthread_join(holders[i].thread, NULL);
    print_records(n);
    return 0;
}
