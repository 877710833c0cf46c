/* Two libraries with an OpenMP region each, of which one uses libgomp and the other libomp, take
 * turns.  The culprit: while one's threads work the other's spin.  The twin loads both, and lets
 * the first do all.
 *
 * Arguments: those of steady_begin(), behind the two libraries. */
#include "steady.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77, ROUNDS = 20 };

typedef double blend_step(void); /* returns the CPU time that its workers took in all so far */

static blend_step *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    blend_step *step = library ? (blend_step *)dlsym(library, "blend") : NULL;
    if (!step) {
        (void)puts(dlerror());
        exit(SKIPPED);
    }
    return step;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    blend_step *first = load(argv[1]);
    blend_step *second = load(argv[2]);
    struct steady run = steady_begin(argc - 2, argv + 2);
    if (run.twin)
        second = first;
    double first_s = 0;
    double second_s = 0;
    while (steady_goes_on(&run)) {
        for (int i = 0; i < ROUNDS; i++)
            first_s = first();
        for (int i = 0; i < ROUNDS; i++)
            second_s = second();
    }
    steady_tell("first_cpus", steady_per_second(&run, first_s));
    steady_tell("second_cpus", steady_per_second(&run, second_s));
    return 0;
}
