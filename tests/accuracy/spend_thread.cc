// A pure C++ thread that spends its time as it says.
#include "spend.h"

#include <pthread.h>
#include <random>
#include <system_error>
#include <thread>

struct spend_thread {
    int64_t ns[3] = {}, visits[3] = {};
    std::thread thread;

    void run(uint32_t seed, int64_t total_ns, int64_t min_ns, int64_t max_ns)
    {
        static int64_t (*const places[])(int64_t) = {spend_computing, spend_in_vdso,
                                                     spend_sleeping};
        pthread_setname_np(pthread_self(), "pure-c++");
        std::mt19937 random(seed);
        size_t place = 0;
        for (int64_t spent = 0; spent < total_ns;) {
            place = (place + 1 + random() % 2) % 3; // never the same one twice in a row
            int64_t took = places[place](min_ns + int64_t(random() % uint64_t(max_ns - min_ns)));
            ns[place] += took;
            visits[place]++;
            spent += took;
        }
    }
};

struct spend_thread *spend_thread_start(uint32_t seed, int64_t total_ns, int64_t min_ns,
                                        int64_t max_ns)
try {
    auto *t = new spend_thread;
    t->thread = std::thread(&spend_thread::run, t, seed, total_ns, min_ns, max_ns);
    return t;
} catch (const std::system_error &) {
    return nullptr;
}

void spend_thread_join(struct spend_thread *thread, int64_t *ret_ns, int64_t *ret_visits)
{
    thread->thread.join();
    for (int i = 0; i < 3; i++) {
        ret_ns[i] = thread->ns[i];
        ret_visits[i] = thread->visits[i];
    }
    delete thread;
}
