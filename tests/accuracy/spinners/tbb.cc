// Rounds of a few tasks of which one works, in work(), SECONDS long: TBB's other threads search for
// more.  Says "ready", and at the end for how much CPU time work() ran.
#include <tbb/parallel_for.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

static double worked_s;

static double cpu_s()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

static __attribute__((noinline)) void work()
{
    enum { TURNS = 200000 };
    double begun_s = cpu_s();
    for (volatile int i = 0; i < TURNS; i++)
        ;
    worked_s += cpu_s() - begun_s;
}

int main(int argc, char **argv)
{
    using clock = std::chrono::steady_clock;
    auto length = std::chrono::duration<double>(argc > 1 ? std::strtod(argv[1], nullptr) : 3);
    auto begun = clock::now();
    std::puts("ready");
    std::fflush(stdout);
    while (clock::now() - begun < length)
        tbb::parallel_for(
            0, 4,
            [](int i) {
                if (i == 0)
                    work();
            },
            tbb::simple_partitioner());
    std::printf("%f\n", worked_s);
    return 0;
}
