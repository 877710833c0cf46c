/* Decodes frames into one buffer.  The culprit: it gives the buffer's memory back after each frame,
 * so that memcpy() gets every page anew from the kernel; the twin keeps it. */
#include "steady.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { FRAME_BYTES = 8 << 20 };

static void decode_frame(char *frame, const char *input)
{
    memcpy(frame, input, FRAME_BYTES);
}

static double minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_minflt;
}

int main(int argc, char **argv)
{
    char *input = malloc(FRAME_BYTES);
    char *frame =
        mmap(NULL, FRAME_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!input || frame == MAP_FAILED)
        return 1;
    memset(input, 1, FRAME_BYTES);
    madvise(frame, FRAME_BYTES, MADV_NOHUGEPAGE);
    struct steady run = steady_begin(argc, argv);
    double before = minor_faults();
    while (steady_goes_on(&run)) {
        decode_frame(frame, input);
        if (!run.twin)
            madvise(frame, FRAME_BYTES, MADV_DONTNEED);
    }
    steady_tell("faults_per_s", steady_per_second(&run, minor_faults() - before));
    return 0;
}
