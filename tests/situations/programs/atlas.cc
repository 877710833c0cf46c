// Draws a map's tiles on three threads, and changes the map's style now and then.  The culprit: the
// readers of the style follow so close on one another that the writer waits for seconds; the twin's
// lock lets a writer that waits go first.
#include "steady.h"

#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace
{
pthread_rwlock_t style_lock;
volatile double line_width = 1;

double draw_tile(int n)
{
    double sum = 0;
    for (int i = 0; i < 20000; i++)
        sum += line_width * i + n;
    usleep(8000); // the tile's file
    return sum;
}

void draw_tiles(const steady *run, int n)
{
    pthread_setname_np(pthread_self(), "tile");
    usleep(static_cast<useconds_t>(3000 * n));
    double sum = 0;
    while (steady_goes_on(run)) {
        pthread_rwlock_rdlock(&style_lock);
        sum += draw_tile(n);
        pthread_rwlock_unlock(&style_lock);
    }
    line_width = sum > 0 ? 1 : 2;
}

void apply_style(double width)
{
    pthread_rwlock_wrlock(&style_lock);
    line_width = width;
    pthread_rwlock_unlock(&style_lock);
}
} // namespace

int main(int argc, char **argv)
{
    const steady run = steady_begin(argc, argv);
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    if (run.twin)
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&style_lock, &attributes);
    std::vector<std::thread> tiles;
    for (int i = 0; i < 3; i++)
        tiles.emplace_back(draw_tiles, &run, i);
    double waited_s = 0;
    while (steady_goes_on(&run)) {
        usleep(30000);
        double start = now();
        apply_style(1 + waited_s);
        waited_s += now() - start;
    }
    for (auto &t : tiles)
        t.join();
    steady_tell("share", steady_per_second(&run, waited_s));
}
