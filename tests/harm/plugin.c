/* What hostile.c loads and unloads. */
#include <stdint.h>

uint64_t plugin_work(uint64_t x);

__attribute__((noinline)) uint64_t plugin_work(uint64_t x)
{
    for (int i = 0; i < 200000; i++)
        x = x * 6364136223846793005 + 1442695040888963407;
    return x;
}
