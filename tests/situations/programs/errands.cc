// A pool's threads price carts, and each waits for the prices of its parts, which the same pool is
// to find: while all its threads wait none is free, and only a time-out ends that.  The twin has a
// pool of its own for the parts.
#include "steady.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <pthread.h>

namespace
{
class Pool
{
  public:
    Pool(const char *name, int threads)
    {
        for (int i = 0; i < threads; i++) {
            threads_.emplace_back([this] { serve(); });
            pthread_setname_np(threads_.back().native_handle(), name);
        }
    }

    ~Pool()
    {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ends_ = true;
        }
        changed_.notify_all();
        for (std::thread &thread : threads_)
            thread.join();
    }

    std::future<double> submit(std::function<double()> task)
    {
        std::packaged_task<double()> job(std::move(task));
        std::future<double> result = job.get_future();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            jobs_.push_back(std::move(job));
        }
        changed_.notify_one();
        return result;
    }

  private:
    void serve()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
            if (jobs_.empty())
                return;
            std::packaged_task<double()> job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            job();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::packaged_task<double()>> jobs_;
    bool ends_ = false;
    std::vector<std::thread> threads_;
};

double price_part(int part)
{
    double sum = 0;
    for (int i = 1; i < 1000000; i++)
        sum += part / static_cast<double>(i);
    return sum;
}

double price_cart(Pool &parts, int cart)
{
    std::future<double> price = parts.submit([cart] { return price_part(cart); });
    bool came = price.wait_for(std::chrono::milliseconds(200)) == std::future_status::ready;
    return came ? price.get() : 0;
}
} // namespace

int main(int argc, char **argv)
{
    steady run = steady_begin(argc, argv);
    Pool carts("cart", 3);
    std::unique_ptr<Pool> own(run.twin ? new Pool("parts", 1) : nullptr);
    Pool &parts = own ? *own : carts;
    std::deque<std::future<double>> open;
    double sum = 0;
    for (int cart = 0; steady_goes_on(&run); cart++) {
        open.push_back(carts.submit([&parts, cart] { return price_cart(parts, cart); }));
        if (open.size() < 6)
            continue;
        sum += open.front().get();
        open.pop_front();
    }
    return sum < 0;
}
