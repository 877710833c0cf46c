/* Which processes are sampled.  The worker adds them, also while the sampler's thread runs, which
 * takes them over at the beginning of a tick, and closes those that have ended.
 *
 * A number is an index of `added` and is never used again.  So `added` is the queue between both
 * threads, too: the worker has filled N_ADDED places, and the sampler's thread has taken N_TAKEN of
 * them.  An ended process keeps its place there, without files and threads. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "sampler/capture.h"
#include "sampler/state.h"

/* ---- the worker's side ---- */

static int check_syscall_file(pid_t pid, struct err *err)
{
    int fd = proc_task_open(pid, pid, "syscall");
    if (fd == -ENOENT && kill(pid, 0) == 0)
        return err_set(err, -ENOENT,
                       "this kernel has no /proc/PID/syscall "
                       "(CONFIG_HAVE_ARCH_TRACEHOOK)");
    if (fd < 0)
        return err_set(err, fd == -ENOENT ? -ESRCH : fd, "cannot read /proc/%d/syscall: %s", pid,
                       strerror(-fd));
    close(fd);
    return 0;
}

/* The open file is P's own for good: read after all others were opened, it shows that P was there
 * all the time. */
static bool began_at(const struct process *p, uint64_t start_ticks)
{
    struct task_stat stat;
    return task_stat_read(p->stat_fd, &stat) == 0 && stat.start_ticks == start_ticks;
}

int sampler_add(struct sampler *s, pid_t pid, uint64_t start_ticks, struct mem *live,
                struct err *err)
{
    uint32_t number = atomic_load_explicit(&s->n_added, memory_order_relaxed);
    if (number == SAMPLER_MAX_PROCESSES)
        return err_set(err, -E2BIG, "more than %d processes", SAMPLER_MAX_PROCESSES);
    int r = check_syscall_file(pid, err);
    if (r < 0)
        return r;
    r = process_open(&s->added[number], pid, number, live);
    if (r == 0 && start_ticks && !began_at(s->added[number], start_ticks)) {
        s->added[number] = process_free(s->added[number], NULL);
        r = -ESRCH;
    }
    if (r == -EMFILE)
        return err_set(err, r,
                       "%d is left out: too few files may be open for one more process "
                       "(ulimit -n)",
                       pid);
    if (r < 0)
        return err_set(err, r == -ENOENT ? -ESRCH : r, "cannot watch process %d: %s", pid,
                       strerror(-r));
    atomic_store_explicit(&s->n_added, number + 1, memory_order_release);
    return (int)number;
}

void sampler_set_hook(struct sampler *s, uint32_t process, const struct capture_hook *hook)
{
    atomic_store_explicit(&s->added[process]->hook, hook, memory_order_release);
}

void sampler_drop_hook(struct sampler *s, uint32_t process, const struct capture_hook *hook)
{
    (void)atomic_compare_exchange_strong(&s->added[process]->hook, &hook, NULL);
}

bool sampler_child_status(const struct sampler *s, pid_t pid, int *ret_status)
{
    uint32_t n = atomic_load_explicit(&s->n_added, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        if (s->added[i]->pid == pid &&
            atomic_load_explicit(&s->added[i]->reaped, memory_order_acquire)) {
            *ret_status = atomic_load_explicit(&s->added[i]->exit_status, memory_order_relaxed);
            return true;
        }
    return false;
}

/* ---- the sampler's thread ---- */

void process_table_on_child(void *sampler, pid_t pid, int status)
{
    struct sampler *s = sampler;
    for (uint32_t i = 0; i < s->n_taken; i++) {
        struct process *p = s->added[i];
        if (p->pid != pid || atomic_load_explicit(&p->reaped, memory_order_relaxed))
            continue;
        atomic_store_explicit(&p->exit_status, status, memory_order_relaxed);
        atomic_store_explicit(&p->reaped, true, memory_order_release);
    }
}

bool process_table_done(const struct sampler *s)
{
    if (s->config.ends_with_first && s->n_taken && s->added[0]->ended)
        return true;
    for (uint32_t i = 0; i < s->n_processes; i++)
        if (!s->processes[i]->ended)
            return false;
    return s->n_taken == atomic_load_explicit(&s->n_added, memory_order_acquire);
}

bool process_table_report_end(struct sampler *s, struct process *p)
{
    if (!p->end_reported)
        p->end_reported = capture_emit_process(s, p, MESSAGE_PROCESS_END, clock_now_ns());
    return p->end_reported;
}

/* The worker frees what belongs to P once it has read of its end. */
static void close_ended(struct sampler *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n_processes; i++) {
        struct process *p = s->processes[i];
        if (!p->ended || (!p->end_reported && !process_table_report_end(s, p))) {
            s->processes[kept++] = p;
            continue;
        }
        for (size_t j = 0; j < p->n_threads; j++)
            counters_add(&s->counters, COUNT_NEVER_SAMPLED, !p->threads[j]->registered);
        process_close(p, &s->files);
    }
    s->n_processes = kept;
}

void process_table_update(struct sampler *s)
{
    uint32_t n = atomic_load_explicit(&s->n_added, memory_order_acquire);
    close_ended(s);
    while (s->n_taken < n)
        s->processes[s->n_processes++] = s->added[s->n_taken++];
    if (s->files.open && descriptors_are_short(s->wake_fd))
        thread_files_evict(s, NULL);
}

void process_table_release(struct sampler *s)
{
    uint32_t n = atomic_load_explicit(&s->n_added, memory_order_relaxed);
    for (uint32_t i = 0; i < n; i++)
        process_free(s->added[i], &s->files);
}
