// The main thread hands requests to an engine's thread and waits for each.  The culprit: before
// each request the engine asks the driver for the device's properties, an ioctl of 50 ms; the twin
// asks once.
#include "demo/cudart.h"
#include "steady.h"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include <pthread.h>

namespace
{
unsigned multiply(unsigned value, int times)
{
    for (int i = 0; i < times; i++)
        value = value * 1664525U + 1013904223U;
    return value;
}

class Engine
{
  public:
    explicit Engine(bool asks_once) : asks_once_(asks_once), thread_(&Engine::work, this)
    {
        pthread_setname_np(thread_.native_handle(), "engine");
    }

    ~Engine()
    {
        submit(0, true);
        thread_.join();
    }

    void submit(unsigned input, bool last = false)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        value_ = input;
        pending_ = true;
        ends_ = last;
        changed_.notify_all();
    }

    unsigned result()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !pending_; });
        return value_;
    }

  private:
    void select_device()
    {
        cudaDeviceProp prop;
        if (!asks_once_ || blocks_ == 0)
            blocks_ = cudaGetDeviceProperties(&prop, 0) == 0 ? prop.multiProcessorCount : 1;
    }

    void work()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!ends_) {
            if (pending_) {
                lock.unlock();
                select_device();
                const unsigned value = multiply(value_, 500000);
                lock.lock();
                value_ = value;
                pending_ = false;
                changed_.notify_all();
            }
            changed_.wait(lock, [this] { return pending_; });
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    unsigned value_ = 0;
    bool pending_ = false, ends_ = false;
    const bool asks_once_;
    int blocks_ = 0;
    std::thread thread_; // begins when all of the above is there
};

void predict(Engine &engine, unsigned &value, double &waited_s)
{
    engine.submit(value);
    const double start_s = now();
    value = engine.result();
    waited_s += now() - start_s;
    value = multiply(value, 5000000);
}
} // namespace

int main(int argc, char **argv)
{
    cudaDeviceProp prop;
    if (cudaGetDeviceProperties(&prop, 0) != 0) {
        std::puts("no seccomp notifications here, by which to block in ioctl");
        return 77;
    }
    const steady run = steady_begin(argc, argv);
    double waited_s = 0;
    unsigned value = 1;
    {
        Engine engine(run.twin);
        while (steady_goes_on(&run))
            predict(engine, value, waited_s);
    }
    steady_tell("share", steady_per_second(&run, waited_s));
}
