#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace py = pybind11;

struct Shape {
    virtual ~Shape() = default;
    virtual double area(double scale) const
    {
        return scale * 2;
    }
};

struct PyShape : Shape {
    double area(double scale) const override
    {
        PYBIND11_OVERRIDE(double, Shape, area, scale);
    }
};

static int apply(const std::function<int(int)> &function, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++)
        total += function(i);
    return total;
}

static std::vector<int> sort_by(std::vector<int> values, const std::function<int(int)> &key)
{
    std::sort(values.begin(), values.end(), [&](int a, int b) { return key(a) < key(b); });
    return values;
}

static double total(const std::vector<Shape *> &shapes)
{
    double sum = 0;
    for (const Shape *shape : shapes)
        sum += shape->area(20);
    return sum;
}

static double spins(long n)
{
    py::gil_scoped_release release;
    volatile double x = 1;
    for (long i = 0; i < n; i++)
        x = x * 1.0000001 + 1;
    return x;
}

static void fails()
{
    throw std::runtime_error("here");
}

PYBIND11_MODULE(bound, m)
{
    py::class_<Shape, PyShape>(m, "Shape").def(py::init<>()).def("area", &Shape::area);
    m.def("apply", apply);
    m.def("sort_by", sort_by);
    m.def("total", total);
    m.def("spins", spins);
    m.def("fails", fails);
}
