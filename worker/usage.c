#include "worker/usage.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "target/proc.h"
#include "worker/timeline.h"

enum { SHARE = 1000, THREADS_AT_ONCE = 32 };

static int64_t ticks_ns(uint64_t ticks)
{
    int64_t tick_ns = NS_PER_S / max_i64(sysconf(_SC_CLK_TCK), 1);
    return ticks < (uint64_t)(INT64_MAX / tick_ns) ? (int64_t)ticks * tick_ns : INT64_MAX;
}

static bool read_counters(pid_t pid, pid_t tid, struct profile_usage *ret,
                          uint64_t *ret_start_ticks)
{
    struct task_stat stat;
    struct task_status status;
    if (proc_stat(pid, tid, &stat) < 0 || proc_status(pid, tid, &status) < 0)
        return false;
    *ret = (struct profile_usage){
        .user_ns = ticks_ns(stat.user_ticks),
        .system_ns = ticks_ns(stat.system_ticks),
        .minor_faults = stat.minor_faults,
        .major_faults = stat.major_faults,
        .voluntary = status.voluntary,
        .involuntary = status.involuntary,
    };
    struct task_calls calls;
    if (proc_read_calls(pid, tid, &calls) == 0) {
        ret->reads = calls.reads;
        ret->writes = calls.writes;
        ret->read_bytes = calls.read_bytes;
        ret->written_bytes = calls.written_bytes;
    }
    *ret_start_ticks = stat.start_ticks;
    return true;
}

void usage_begin(struct usage_watch *w, pid_t pid, pid_t tid, const struct profile_usage *before)
{
    *w = (struct usage_watch){.before = *before};
    if (!read_counters(pid, tid, &w->first, &w->start_ticks))
        return;
    w->last = w->first;
    w->first_ns = w->last_ns = clock_now_ns();
}

bool usage_look(struct usage_watch *w, pid_t pid, pid_t tid)
{
    struct profile_usage now;
    uint64_t start_ticks;
    if (!w->first_ns || !read_counters(pid, tid, &now, &start_ticks) ||
        start_ticks != w->start_ticks)
        return false;
    w->last = now;
    w->last_ns = clock_now_ns();
    return true;
}

void usage_raise_faults(struct usage_watch *w, uint64_t faults)
{
    uint64_t known = w->last.minor_faults + w->last.major_faults;
    if (w->first_ns && faults > known)
        w->last.minor_faults += faults - known;
}

static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

struct profile_usage usage_so_far(const struct usage_watch *w)
{
    struct profile_usage ret = {
        .over_ns = w->last_ns - w->first_ns,
        .user_ns = max_i64(w->last.user_ns - w->first.user_ns, 0),
        .system_ns = max_i64(w->last.system_ns - w->first.system_ns, 0),
        .minor_faults = since(w->first.minor_faults, w->last.minor_faults),
        .major_faults = since(w->first.major_faults, w->last.major_faults),
        .voluntary = since(w->first.voluntary, w->last.voluntary),
        .involuntary = since(w->first.involuntary, w->last.involuntary),
        .reads = since(w->first.reads, w->last.reads),
        .writes = since(w->first.writes, w->last.writes),
        .read_bytes = since(w->first.read_bytes, w->last.read_bytes),
        .written_bytes = since(w->first.written_bytes, w->last.written_bytes),
    };
    profile_usage_add(&ret, &w->before);
    return ret;
}

void usage_skip(struct usage_watch *w, pid_t pid, pid_t tid)
{
    const struct profile_usage so_far = usage_so_far(w);
    usage_begin(w, pid, tid, &so_far);
}

void usage_look_at(struct thread_timeline *timeline, struct profile *p)
{
    struct profile_thread *t = profile_get_thread(p, timeline->thread);
    if (!usage_look(&timeline->usage, profile_see_process(p, t->process)->pid, t->tid))
        return;
    t->own_switches += timeline->own_unlooked;
    timeline->own_unlooked = 0;
}

void usage_look_around(struct usage_round *u, struct profile *p, struct thread_timeline *timelines,
                       size_t n)
{
    if (!duty_cycle_begin(&u->looking))
        return;
    for (size_t i = 0; i < THREADS_AT_ONCE && u->next < n; i++, u->next++)
        usage_look_at(&timelines[u->next], p);
    bool all = u->next >= n;
    u->next = all ? 0 : u->next;
    duty_cycle_end(&u->looking, SHARE, all ? NS_PER_S : 0);
}
