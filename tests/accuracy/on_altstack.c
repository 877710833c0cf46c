/* usage: on_altstack DEPTH SECONDS
 * Is at the bottom of DEPTH calls of itself, where a handler on an alternate stack interrupts it
 * all the time. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

enum {
    MICROSECONDS_BETWEEN = 2000,
    STACK_BYTES = 1 << 16,
    FRAME_BYTES = 200,
    HANDLER_LOOPS = 4000000
};

static void handler(int signal)
{
    for (volatile int i = signal; i < HANDLER_LOOPS; i++)
        ;
}

__attribute__((noinline, noclone)) static int descend(int depth, time_t end)
{
    volatile char filler[FRAME_BYTES];
    filler[depth % FRAME_BYTES] = 1;
    while (depth == 0 && time(NULL) < end)
        ;
    return depth == 0 ? 0 : descend(depth - 1, end) + filler[depth % FRAME_BYTES];
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const stack_t other = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART};
    const struct itimerval often = {{.tv_usec = MICROSECONDS_BETWEEN},
                                    {.tv_usec = MICROSECONDS_BETWEEN}};
    if (sigaltstack(&other, NULL) || sigaction(SIGPROF, &action, NULL) ||
        setitimer(ITIMER_PROF, &often, NULL))
        return 1;
    puts("ready");
    (void)fflush(stdout);
    return descend(atoi(argv[1]), time(NULL) + atoi(argv[2])) == atoi(argv[1]) ? 0 : 1;
}
