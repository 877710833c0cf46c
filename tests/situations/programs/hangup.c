/* A daemon that writes what it did to a log, with the time.  The culprit: its handler of SIGUSR1
 * does, too, and comes while localtime() has its lock; the twin's handler only sets a flag. */
#include "steady.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t reopen;
static volatile int minutes;

static __attribute__((noinline)) void log_line(void)
{
    time_t at = time(NULL);
    minutes += localtime(&at)->tm_min;
}

static void on_hangup(int unused)
{
    (void)unused;
    log_line();
    reopen = 1;
}

static void on_hangup_of_twin(int unused)
{
    (void)unused;
    reopen = 1;
}

/* Signals come 1,000 times a second until main hangs. */
static void send_signals(pid_t to, double end)
{
    while (now() < end && kill(to, SIGUSR1) == 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    _exit(0);
}

int main(int argc, char **argv)
{
    const pid_t self = getpid();
    struct steady run = {0};
    run = steady_begin(argc, argv);
    (void)signal(SIGUSR1, run.twin ? on_hangup_of_twin : on_hangup);
    if (steady_fork_apart())
        send_signals(self, run.end_s);
    (void)alarm((unsigned)(run.end_s - now()) + 2); /* it never comes back */
    while (steady_goes_on(&run))
        log_line();
    steady_tell("reopened", reopen);
}
