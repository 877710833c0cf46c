// What C++ compilers make of names: namespaces, templates, lambdas, local classes, inlined calls.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "shapes.h"

volatile int sink;

namespace geo {
namespace {
__attribute__((noinline)) int hidden(int x)
{
    sink += x;
    return sink;
}
} // namespace

template <typename T> struct Shape {
    T size;
    explicit Shape(T s) : size(s)
    {
        sink += hidden((int)s);
    }
    virtual ~Shape()
    {
        sink -= 1;
    }
    virtual int area() const
    {
        return (int)(size * size);
    }
    bool operator<(const Shape &other) const;
    operator int() const;
    int operator()(int x) &;
};

template <typename T> __attribute__((noinline)) bool Shape<T>::operator<(const Shape &other) const
{
    return area() < other.area();
}
template <typename T> __attribute__((noinline)) Shape<T>::operator int() const
{
    return hidden(1) + (int)size;
}
template <typename T> __attribute__((noinline)) int Shape<T>::operator()(int x) &
{
    return hidden(x);
}

static inline int twice(int x)
{
    int y = hidden(x);
    return y + hidden(y);
}

inline int four_times(int x)
{
    return twice(x) + twice(x + 1);
}

__attribute__((noinline)) int sum(const std::vector<int> &values)
{
    auto add = [](int a, int b) __attribute__((noinline)) { return hidden(a) + b; };
    int total = 0;
    for (int v : values)
        total = add(total, four_times(v));
    struct Local {
        __attribute__((noinline)) int run(int x)
        {
            return hidden(x) + 1;
        }
    } local;
    return total + local.run(total);
}
} // namespace geo

extern "C" __attribute__((noinline)) int c_caller(int x)
{
    if (x == 12345)
        std::abort();
    return plain_c(x) + geo::four_times(x);
}

int main(int argc, char **argv)
{
    std::vector<int> values(argv[0], argv[0] + 3);
    std::sort(values.begin(), values.end(), [](int a, int b) { return geo::hidden(a) < b; });
    geo::Shape<double> a(argc);
    geo::Shape<double> b(argc + 1);
    std::function<int(int)> f = [&](int x) { return x + (int)a; };
    std::string s = std::to_string(geo::sum(values) + (a < b) + f(1) + a(2) + c_caller(argc));
    return asm_entry((int)s.size());
}
