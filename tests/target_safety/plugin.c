/* What hostile.c loads and unloads.  Its two builds differ in the name of the function that works,
 * and in the size of its stack frame. */
#include <stdint.h>

uint64_t plugin_work(uint64_t x);

__attribute__((noinline)) static uint64_t WORKER(uint64_t x)
{
    volatile char frame[FRAME_BYTES];
    frame[0] = 0;
    for (int i = 0; i < 200000; i++)
        x = x * 6364136223846793005 + 1442695040888963407;
    return x + (uint64_t)frame[0];
}

__attribute__((noinline)) uint64_t plugin_work(uint64_t x)
{
    return WORKER(x) + 1;
}
