// A very small training engine: operators run one after the other on one worker thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace mge
{

// Adds the wall time of its own life to TOTAL_NS.
class Stopwatch
{
  public:
    explicit Stopwatch(int64_t &total_ns);
    ~Stopwatch();
    Stopwatch(const Stopwatch &) = delete;
    Stopwatch &operator=(const Stopwatch &) = delete;

  private:
    int64_t &total_ns_;
    int64_t start_ns_;
};

class Op
{
  public:
    virtual ~Op() = default;
    virtual void exec() = 0;
    // Where the time of exec is counted.
    virtual int64_t &total_ns() = 0;
};

class Worker
{
  public:
    Worker();
    ~Worker();
    // Queues OP; returns its ticket.
    uint64_t submit(std::unique_ptr<Op> op);
    // Waits until the operator of TICKET has run.
    void sync(uint64_t ticket);
    // Lets the queue run dry and ends the thread.
    void stop();
    // Valid after stop().
    int64_t idle_ns() const;
    int64_t alive_ns() const;

  private:
    void run();
    std::unique_ptr<Op> pop();

    std::mutex mutex_;
    std::condition_variable submitted_, done_;
    std::deque<std::unique_ptr<Op>> queue_;
    uint64_t submitted_count_ = 0, done_count_ = 0;
    bool stopping_ = false;
    int64_t idle_ns_ = 0, alive_ns_ = 0;
    std::thread thread_;
};

} // namespace mge
