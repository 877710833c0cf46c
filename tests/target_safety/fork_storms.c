/* Work that makes and ends threads or processes without pause, and checks each result.
 *   fork_storms vfork|fork|exec|clone
 *   fork_storms exit CODE        what a process of "exec" becomes */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"

static struct count counts[] = {{.name = "done"}, {.name = "wrong"}, {.name = "eintr"}, {0}};
enum { DONE, WRONG, EINTRS };

static void reap(pid_t pid, int expected)
{
    int status = 0;
    pid_t r;
    while ((r = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        counts[EINTRS].n++;
    counts[DONE].n++;
    if (r != pid || !WIFEXITED(status) || WEXITSTATUS(status) != expected)
        counts[WRONG].n++;
}

__attribute__((noinline)) static pid_t vfork_exit(int code)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(code);
    if (pid < 0)
        fail("vfork");
    return pid;
}

static void *vfork_main(void *unused)
{
    (void)unused;
    for (int i = 0;; i++)
        reap(vfork_exit(i & 127), i & 127);
    return NULL;
}

static void *fork_main(void *unused)
{
    (void)unused;
    for (int i = 0;; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            int sum = 0;
            for (volatile int k = 0; k < 1000; k++)
                sum += k * i;
            _exit(sum & 127);
        }
        if (pid < 0)
            fail("fork");
        reap(pid, 499500 * i & 127);
    }
    return NULL;
}

static void *exec_main(void *unused)
{
    (void)unused;
    for (int i = 0;; i++) {
        char code[16];
        (void)snprintf(code, sizeof code, "%d", i & 127);
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "fork_storms", "exit", code, (char *)NULL);
            _exit(255);
        }
        if (pid < 0)
            fail("fork");
        reap(pid, i & 127);
    }
    return NULL;
}

static void *add_one(void *n)
{
    atomic_fetch_add((atomic_long *)n, 1);
    return n;
}

/* 1,000 threads a second for each of the five that call this. */
static void *clone_main(void *unused)
{
    (void)unused;
    struct timespec next;
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        pthread_t thread;
        atomic_long n = 0;
        void *ret = NULL;
        if (pthread_create(&thread, NULL, add_one, &n) || pthread_join(thread, &ret))
            fail("pthread_create");
        counts[DONE].n++;
        counts[WRONG].n += n != 1 || ret != &n;
        next.tv_nsec += 1000000;
        if (next.tv_nsec >= 1000000000) {
            next.tv_sec++;
            next.tv_nsec -= 1000000000;
        }
        int r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        counts[EINTRS].n += r == EINTR;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    if (argc > 2)
        _exit(atoi(argv[2]));
    void *(*storm)(void *) = strcmp(kind, "vfork") == 0  ? vfork_main
                             : strcmp(kind, "fork") == 0 ? fork_main
                             : strcmp(kind, "exec") == 0 ? exec_main
                                                         : clone_main;
    int n = storm == clone_main ? 5 : 2;
    for (int i = 0; i < n; i++)
        start_thread(storm, NULL, kind);
    answer(counts);
    _exit(0);
}
