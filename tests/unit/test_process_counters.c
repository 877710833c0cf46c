/* A pause leaves the machine alone, also while a file grows. */
#include "worker/process_counters.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

static struct profile *profile;
static struct process_counters *counters;

/* The counters of this process. */
static struct target_process *set_up(void)
{
    static struct target_process self;
    static struct target_process *all[] = {&self};
    profile = profile_new(0);
    self.pid = getpid();
    self.profile = profile;
    self.id = profile_process(profile, &(struct profile_process){.pid = getpid()});
    counters = process_counters_new(profile, all, 1);
    return &self;
}

/* Looks for MS, as a file that grows does, or until a child was seen. */
static bool a_child_is_seen(const struct target_process *s, int64_t ms)
{
    const struct profile_process *process = profile_see_process(profile, s->id);
    int64_t end_ns = clock_now_ns() + ms * NS_PER_MS;
    do {
        process_counters_report(counters);
        (void)usleep(20000);
    } while (!process->children_seen && clock_now_ns() < end_ns);
    return process->children_seen;
}

START_TEST(processes_are_not_listed_in_a_pause)
{
    enum { PAUSE_MS = 3000, MOST_MS = 15000 };
    const struct target_process *self = set_up();
    process_counters_pause(counters);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    ck_assert(!a_child_is_seen(self, PAUSE_MS));
    process_counters_resume(counters);
    ck_assert(a_child_is_seen(self, MOST_MS));
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    process_counters_free(counters);
    profile_free(profile);
}
END_TEST

CHECK_MAIN("process_counters", 30, processes_are_not_listed_in_a_pause)
