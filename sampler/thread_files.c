#include "sampler/thread_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "sampler/state.h"

enum {
    MAX_SYSCALL_BACKOFF = 64,
    TRIES = 4,
    PF_EXITING = 0x4, /* include/linux/sched.h */
    PF_IO_WORKER = 0x10,
};

static int open_file(struct thread *t, enum thread_file file, enum descriptor_use use,
                     struct thread_files *files)
{
    static const char *const names[] = {"schedstat", "syscall", "status", "stat", "sched"};
    if (t->fds[file] >= 0)
        return t->fds[file];
    int fd = descriptor_keep(proc_task_open(t->process->pid, t->tid, names[file]), use);
    if (fd >= 0) {
        t->fds[file] = fd;
        files->open++;
    }
    return fd;
}

static void close_file(struct thread *t, enum thread_file file, struct thread_files *files)
{
    if (t->fds[file] < 0)
        return;
    close(t->fds[file]);
    t->fds[file] = -1;
    files->open--;
}

void thread_files_close(struct thread *t, struct thread_files *files)
{
    for (int i = 0; i < THREAD_FILE_COUNT; i++)
        close_file(t, (enum thread_file)i, files);
}

void thread_files_keep_counts(struct thread *t, struct thread_files *files)
{
    for (int i = FILE_SCHEDSTAT + 1; i < THREAD_FILE_COUNT; i++)
        close_file(t, (enum thread_file)i, files);
}

static struct thread *next_in_turn(struct sampler *s)
{
    for (uint32_t i = 0; i <= s->n_processes; i++) {
        const struct process *p = s->processes[s->evict_process % s->n_processes];
        if (s->evict_at < p->n_threads)
            return p->threads[s->evict_at++];
        s->evict_at = 0;
        s->evict_process++;
    }
    return NULL;
}

static size_t count_threads(const struct sampler *s)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_processes; i++)
        n += s->processes[i]->n_threads;
    return n;
}

/* Closes files of threads that are PENDING, or that are not, until fewer than ENOUGH are open.  Of
 * a pending one the counts stay: whether it is still the same thread shows at its stop, by them.
 * The rest makes the cost of the stop known. */
static void evict_some(struct sampler *s, const struct thread *kept, bool pending, uint32_t enough)
{
    struct thread *t;
    for (size_t n = count_threads(s); n && s->files.open >= enough && (t = next_in_turn(s)); n--)
        if (t != kept && t->pending == pending)
            (pending ? thread_files_keep_counts : thread_files_close)(t, &s->files);
}

void thread_files_evict(struct sampler *s, const struct thread *kept)
{
    uint32_t before = s->files.open;
    evict_some(s, kept, false, before - before / 4);
    if (s->files.open == before)
        evict_some(s, kept, true, before - before / 4);
    counters_add(&s->counters, COUNT_FDS_EVICTED, before - s->files.open);
}

int thread_file_fd(struct sampler *s, struct thread *t, enum thread_file file)
{
    int fd = open_file(t, file, DESCRIPTOR_THREAD, &s->files);
    if (fd != -EMFILE)
        return fd;
    thread_files_evict(s, t);
    fd = open_file(t, file, DESCRIPTOR_THREAD, &s->files);
    /* The worker may take what becomes free. */
    for (int i = 0; i < TRIES && fd == -EMFILE; i++) {
        fd = open_file(t, file, DESCRIPTOR_NOW, &s->files);
        if (fd == -EMFILE)
            thread_files_evict(s, t);
    }
    return fd;
}

int thread_read_schedstat(struct sampler *s, struct thread *t, struct schedstat *ret)
{
    int fd = thread_file_fd(s, t, FILE_SCHEDSTAT);
    if (fd < 0)
        return fd == -ENOENT ? -ESRCH : fd;
    int r = schedstat_read(fd, ret);
    if (r == 0 && !s->can.schedstat)
        *ret = (struct schedstat){0};
    return r;
}

int thread_read_status(struct sampler *s, struct thread *t, struct task_status *ret)
{
    enum { FILTERED = 2 };
    int fd = thread_file_fd(s, t, FILE_STATUS);
    int r = fd < 0 ? fd : task_status_read(fd, ret);
    if (r < 0)
        return r;
    t->seccomp_seen = ret->seccomp == FILTERED;
    t->seccomp_seen_ns = clock_now_ns();
    return 0;
}

int thread_read_sched(struct sampler *s, struct thread *t, struct task_sched *ret)
{
    if (!s->can.sched)
        return -ENOENT;
    int fd = thread_file_fd(s, t, FILE_SCHED);
    return fd < 0 ? fd : task_sched_read(fd, ret);
}

bool thread_read_faults(const struct thread *t, uint64_t *ret)
{
    struct task_stat stat;
    int fd = t->fds[FILE_STAT];
    if (fd < 0 || task_stat_read(fd, &stat) < 0)
        return false;
    *ret = stat.minor_faults + stat.major_faults;
    return true;
}

int thread_read_syscall(struct sampler *s, struct thread *t, struct syscall_state *ret)
{
    int64_t start = clock_now_ns();
    if (start < t->syscall_not_before_ns && !s->shooting) {
        counters_add(&s->counters, COUNT_SYSCALL_READS_SKIPPED, 1);
        return -EAGAIN;
    }
    int fd = thread_file_fd(s, t, FILE_SYSCALL);
    if (fd < 0)
        return fd == -ENOENT ? -ESRCH : fd;
    int r = syscall_state_read(fd, ret);
    int64_t took = clock_now_ns() - start;
    if (took <= s->can.syscall_limit_ns) {
        t->syscall_backoff = 0;
        return r;
    }
    counters_add(&s->counters, COUNT_SLOW_SYSCALL_READS, 1);
    t->syscall_backoff = t->syscall_backoff ? t->syscall_backoff * 2 : 2;
    if (t->syscall_backoff > MAX_SYSCALL_BACKOFF)
        t->syscall_backoff = MAX_SYSCALL_BACKOFF;
    t->syscall_not_before_ns = start + s->interval_ns * t->syscall_backoff;
    return r;
}

bool thread_is_awake(struct sampler *s, struct thread *t)
{
    struct syscall_state view;
    return thread_read_syscall(s, t, &view) == 0 && view.view == SYSCALL_RUNNING;
}

char thread_read_state(struct sampler *s, struct thread *t)
{
    struct task_stat stat;
    int fd = thread_file_fd(s, t, FILE_STAT);
    if (fd < 0 || task_stat_read(fd, &stat) < 0)
        return '\0';
    return stat.state;
}

int thread_read_stat(struct sampler *s, struct thread *t)
{
    struct task_stat stat;
    struct task_status status;
    int r = proc_stat(t->process->pid, t->tid, &stat);
    if (r == -ESRCH || r == -ENOENT)
        return 0;
    if (r < 0) {
        counters_add(&s->counters, COUNT_UNREADABLE, 1);
        return -EAGAIN;
    }
    memcpy(t->comm, stat.comm, sizeof t->comm);
    t->io_worker = (stat.flags & PF_IO_WORKER) != 0;
    t->start_ticks = stat.start_ticks;
    if (thread_read_status(s, t, &status) == 0 && status.ns_tid > 0)
        t->ns_tid = status.ns_tid;
    bool ends = stat.state == 'Z' || stat.state == 'X' || stat.flags & PF_EXITING;
    return ends ? 0 : stat.state;
}
