// Smooths a map of heights and sorts its peaks.  The culprit: it was compiled without optimisation,
// so that all small functions of the C++ library are calls; the twin was compiled with -O2.
#include "steady.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace
{
struct terrain {
    std::vector<std::vector<double>> heights;
    std::vector<double> peaks;
};

double smooth(const std::unique_ptr<terrain> &t)
{
    double highest = 0;
    for (size_t y = 1; y + 1 < t->heights.size(); y++)
        for (size_t x = 1; x + 1 < t->heights[y].size(); x++) {
            t->heights[y][x] = (t->heights[y - 1][x] + t->heights[y + 1][x] + t->heights[y][x - 1] +
                                t->heights[y][x + 1]) /
                               4;
            highest = std::max(highest, t->heights[y][x]);
        }
    return highest;
}

void sort_peaks(const std::unique_ptr<terrain> &t)
{
    for (size_t i = 0; i + 1 < t->peaks.size(); i += 2)
        std::swap(t->peaks[i], t->peaks[t->peaks.size() - 1 - i]);
    std::sort(t->peaks.begin(), t->peaks.end());
}
} // namespace

int main(int argc, char **argv)
{
    auto t = std::make_unique<terrain>();
    for (int y = 0; y < 200; y++) {
        t->heights.emplace_back();
        for (int x = 0; x < 200; x++)
            t->heights.back().push_back(x * 7919 % 100);
    }
    for (int i = 0; i < 10000; i++)
        t->peaks.push_back(i * 7919 % 1000);
    const steady run = steady_begin(argc, argv);
    double highest = 0;
    while (steady_goes_on(&run)) {
        highest += smooth(t);
        sort_peaks(t);
    }
    steady_tell("highest", steady_per_second(&run, highest));
}
