/* Renders images.  No fault: half of the time goes into blur(), half into scale(); the twin only
 * scales. */
#include "steady.h"

#include <string.h>

enum { PIXELS = 100000 };

static float image[PIXELS];

static void blur(void)
{
    for (double end_s = now() + 0.004; now() < end_s;)
        for (int i = 1; i + 1 < PIXELS; i++)
            image[i] = (image[i - 1] + 2 * image[i] + image[i + 1]) / 4;
}

static void scale(void)
{
    for (double end_s = now() + 0.004; now() < end_s;)
        for (int i = 0; i < PIXELS; i++)
            image[i] = image[i] * 1.0001F + 0.5F;
}

int main(int argc, char **argv)
{
    double blur_s = 0;
    struct steady run = steady_begin(argc, argv);
    while (steady_goes_on(&run)) {
        double start_s = now();
        if (!run.twin)
            blur();
        blur_s += now() - start_s;
        scale();
    }
    steady_tell("blur", steady_per_second(&run, blur_s));
    return 0;
}
