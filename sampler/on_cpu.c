#include "sampler/on_cpu.h"

#include "sampler/state.h"
#include "sampler/thread_files.h"

/* The sampler's own file takes 10 µs to read, so it is read only while on_cpu_state() is asked. */
enum { WOKE_TICKS = 32 };

void on_cpu_woke(struct sampler *s)
{
    struct task_sched own;
    s->woke_ns = 0;
    if (!s->woke_ticks)
        return;
    s->woke_ticks--;
    if (s->own_sched_fd >= 0 && task_sched_read(s->own_sched_fd, &own) == 0)
        s->woke_ns = own.exec_start_ns;
}

static bool read_sched(struct sampler *s, struct thread *t, struct switches *ret)
{
    struct task_sched sched;
    if (thread_read_sched(s, t, &sched) < 0)
        return false;
    *ret = (struct switches){sched.switches, sched.exec_start_ns, t->sched.runs, s->tick_ns, true};
    return true;
}

void on_cpu_look(struct sampler *s, struct thread *t)
{
    t->looked.known = false;
    (void)read_sched(s, t, &t->looked);
}

bool on_cpu_looked(const struct sampler *s, const struct thread *t)
{
    return t->looked.known && t->looked.tick_ns == s->tick_ns && t->looked.runs == t->sched.runs;
}

/* A look is used once. */
static bool read_switches(struct sampler *s, struct thread *t, struct switches *ret)
{
    struct task_status status;
    bool looked = on_cpu_looked(s, t);
    *ret = t->looked;
    t->looked.known = false;
    if (looked || read_sched(s, t, ret))
        return true;
    if (thread_read_status(s, t, &status) < 0)
        return false;
    *ret = (struct switches){.n = status.voluntary + status.involuntary};
    return true;
}

/* T's run count less its switches, if it did not run while both were read. */
static bool read_ahead(struct sampler *s, struct thread *t, int64_t *ret, uint64_t *ret_since_ns)
{
    struct switches switches;
    struct schedstat after;
    if (!s->can.schedstat || !read_switches(s, t, &switches) ||
        thread_read_schedstat(s, t, &after) < 0 || after.runs != t->sched.runs)
        return false;
    t->sched = after;
    *ret = (int64_t)(after.runs - switches.n);
    *ret_since_ns = switches.since_ns;
    return true;
}

/* Of no other thread is the difference known: it may be of one that runs and has a lower base. */
static enum thread_state off_cpu_state(struct sampler *s, struct thread *t, uint64_t since_ns)
{
    t->displaced = since_ns && since_ns == s->woke_ns;
    if (t->displaced) {
        t->base_known = true;
        return THREAD_RUNNING;
    }
    return THREAD_RUNNABLE;
}

enum thread_state on_cpu_state(struct sampler *s, struct thread *t)
{
    int64_t ahead;
    uint64_t since_ns;
    s->woke_ticks = WOKE_TICKS;
    t->displaced = false;
    if (!read_ahead(s, t, &ahead, &since_ns))
        return THREAD_RUNNING_OR_RUNNABLE;
    if (ahead < t->switch_base) { /* a run was missed */
        t->switch_base = ahead;
        t->base_known = false;
    }
    if (ahead == t->switch_base)
        return off_cpu_state(s, t, since_ns);
    t->base_known |= ahead == t->switch_base + 1;
    return ahead == t->switch_base + 1 ? THREAD_RUNNING : THREAD_RUNNING_OR_RUNNABLE;
}

void on_cpu_learn(struct sampler *s, struct thread *t)
{
    uint64_t since_ns;
    if (!t->base_known)
        t->base_known = read_ahead(s, t, &t->switch_base, &since_ns);
}

void on_cpu_correct(struct thread *t)
{
    t->switch_base--;
    t->base_known = false;
}
