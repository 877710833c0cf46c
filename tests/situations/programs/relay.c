/* An event loop by epoll: relays a message every 10 ms.  The culprit: once a second it looks a name
 * up and waits for the answer on the spot; the twin has it in a cache. */
#include "steady.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static double longest_s;

/* The server of names takes its time. */
static void look_up(int server)
{
    char answer;
    struct timeval patience = {.tv_usec = 250000};
    (void)setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)!recv(server, &answer, 1, 0);
}

static void relay(int in, int out)
{
    uint64_t count;
    (void)!read(in, &count, sizeof count);
    (void)!write(out, &count, sizeof count);
}

static int make_timer(void)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec every = {.it_interval.tv_nsec = 10000000, .it_value.tv_nsec = 10000000};
    timerfd_settime(timer, 0, &every, NULL);
    return timer;
}

int main(int argc, char **argv)
{
    int names[2];
    int timer = make_timer();
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, names) < 0)
        return 1;
    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event);
    struct steady run = steady_begin(argc, argv);
    double lookup_s = now() + 0.5;
    while (steady_goes_on(&run)) {
        epoll_wait(loop, &event, 1, -1);
        double start_s = now();
        relay(timer, out);
        if (!run.twin && start_s > lookup_s) {
            look_up(names[0]);
            lookup_s = start_s + 1;
        }
        double took_s = now() - start_s;
        longest_s = took_s > longest_s ? took_s : longest_s;
    }
    steady_tell("longest_s", longest_s);
    return 0;
}
