#include "sampler/look.h"

#include <errno.h>

#include "base/clock.h"
#include "sampler/state.h"

enum { MAX_SYSCALL_BACKOFF = 64 };

int look_fd(struct sampler *s, struct task *t, enum task_file file)
{
    int fd = task_fd(t, file, &s->files);
    if (fd != -EMFILE)
        return fd;
    /* Closes the files of the next quarter of all threads; theirs are opened again when needed. */
    struct process *p = t->process;
    size_t n = p->n_tasks ? p->n_tasks / 4 + 1 : 0;
    for (size_t i = 0; i < n; i++) {
        struct task *other = p->tasks[s->evict_at++ % p->n_tasks];
        if (other == t ||
            other->pending) /* whose file tells at its stop whether it is still itself */
            continue;
        counters_add(&s->counters, COUNT_FDS_EVICTED, 1);
        for (int f = 0; f < TASK_FILE_COUNT; f++)
            task_close(other, (enum task_file)f, &s->files);
    }
    return task_fd(t, file, &s->files);
}

int look_counts(struct sampler *s, struct task *t, struct schedstat *ret)
{
    int fd = look_fd(s, t, TASK_SCHEDSTAT);
    if (fd < 0)
        return fd == -ENOENT ? -ESRCH : fd;
    int r = schedstat_read(fd, ret);
    if (r == 0 && !s->can.schedstat)
        *ret = (struct schedstat){0};
    return r;
}

int look_status(struct sampler *s, struct task *t, struct task_status *ret)
{
    enum { FILTERED = 2 };
    int fd = look_fd(s, t, TASK_STATUS);
    int r = fd < 0 ? fd : task_status_read(fd, ret);
    if (r < 0)
        return r;
    t->filter_seen = ret->seccomp == FILTERED;
    t->filter_seen_ns = clock_now_ns();
    return 0;
}

int look_view(struct sampler *s, struct task *t, struct syscall_state *ret)
{
    int64_t start = clock_now_ns();
    if (start < t->syscall_not_before_ns && !s->config.single_shot) {
        counters_add(&s->counters, COUNT_SYSCALL_READS_SKIPPED, 1);
        return -EAGAIN;
    }
    int fd = look_fd(s, t, TASK_SYSCALL);
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
