/* usage: large_frames DEPTH SECONDS
 * Computes at the bottom of DEPTH calls of a function whose frame is as large as those of
 * OpenBLAS. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAME_BYTES = 541000 };

__attribute__((noinline, noclone)) static int compute(time_t end)
{
    volatile int n = 0;
    while (time(NULL) < end)
        n = 1; /* no count: that of two seconds may pass INT_MAX */
    return n > 0;
}

__attribute__((noinline, noclone)) static int descend(int depth, time_t end)
{
    volatile char filler[FRAME_BYTES];
    filler[depth] = 1;
    int below = depth ? descend(depth - 1, end) : compute(end);
    return below + filler[depth];
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    puts("ready");
    (void)fflush(stdout);
    return descend(atoi(argv[1]), time(NULL) + atoi(argv[2])) == atoi(argv[1]) + 2 ? 0 : 1;
}
