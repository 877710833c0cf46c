/* How often a signal that nobody handles ends another thread's call, since the thread that it was
 * meant for is traced just then (docs/safety.md, "Known limits"): the main thread
 * works and has children that end at once, each with a SIGCHLD; four threads wait in epoll_wait(2),
 * and count how often it returned EINTR.  Alone none does.
 *   ignored SECONDS & wallspy -p $! -d SECONDS -o o.json */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAITERS = 4, WAIT_MS = 50, ROUNDS = 200000 };

static atomic_long cut;
static long children;

static void *await_nothing(void *unused)
{
    int fd = epoll_create1(0);
    struct epoll_event event;
    for (;;)
        if (epoll_wait(fd, &event, 1, WAIT_MS) < 0 && errno == EINTR)
            cut++;
    return unused;
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
    pthread_t thread;
    for (int i = 0; i < WAITERS; i++)
        pthread_create(&thread, NULL, await_nothing, NULL);
    for (; time(NULL) < end; children++) {
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        for (volatile int i = 0; i < ROUNDS; i++)
            ;
        waitpid(child, NULL, 0);
    }
    printf("%ld children, %ld waits cut short\n", children, cut);
}
