// Threads parse records into small trees.  The culprit: they share one malloc arena, because
// MALLOC_ARENA_MAX is 1 in the environment; the twin runs without that.
#include "steady.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

namespace
{
constexpr int THREADS = 8;
constexpr int NODES = 3000; // more than a thread caches for itself

struct Node {
    char name[80];
};

// A large block after many small ones has malloc put together all that is free, with the lock held.
void build(std::vector<std::unique_ptr<Node>> &tree)
{
    for (auto &node : tree)
        node.reset(new Node);
    const auto text = std::make_unique<char[]>(5000);
    for (auto &node : tree)
        node.reset();
}

void parse(const steady &run, double &build_s)
{
    pthread_setname_np(pthread_self(), "parser");
    std::vector<std::unique_ptr<Node>> tree(NODES);
    while (steady_goes_on(&run)) {
        const double start_s = now();
        for (int i = 0; i < 5; i++)
            build(tree);
        build_s += now() - start_s;
        usleep(3000); // reads the next record
    }
}
} // namespace

int main(int argc, char **argv)
{
    mallopt(M_TRIM_THRESHOLD, 1 << 30); // no memory goes back to the kernel: no page faults
    const steady run = steady_begin(argc, argv);
    std::vector<double> build_s(THREADS);
    std::vector<std::thread> threads;
    for (double &s : build_s)
        threads.emplace_back(parse, std::cref(run), std::ref(s));
    for (auto &thread : threads)
        thread.join();
    double sum_s = 0;
    for (double s : build_s)
        sum_s += s;
    steady_tell("build", steady_per_second(&run, sum_s / THREADS));
}
