/* Waits for a GPU at each step, and works a little in between.  The culprit: the wait spins; the
 * twin has told the runtime to sleep. */
#include "cudart_spins.h"
#include "steady.h"

static volatile unsigned value = 1;

static void prepare(void)
{
    for (int i = 0; i < 4000000; i++)
        value = value * 1664525U + 1013904223U;
}

static double take_step(void)
{
    launch_ms(30);
    double start_s = now();
    cudaStreamSynchronize(0);
    return now() - start_s;
}

int main(int argc, char **argv)
{
    struct steady run = steady_begin(argc, argv);
    double waited_s = 0;
    cudaSetDeviceFlags(run.twin ? 4 : 0);
    while (steady_goes_on(&run)) {
        waited_s += take_step();
        prepare();
    }
    steady_tell("share", steady_per_second(&run, waited_s));
    return 0;
}
