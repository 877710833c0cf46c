#include "sampler/filters.h"

#include <string.h>

#include "base/clock.h"
#include "sampler/look.h"
#include "sampler/state.h"
#include "target/syscalls.h"

enum { SEEN_LASTS_NS = NS_PER_S }; /* filters are installed once; a look takes 3 to 25 µs */

/* As of now; true where that is not known. */
static bool is_filtered(struct sampler *s, struct task *t)
{
    struct task_status status;
    return look_status(s, t, &status) < 0 || t->filter_seen;
}

bool filters_forbid_stop(struct sampler *s, struct task *t, int64_t number)
{
    return t->supervised || (syscall_has_restart_block(number) && is_filtered(s, t));
}

static bool waits_for_supervisor(const struct task *t)
{
    char wchan[64];
    ssize_t len = proc_read_text(t->process->pid, t->tid, "wchan", wchan, sizeof wchan);
    return len > 0 && strstr(wchan, "seccomp");
}

/* Calls that restart cleanly are waits, for which nobody asks a supervisor. */
void filters_look(struct sampler *s, struct task *t, int64_t number)
{
    if (t->supervised || number < 0 || syscall_restarts_cleanly(number))
        return;
    if (!t->filter_seen && clock_now_ns() - t->filter_seen_ns > SEEN_LASTS_NS)
        (void)is_filtered(s, t);
    t->supervised = t->filter_seen && waits_for_supervisor(t);
}

/* Of a thread that runs, and was never found in such a call, that is not asked: a call that it
 * enters just then has waited for some microseconds, and begins anew in any case.  One that is
 * blocked may have waited for an hour. */
bool filters_want_renewal(struct sampler *s, struct task *t)
{
    bool just_entered = t->requested_state != THREAD_BLOCKED && !t->renewed;
    return just_entered || is_filtered(s, t);
}

void filters_note(struct sampler *s, struct task *t, const struct stop *stop)
{
    counters_add(&s->counters, COUNT_RENEWED_CALLS, stop->renewed);
    t->renewed |= stop->renewed;
    t->undone = stop->undone;
}

void filters_settle(struct sampler *s, struct task *t)
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
