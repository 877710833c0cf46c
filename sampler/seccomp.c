#include "sampler/seccomp.h"

#include <string.h>

#include "arch/syscalls.h"
#include "base/clock.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

enum { SEEN_LASTS_NS = NS_PER_S }; /* filters are installed once; to read takes 3 to 25 µs */

/* Has T a filter now?  True where that is not known. */
static bool is_filtered(struct sampler *s, struct thread *t)
{
    struct task_status status;
    return thread_read_status(s, t, &status) < 0 || t->seccomp_seen;
}

bool seccomp_forbids_stop(struct sampler *s, struct thread *t, int64_t number)
{
    return t->supervised || (syscall_has_restart_block(number) && is_filtered(s, t));
}

static bool waits_for_supervisor(const struct thread *t)
{
    char wchan[PROC_WCHAN_BYTES];
    proc_read_wchan(t->process->pid, t->tid, wchan);
    return strstr(wchan, "seccomp");
}

/* Calls that restart cleanly are waits: no supervisor is asked about them. */
void seccomp_check(struct sampler *s, struct thread *t, int64_t number)
{
    if (t->supervised || number < 0 || syscall_restarts_cleanly(number))
        return;
    if (!t->seccomp_seen && clock_now_ns() - t->seccomp_seen_ns > SEEN_LASTS_NS)
        (void)is_filtered(s, t);
    t->supervised = t->seccomp_seen && waits_for_supervisor(t);
}

/* Skips the look at the filters of a thread that runs and was never found in such a call: a call
 * that it has just entered begins anew in any case, after some microseconds.  The call of a blocked
 * thread may have waited for an hour; poll(2) begins anew even if its time is over. */
bool seccomp_wants_renewal(struct sampler *s, struct thread *t)
{
    bool just_entered = t->asked.state != THREAD_BLOCKED && !t->renewed &&
                        !syscall_restarts_late(t->sampled.place.syscall);
    return just_entered || is_filtered(s, t);
}

void seccomp_note_stop(struct sampler *s, struct thread *t, const struct stop *stop)
{
    counters_add(&s->counters, COUNT_RENEWED_CALLS, stop->renewed);
    t->renewed |= stop->renewed;
    t->undone = stop->undone;
}

void seccomp_note_release(struct sampler *s, struct thread *t)
{
    if (!t->undone)
        return;
    t->undone = false;
    if (!is_filtered(s, t))
        return;
    counters_add(&s->counters, COUNT_UNDONE_CALLS, 1);
    bool supervised = t->supervised || waits_for_supervisor(t);
    counters_add(&s->counters, COUNT_SUPERVISED_CALLS, supervised);
    t->supervised = supervised;
}
