// Four threads index documents that the main thread takes apart for them.  The culprit: split() in
// the main thread needs nearly all of the time, so the four wait; in the twin documents come in one
// by one, already split, and nobody waits for anybody.
#include "steady.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace
{
std::mutex mutex;
std::condition_variable added;
std::deque<unsigned> documents;
bool done;
double waited_s;
volatile unsigned words;

unsigned split(unsigned seed)
{
    for (double end_s = now() + 0.01; now() < end_s;)
        for (int i = 0; i < 1000; i++)
            seed = seed * 1664525U + 1013904223U;
    return seed;
}

bool take(unsigned &document)
{
    const double start_s = now();
    std::unique_lock<std::mutex> lock(mutex);
    added.wait(lock, [] { return done || !documents.empty(); });
    waited_s += now() - start_s;
    if (documents.empty())
        return false;
    document = documents.front();
    documents.pop_front();
    return true;
}

void index()
{
    unsigned document;
    pthread_setname_np(pthread_self(), "indexer");
    while (take(document))
        for (double end_s = now() + 0.002; now() < end_s;)
            words = words + document;
}

void add(unsigned document)
{
    std::lock_guard<std::mutex> lock(mutex);
    documents.push_back(document);
    added.notify_one();
}
} // namespace

int main(int argc, char **argv)
{
    const steady run = steady_begin(argc, argv);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(index);
    for (unsigned seed = 1; steady_goes_on(&run);) {
        if (run.twin)
            usleep(5000);
        else
            seed = split(seed);
        add(seed);
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        done = true;
        added.notify_all();
    }
    for (auto &thread : threads)
        thread.join();
    steady_tell("share", steady_per_second(&run, waited_s / 4));
}
