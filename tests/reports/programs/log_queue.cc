// A logger's queue is full, and who logs waits for its thread.
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <queue>
#include <thread>

#include "account.h"

static std::mutex lock;
static std::condition_variable not_full, not_empty;
static std::queue<std::string> lines;
static double waited;

static void log(const std::string &line)
{
    double begin = now_s();
    std::unique_lock<std::mutex> held(lock);
    not_full.wait(held, [] { return lines.size() < 100; });
    waited += now_s() - begin;
    lines.push(line);
    not_empty.notify_one();
}

static std::string next_line()
{
    std::unique_lock<std::mutex> held(lock);
    not_empty.wait(held, [] { return !lines.empty(); });
    std::string line = std::move(lines.front());
    lines.pop();
    not_full.notify_one();
    return line;
}

static void log_writer()
{
    pthread_setname_np(pthread_self(), "log_writer");
    std::ofstream file("/dev/null");
    for (std::string line = next_line(); !line.empty(); line = next_line()) {
        file << line << std::endl;
        compute(0.0004); // a pattern of the time, colours, a checksum
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    ready(argv);
    std::thread writer(log_writer);
    while (goes_on()) {
        compute(0.00005);
        log("a line of the log");
    }
    log("");
    writer.join();
    tell("log", waited);
}
