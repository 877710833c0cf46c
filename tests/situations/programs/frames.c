/* A game of 50 frames a second, each drawn in a few milliseconds.  The culprit: every 90th frame
 * main unpacks a texture, 120 ms; in the twin another thread does. */
#include "steady.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static volatile uint32_t pixels; /* so that the work is done */
static atomic_bool wanted;

static __attribute__((noinline)) void draw_frame(double seconds)
{
    double end = now() + seconds;
    while (now() < end)
        pixels = pixels * 31 + 7;
}

static __attribute__((noinline)) void unpack_texture(void)
{
    double end = now() + 0.12;
    while (now() < end)
        pixels = pixels * 33 + 5;
}

static void *load(void *unused)
{
    (void)unused;
    for (;;) {
        if (atomic_exchange(&wanted, false))
            unpack_texture();
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return NULL;
}

static double play(struct steady run)
{
    double longest = 0;
    for (int frame = 1; steady_goes_on(&run); frame++) {
        double begin = now();
        draw_frame(0.004);
        if (frame % 90 == 0) {
            if (run.twin)
                atomic_store(&wanted, true);
            else
                unpack_texture();
        }
        double took = now() - begin;
        longest = took > longest ? took : longest;
        (void)nanosleep(&(struct timespec){.tv_nsec = 16000000}, NULL);
    }
    return longest;
}

int main(int argc, char **argv)
{
    pthread_t loader;
    struct steady run = steady_begin(argc, argv);
    if (run.twin && pthread_create(&loader, NULL, load, NULL) != 0)
        return 1;
    steady_tell("longest_s", play(run));
}
