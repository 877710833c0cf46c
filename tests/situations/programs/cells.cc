// Adds up cells of a table, of which many are empty.  The culprit: each empty one is thrown as an
// exception; the twin asks whether there is a value.
#include "steady.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
double parse_cell(const std::string &cell)
{
    if (cell.empty())
        throw std::invalid_argument("an empty cell");
    return std::stod(cell);
}

std::optional<double> find_value(const std::string &cell)
{
    if (cell.empty())
        return std::nullopt;
    return std::stod(cell);
}

double value_or_zero(const std::string &cell)
{
    try {
        return parse_cell(cell);
    } catch (const std::invalid_argument &) {
        return 0;
    }
}

double add_up(const std::vector<std::string> &table, bool asks)
{
    double sum = 0;
    for (const std::string &cell : table)
        sum += asks ? find_value(cell).value_or(0) : value_or_zero(cell);
    return sum;
}
} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> table;
    for (int i = 0; i < 10000; i++)
        table.emplace_back(i % 2 ? "12.5" : "");
    const steady run = steady_begin(argc, argv);
    double sum = 0;
    while (steady_goes_on(&run))
        sum += add_up(table, run.twin);
    steady_tell("sum", steady_per_second(&run, sum));
}
