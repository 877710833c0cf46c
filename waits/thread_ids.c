#include "waits/thread_ids.h"

#include "base/clock.h"
#include "target/proc.h"

enum { LIST_EVERY_NS = NS_PER_S }; /* a process with thousands of threads takes some 10 ms */

static uint64_t thread_key(uint32_t process, pid_t ns_tid)
{
    return (uint64_t)process << 32 | (uint32_t)ns_tid;
}

void thread_ids_add(struct thread_ids *t, const struct message *m)
{
    map_put(&t->threads, thread_key(m->process, m->ns_tid), (uint64_t)m->tid);
}

void thread_ids_remove(struct thread_ids *t, const struct message *m)
{
    uint64_t tid;
    uint64_t key = thread_key(m->process, m->ns_tid);
    if (map_get(&t->threads, key, &tid) && tid == (uint64_t)m->tid)
        map_remove(&t->threads, key);
}

pid_t thread_ids_find(const struct thread_ids *t, uint32_t process, pid_t ns_tid)
{
    uint64_t tid;
    return map_get(&t->threads, thread_key(process, ns_tid), &tid) ? (pid_t)tid : 0;
}

static bool lives(pid_t pid, pid_t tid, pid_t ns_tid)
{
    struct task_status status;
    return proc_status(pid, tid, &status) == 0 && status.ns_tid == ns_tid && status.state != 'Z' &&
           status.state != 'X';
}

struct listing {
    pid_t pid, ns_tid, found;
};

static void compare_task(void *ctx, pid_t tid)
{
    struct listing *listing = ctx;
    if (!listing->found && lives(listing->pid, tid, listing->ns_tid))
        listing->found = tid;
}

/* Asks all threads of PROCESS what they are called there.  False: that was done a moment ago, or
 * cannot be. */
static bool list(struct thread_ids *t, uint32_t process, struct listing *listing)
{
    uint64_t before_ns = 0;
    int64_t now_ns = clock_now_ns();
    if (map_get(&t->listed, process, &before_ns) && now_ns - (int64_t)before_ns < LIST_EVERY_NS)
        return false;
    map_put(&t->listed, process, (uint64_t)now_ns);
    return proc_each_task(listing->pid, compare_task, listing) == 0;
}

pid_t thread_ids_find_other(struct thread_ids *t, const struct message *m, pid_t pid, pid_t ns_tid,
                            bool *ret_none)
{
    struct listing listing = {.pid = pid, .ns_tid = ns_tid};
    bool same_namespace = m->ns_tid == m->tid;
    if (same_namespace) {
        *ret_none = !lives(pid, ns_tid, ns_tid);
        return *ret_none ? 0 : ns_tid;
    }
    *ret_none = list(t, m->process, &listing) && !listing.found;
    return listing.found;
}

void thread_ids_release(struct thread_ids *t)
{
    map_release(&t->threads);
    map_release(&t->listed);
}
