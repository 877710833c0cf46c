// A game that saves itself now and then.  The culprit: the future of std::async() is dropped, and
// its destructor waits until the game is saved; the twin keeps it until the next save.
#include "steady.h"

#include <future>

#include <unistd.h>

namespace
{
std::future<void> last_save;

volatile long saves;

void write_save()
{
    usleep(100000); // the disk
    saves = saves + 1;
}

void save_game(bool twin)
{
    std::future<void> save = std::async(std::launch::async, write_save);
    if (twin)
        last_save = std::move(save);
}

void draw_frame()
{
    volatile double x = 1;
    for (int i = 0; i < 200000; i++)
        x = x * 1.0000001 + i;
}
} // namespace

int main(int argc, char **argv)
{
    enum { FRAMES = 4, TWINS_FRAMES = 100 };
    const steady run = steady_begin(argc, argv);
    double late_s = 0;
    while (steady_goes_on(&run)) {
        for (int i = 0; i < (run.twin ? TWINS_FRAMES : FRAMES); i++)
            draw_frame();
        double start = now();
        save_game(run.twin);
        late_s += now() - start;
    }
    steady_tell("share", steady_per_second(&run, late_s));
}
