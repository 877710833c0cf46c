/* A library that sums with OpenMP. */
double weave(long n);

double weave(long n)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < n; i++)
        sum += (double)(i & 255) * 0.5;
    return sum;
}
