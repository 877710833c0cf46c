/* A target in some state that matters to an attach.  Prints "PID TID" of what is to be looked at
 * and lives until its stdin is closed.
 *   plain     a process with one more thread, "second"
 *   nodump    not dumpable
 *   brief     not dumpable, with a thread "second" that runs until it gets a byte from stdin
 *   zombie    a child that has ended and is not collected
 *   traced    a child that this process traces */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int tid_pipe[2];

static void *second(void *unused)
{
    (void)unused;
    pid_t tid = gettid();
    (void)pthread_setname_np(pthread_self(), "second");
    (void)!write(tid_pipe[1], &tid, sizeof tid);
    pause();
    return NULL;
}

static void *runs(void *unused)
{
    (void)unused;
    char byte = 0;
    pid_t tid = gettid();
    (void)pthread_setname_np(pthread_self(), "second");
    (void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    (void)!write(tid_pipe[1], &tid, sizeof tid);
    while (read(STDIN_FILENO, &byte, 1) < 0)
        ;
    (void)fcntl(STDIN_FILENO, F_SETFL, 0);
    return NULL;
}

static pid_t start_second(void *(*body)(void *))
{
    pthread_t thread;
    pid_t tid = 0;
    if (pipe(tid_pipe) != 0 || pthread_create(&thread, NULL, body, NULL) != 0 ||
        read(tid_pipe[0], &tid, sizeof tid) != sizeof tid)
        abort();
    return tid;
}

static pid_t start_child(int exits)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (exits)
            _exit(0);
        pause();
    }
    return pid;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "plain";
    pid_t pid = getpid();
    pid_t tid = pid;
    if (strcmp(kind, "plain") == 0) {
        tid = start_second(second);
    } else if (strcmp(kind, "nodump") == 0) {
        (void)prctl(PR_SET_DUMPABLE, 0);
    } else if (strcmp(kind, "brief") == 0) {
        (void)prctl(PR_SET_DUMPABLE, 0);
        tid = start_second(runs);
    } else if (strcmp(kind, "zombie") == 0) {
        siginfo_t info;
        tid = pid = start_child(1);
        (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    } else if (strcmp(kind, "traced") == 0) {
        tid = pid = start_child(0);
        if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0)
            abort();
    } else {
        return EXIT_FAILURE;
    }
    (void)printf("%d %d\n", pid, tid);
    (void)fflush(stdout);
    char byte;
    struct pollfd closed = {.fd = STDIN_FILENO};
    if (strcmp(kind, "brief") == 0)
        (void)poll(&closed, 1, -1); /* the thread reads what comes */
    else
        (void)!read(STDIN_FILENO, &byte, 1);
    return EXIT_SUCCESS;
}
