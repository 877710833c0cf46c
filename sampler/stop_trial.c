#include "sampler/stop_trial.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int stop_trial_start(pid_t *ret)
{
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (child > 0) {
        *ret = child;
        return 0;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile bool computing = true; computing;)
        ;
    _exit(0);
}

static int wait_for_stop(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFSTOPPED(status) ? 0 : -ESRCH;
}

int stop_trial_run(pid_t child)
{
    struct user_regs_struct regs;
    struct iovec io = {&regs, sizeof regs};
    if (ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0 ||
        ptrace(PTRACE_INTERRUPT, child, NULL, NULL) != 0)
        return -errno;
    int r = wait_for_stop(child);
    if (r < 0)
        return r;
    if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &io) != 0 ||
        ptrace(PTRACE_DETACH, child, NULL, NULL) != 0)
        return -errno;
    return 0;
}

void stop_trial_end(pid_t child)
{
    (void)kill(child, SIGKILL);
    while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        ;
}
