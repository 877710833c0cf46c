#include "mge.h"

#include <ctime>
#include <pthread.h>
#include <utility>

namespace mge
{

static int64_t now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

Stopwatch::Stopwatch(int64_t &total_ns) : total_ns_(total_ns), start_ns_(now_ns())
{
}

Stopwatch::~Stopwatch()
{
    total_ns_ += now_ns() - start_ns_;
}

Worker::Worker() : thread_(&Worker::run, this)
{
    pthread_setname_np(thread_.native_handle(), "mge-worker");
}

Worker::~Worker()
{
    stop();
}

uint64_t Worker::submit(std::unique_ptr<Op> op)
{
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(op));
    submitted_.notify_one();
    return ++submitted_count_;
}

void Worker::sync(uint64_t ticket)
{
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [&] { return done_count_ >= ticket; });
}

void Worker::stop()
{
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
        submitted_.notify_one();
    }
    if (thread_.joinable())
        thread_.join();
}

int64_t Worker::idle_ns() const
{
    return idle_ns_;
}

int64_t Worker::alive_ns() const
{
    return alive_ns_;
}

std::unique_ptr<Op> Worker::pop()
{
    Stopwatch watch(idle_ns_);
    std::unique_lock<std::mutex> lock(mutex_);
    submitted_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty())
        return nullptr;
    std::unique_ptr<Op> op = std::move(queue_.front());
    queue_.pop_front();
    return op;
}

void Worker::run()
{
    Stopwatch watch(alive_ns_);
    while (std::unique_ptr<Op> op = pop()) {
        {
            Stopwatch op_watch(op->total_ns());
            op->exec();
        }
        std::lock_guard<std::mutex> lock(mutex_);
        done_count_++;
        done_.notify_all();
    }
}

} // namespace mge
