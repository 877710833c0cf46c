/* C++ caught anywhere: while an exception is on its way, in destructors, virtual calls, lambdas
 * under std::sort, streams, regular expressions and condition variables. */
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace busy
{
static volatile unsigned long sink;

struct Shape {
    virtual ~Shape()
    {
        sink = sink + 1;
    }
    virtual double area(int depth) const = 0;
};

struct Square : Shape {
    double area(int depth) const override
    {
        if (depth == 0)
            throw std::runtime_error("bottom");
        std::string owned(static_cast<size_t>(depth), 'x');
        return area(depth - 1) + static_cast<double>(owned.size());
    }
};

struct Round : Square {
    double area(int depth) const override
    {
        try {
            return Square::area(depth);
        } catch (const std::runtime_error &error) {
            sink = sink + std::string(error.what()).size();
            return 1;
        }
    }
};

template <typename F> void forever(F f)
{
    for (unsigned i = 0;; i++)
        f(i);
}

static void throws()
{
    forever([](unsigned i) {
        std::unique_ptr<Shape> shape = std::make_unique<Round>();
        try {
            sink = sink + static_cast<unsigned long>(shape->area(static_cast<int>(i % 8)));
            Square().area(3);
        } catch (const std::exception &) {
            sink = sink + 1;
        }
    });
}

static void sorts()
{
    std::function<bool(const std::string &, const std::string &)> less =
        [](const std::string &a, const std::string &b) { return a > b; };
    forever([&](unsigned i) {
        std::map<std::string, unsigned> counts;
        std::vector<std::string> words;
        for (unsigned j = 0; j < 100; j++) {
            std::ostringstream text;
            text << "word " << (i * j) % 37 << ' ' << j * 0.5;
            words.push_back(text.str());
            counts[words.back()]++;
        }
        std::sort(words.begin(), words.end(), less);
        sink = sink + counts.size();
    });
}

static void matches()
{
    const std::regex pattern("(a+)+b|c[0-9]*");
    forever([&](unsigned i) {
        const std::string text(i % 12, 'a');
        sink = sink + std::regex_search(text, pattern);
    });
}

static std::mutex mutex;
static std::condition_variable changed;
static bool full;

static void waits()
{
    forever([](unsigned) {
        std::unique_lock<std::mutex> held(mutex);
        changed.wait(held, [] { return full; });
        full = false;
        changed.notify_all();
    });
}
} // namespace busy

int main()
{
    using namespace busy;
    std::vector<std::thread> threads;
    for (void (*f)() : {throws, sorts, matches, waits})
        threads.emplace_back(f);
    forever([](unsigned) {
        std::unique_lock<std::mutex> held(mutex);
        changed.wait(held, [] { return !full; });
        full = true;
        changed.notify_all();
    });
}
