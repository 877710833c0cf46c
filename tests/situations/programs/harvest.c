/* main joins the thread assemble, which joins the thread load.  The culprit: load waits for another
 * program, which has stopped answering; the twin's threads compute, and end. */
#include "steady.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static struct steady run;
static int question, answer;

static unsigned compute(unsigned sum)
{
    for (int i = 0; i < 2000000; i++)
        sum = sum * 1664525U + 1013904223U;
    return sum;
}

static void ask_store(void)
{
    char row;
    (void)!recv(question, &row, 1, 0);
}

static void *load(void *unused)
{
    if (run.twin)
        question += compute(1) == 1;
    else
        ask_store();
    return unused;
}

static pthread_t start(const char *name, void *(*work)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0)
        _exit(1);
    pthread_setname_np(thread, name);
    return thread;
}

static void *assemble(void *unused)
{
    pthread_join(start("load", load), NULL);
    return unused;
}

static void keep_silent(void)
{
    close(question);
    while (steady_goes_on(&run))
        usleep(100000);
    close(answer);
    _exit(0);
}

int main(int argc, char **argv)
{
    int ends[2];
    int harvests = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return 1;
    question = ends[0];
    answer = ends[1];
    run = steady_begin(argc, argv);
    if (!run.twin && steady_fork_apart())
        keep_silent();
    close(answer);
    do {
        pthread_join(start("assemble", assemble), NULL);
        harvests++;
    } while (steady_goes_on(&run));
    steady_tell("harvests", steady_per_second(&run, harvests));
    return 0;
}
