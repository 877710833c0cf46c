// What dump is read on: `dump_target KIND [N]` prints "ready" and hangs until its input ends.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::mutex db, cache;
static pthread_barrier_t both;

static void name(const std::string &s)
{
    pthread_setname_np(pthread_self(), s.c_str());
}

static void take(std::mutex &first, std::mutex &second)
{
    std::lock_guard<std::mutex> a(first);
    pthread_barrier_wait(&both);
    std::lock_guard<std::mutex> b(second);
    abort();
}

static void refresh()
{
    name("refresh");
    take(cache, db);
}
static void commit()
{
    name("commit");
    take(db, cache);
}

[[gnu::noinline]] static void deep(int n)
{
    if (n == 0)
        pause();
    else
        deep(n - 1);
    asm volatile("" ::: "memory");
}

static std::mutex m;
static std::condition_variable work;

static void serve(int i)
{
    name("worker-" + std::to_string(i));
    std::unique_lock<std::mutex> lock(m);
    work.wait(lock, [] { return false; });
}

static void abandon()
{
    std::thread([] { m.lock(); }).join();
    std::thread([] {
        name("heir");
        m.lock();
    }).detach();
}

// Two mutexes, of which nobody has both: no circle ever is.
static void take_turns(unsigned seed)
{
    for (;;) {
        std::lock_guard<std::mutex> lock(rand_r(&seed) & 1 ? db : cache);
        usleep(20);
    }
}

// As Open MPI waits: known by its name.
extern "C" __attribute__((noinline)) void opal_progress()
{
    for (volatile long i = 0;; i = i + 1)
        if (i % 1000 == 0)
            sched_yield();
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    std::vector<std::thread> threads;
    pthread_barrier_init(&both, nullptr, 2);
    if (!strcmp(kind, "deadlock")) {
        threads.emplace_back(refresh);
        threads.emplace_back(commit);
    }
    if (!strcmp(kind, "deep"))
        threads.emplace_back(deep, n);
    if (!strcmp(kind, "pool") || !strcmp(kind, "lost"))
        for (int i = 0; i < n; i++)
            threads.emplace_back(serve, i);
    if (!strcmp(kind, "spin"))
        threads.emplace_back([] {
            name("spinner");
            for (volatile long i = 0;; i = i + 1) {
            }
        });
    if (!strcmp(kind, "progress"))
        threads.emplace_back([] {
            name("progress");
            opal_progress();
        });
    if (!strcmp(kind, "turns"))
        for (int i = 0; i < n; i++)
            threads.emplace_back(take_turns, i);
    if (!strcmp(kind, "abandon"))
        abandon();
    usleep(300000);
    puts("ready");
    fflush(stdout);
    if (!strcmp(kind, "lost"))
        for (auto &thread : threads)
            thread.join();
    char c;
    if (read(0, &c, 1) <= 0)
        _exit(0);
}
