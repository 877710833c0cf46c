/* A server starts a helper process for each report; the program to look at is such a helper.  The
 * culprit: the server's thread `audit` had the log's mutex when main called fork(), so in the
 * helper nobody will ever give it up.  The twin's main takes the mutex for the time of fork(). */
#include "steady.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static int lines;
static struct steady run;

static void write_log(void)
{
    pthread_mutex_lock(&log_mutex);
    lines++;
    pthread_mutex_unlock(&log_mutex);
}

static void *audit(void *unused)
{
    while (steady_goes_on(&run)) {
        pthread_mutex_lock(&log_mutex);
        lines++;
        usleep(200000); /* its disk is slow */
        pthread_mutex_unlock(&log_mutex);
        usleep(1000);
    }
    return unused;
}

static void make_report(void)
{
    unsigned sum = 1;
    while (steady_goes_on(&run)) {
        for (int i = 0; i < 1000000; i++)
            sum = sum * 1664525U + 1013904223U;
        write_log();
    }
    _exit(sum == 1);
}

static pid_t start_helper(void)
{
    if (run.twin)
        pthread_mutex_lock(&log_mutex);
    pid_t pid = fork();
    if (run.twin)
        pthread_mutex_unlock(&log_mutex);
    if (pid == 0)
        make_report();
    return pid;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 2)
        return 2;
    run =
        (struct steady){.twin = argc > 2, .start_s = now(), .end_s = now() + strtod(argv[1], NULL)};
    if (pthread_create(&thread, NULL, audit, NULL) != 0)
        return 1;
    pthread_setname_np(thread, "audit");
    usleep(100000);
    pid_t pid = start_helper();
    usleep(300000);
    printf("ready %d\n", pid);
    fflush(stdout);
    pthread_join(thread, NULL);
    int status = 0;
    if (run.twin)
        (void)waitpid(pid, &status, 0);
    steady_tell("lines", lines);
    return 0;
}
