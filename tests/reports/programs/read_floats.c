/* sscanf() looks for the end of the text at each number. */
#include <string.h>

#include "account.h"

enum { NUMBERS = 60000 };
static double reading;

static const char *read_float(const char *text, float *ret)
{
    int length = 0;
    double begin = now_s();
    int n = sscanf(text, "%f%n", ret, &length);
    reading += now_s() - begin;
    return n == 1 ? text + length : NULL;
}

static float parse(const char *text)
{
    float sum = 0, number = 0;
    while (goes_on() && (text = read_float(text, &number)) != NULL)
        sum += number;
    return sum;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    char *text = malloc((size_t)NUMBERS * 12 + 1);
    char *end = text;
    for (int i = 0; i < NUMBERS; i++)
        end += sprintf(end, "%d.%03d ", i % 1000, i % 997);
    volatile float sum = 0;
    ready(argv);
    while (goes_on())
        sum += parse(text);
    tell("read_float", reading);
    free(text);
}
