// Who releases a mutex takes it again at once, before the other one is awake.
#include <mutex>
#include <thread>

#include "account.h"

static std::mutex events;
static double waited;

static void run_events()
{
    std::lock_guard<std::mutex> lock(events);
    compute(0.002);
}

static void simulate()
{
    pthread_setname_np(pthread_self(), "simulate");
    while (goes_on())
        run_events();
}

static void send_request()
{
    double begin = now_s();
    std::lock_guard<std::mutex> lock(events);
    waited += now_s() - begin;
    compute(0.0001);
}

static void tunnel()
{
    pthread_setname_np(pthread_self(), "tunnel");
    while (goes_on()) {
        send_request();
        compute(0.0005);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    ready(argv);
    std::thread simulation(simulate), requests(tunnel);
    simulation.join();
    requests.join();
    tell("send_request", waited);
}
