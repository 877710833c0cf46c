#include "sampler/long_write.h"

#include <limits.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "sampler/state.h"
#include "sampler/thread_files.h"

/* Shorter ones are done whole or not at all (pipe(7), PIPE_BUF). */
static bool may_be_cut(const struct syscall_state *view)
{
    return view->number == SYS_writev || (view->number == SYS_write && view->args[2] > PIPE_BUF);
}

static bool read_writes(const struct thread *t, uint64_t *ret)
{
    struct task_calls calls;
    if (proc_read_calls(t->process->pid, t->tid, &calls) < 0)
        return false;
    *ret = calls.writes;
    return true;
}

void long_write_sampled(struct sampler *s, struct thread *t, const struct syscall_state *view)
{
    struct long_write *w = &t->long_write;
    struct schedstat now;
    w->known = false;
    if (!may_be_cut(view) || s->config.single_shot || !read_writes(t, &w->writes) ||
        thread_read_schedstat(s, t, &now) < 0)
        return;
    /* Else the count may be that of a later write. */
    w->known = claim_holds(&t->sampled, &now);
    w->run_ns = now.run_ns;
    w->seen_ns = clock_now_ns();
}

bool long_write_goes_on(struct thread *t, int64_t now_ns)
{
    struct long_write *w = &t->long_write;
    uint64_t writes;
    if (!w->known || t->sampled.state != THREAD_BLOCKED)
        return false;
    w->known = read_writes(t, &writes) && writes == w->writes;
    bool waited = 2 * (t->sched.run_ns - w->run_ns) < (uint64_t)(now_ns - w->seen_ns);
    w->run_ns = t->sched.run_ns;
    w->seen_ns = now_ns;
    return w->known && waited;
}
