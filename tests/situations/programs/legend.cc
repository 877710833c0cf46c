// Draws maps, each with one legend for all.  The culprit: the legend, a static variable, takes the
// mutex of the symbols while it is made, and draw has that mutex when it asks for the legend; the
// twin makes the legend before there are threads.
#include "steady.h"

#include <mutex>
#include <thread>

#include <pthread.h>
#include <unistd.h>

namespace
{
std::mutex symbols_mutex;
long symbols = 40;

struct Legend {
    long lines;
    Legend()
    {
        usleep(50000); // the font
        std::lock_guard<std::mutex> guard(symbols_mutex);
        lines = symbols;
    }
};

Legend &map_legend()
{
    static Legend legend;
    return legend;
}

long draw_map()
{
    std::lock_guard<std::mutex> guard(symbols_mutex);
    usleep(1000);
    return map_legend().lines + symbols;
}

void prepare(const steady *run)
{
    pthread_setname_np(pthread_self(), "prepare");
    long lines = map_legend().lines;
    while (steady_goes_on(run))
        usleep(static_cast<useconds_t>(1000 + lines % 2));
}
} // namespace

int main(int argc, char **argv)
{
    const steady run = steady_begin(argc, argv);
    if (run.twin)
        map_legend();
    std::thread preparer(prepare, &run);
    usleep(20000);
    double maps = 0;
    while (steady_goes_on(&run))
        maps += draw_map() > 0;
    preparer.join();
    steady_tell("maps", steady_per_second(&run, maps));
}
