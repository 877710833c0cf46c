/* A library of vector arithmetic, for vectors.py. */
#include <stddef.h>

void vector_add_scaled(double *to, const double *from, double factor, size_t n);
void vector_add_scaled(double *to, const double *from, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = to[i] * 0.5 + factor * from[i];
}
