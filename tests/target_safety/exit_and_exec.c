/* A process that leaves what it does, by execve or exit_group, while one thread cannot stop (it
 * waits in vfork for a child that sleeps) and more threads want to run than there are CPUs.
 *   exit_and_exec exec|exit leader|thread FIRST_VFORK
 * The word after the act says who does it, at the first byte from stdin.  FIRST_VFORK: leader or
 * thread: who waits in vfork.  What the program execve starts prints the milliseconds since the
 * call, then spins until stdin ends; exit prints the time of the call (CLOCK_MONOTONIC, ns). */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"

enum { SPINNERS = 4, HOLD_SECONDS = 1 };

static bool by_exec;
static atomic_bool go, vforked;
static volatile unsigned long sink;

__attribute__((noinline)) static void first_program(void)
{
    while (true)
        for (int i = 0; i < 1000; i++)
            sink = sink * 3 + 1;
}

__attribute__((noinline)) static void second_program(void)
{
    for (int64_t end = now_ns() + 300000000; now_ns() < end;)
        for (int i = 0; i < 1000; i++)
            sink = sink * 3 + 1;
}

static void *spin(void *unused)
{
    (void)unused;
    first_program();
    return NULL;
}

__attribute__((noinline)) static pid_t vfork_sleep(unsigned seconds)
{
    pid_t pid = vfork();
    if (pid < 0)
        fail("vfork");
    if (pid == 0) {
        if (seconds)
            sleep(seconds);
        _exit(0);
    }
    return pid;
}

/* Many short waits, so that a request for a stop may come between, and one that lasts. */
static void wait_in_vfork(void)
{
    for (bool last = false; !last;) {
        last = go;
        vforked = last;
        (void)waitpid(vfork_sleep(last ? HOLD_SECONDS : 0), NULL, 0);
    }
    pause();
}

static void leave(void)
{
    char byte;
    char started[32];
    (void)!read(STDIN_FILENO, &byte, 1);
    go = true;
    while (!vforked)
        ;
    (void)usleep(20000);
    (void)snprintf(started, sizeof started, "%lld", (long long)now_ns());
    if (by_exec) {
        (void)execl("/proc/self/exe", "exit_and_exec", "second", started, NULL);
        fail("execve");
    }
    (void)printf("%s\n", started);
    (void)fflush(stdout);
    _exit(7);
}

static void *leave_main(void *unused)
{
    (void)unused;
    leave();
    return NULL;
}

static void *vfork_main(void *unused)
{
    (void)unused;
    wait_in_vfork();
    return NULL;
}

static int run_second(const char *started)
{
    char byte;
    (void)printf("%.1f\n", (double)(now_ns() - strtoll(started, NULL, 10)) / 1e6);
    (void)fflush(stdout);
    do
        second_program();
    while (read(STDIN_FILENO, &byte, 1) > 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "second") == 0)
        return run_second(argv[2]);
    if (argc != 4)
        return 99;
    by_exec = strcmp(argv[1], "exec") == 0;
    bool leader_leaves = strcmp(argv[2], "leader") == 0;
    bool leader_vforks = strcmp(argv[3], "leader") == 0;
    for (int i = 0; i < SPINNERS; i++)
        start_thread(spin, NULL, "spinner");
    if (!leader_vforks)
        start_thread(vfork_main, NULL, "vforker");
    if (!leader_leaves)
        start_thread(leave_main, NULL, "leaver");
    (void)printf("ready\n");
    (void)fflush(stdout);
    if (leader_leaves)
        leave();
    if (leader_vforks)
        wait_in_vfork();
    first_program();
}
