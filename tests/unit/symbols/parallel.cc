/* Functions that gcc puts inside others: the parts of a function that run in parallel. */
#include <cmath>
#include <vector>

struct Matrix {
    std::vector<double> values;
    double at(size_t i) const { return std::sqrt(values[i]) * 2; }
};

double total(const Matrix &m, int n)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += m.at(i);
    return sum;
}

double largest(const Matrix &m, int n)
{
    double most = 0;
    for (int k = 0; k < 3; k++) {
#pragma omp parallel for reduction(max : most)
        for (int i = 0; i < n; i++)
            most = std::fmax(most, m.at(i) + k);
    }
    return most;
}

int main(int argc, char **)
{
    Matrix m;
    m.values.resize(100 * argc);
    return static_cast<int>(total(m, 100) + largest(m, 100));
}
