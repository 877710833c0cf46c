#include "sampler/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
    MAX_ARGUMENT_BYTES = 8 << 20,
    ASK_EVERY_TICKS = 16, /* whether the main thread has ended, which its own files tell, too */
    LINKS_OF_DIRECTORY = 2,
};
/* A thread that comes or goes shows at the next tick, in their number or in its own files, if it is sampled;
 * listings are for the rest, and take a microsecond a thread. */
enum { LIST_EVERY_MS = 100, LIST_EVERY_MS_MAX = 1000 };

static int open_task_dir(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int process_open(struct process **ret, pid_t pid, uint32_t number, struct mem *live)
{
    struct process *p = xcalloc(1, sizeof *p);
    p->pid = pid;
    p->number = number;
    p->live = live;
    p->stat_fd = proc_task_open(pid, pid, "stat");
    p->space_fd = -1;
    stack_maps_open(&p->stack_maps);
    p->task_dir_fd = open_task_dir(pid);
    int r = p->stat_fd < 0 ? p->stat_fd : p->task_dir_fd;
    if (r < 0) {
        (void)process_free(p, NULL);
        return r;
    }
    sleepers_open(&p->sleepers, pid);
    (void)process_news(p);
    *ret = p;
    return 0;
}

/* ---- does it run the same program? ---- */

/* The address space as it was when it was opened: nothing can be read from it any more once execve or the
 * process's end has replaced it, and asking costs a third of reading stat (fs/proc/base.c: mem_rw). */
enum space { SPACE_SAME, SPACE_GONE, SPACE_UNKNOWN };

static enum space look_at_space(const struct process *p)
{
    char byte;
    if (p->space_fd < 0 || !p->vouched)
        return SPACE_UNKNOWN;
    switch (pread(p->space_fd, &byte, 1, (off_t)p->stack_start)) {
    case 0:
        return SPACE_GONE;
    case 1:
        return SPACE_SAME;
    default:
        return SPACE_UNKNOWN;
    }
}

/* Opens the present one; it is believed once it has been seen that there was no execve before that. */
static void keep_space(struct process *p, bool execed)
{
    if (execed && p->space_fd >= 0) {
        close(p->space_fd);
        p->space_fd = -1;
    }
    p->vouched = p->space_fd >= 0;
    if (p->space_fd < 0 && p->stack_start)
        p->space_fd = proc_task_open(p->pid, p->pid, "mem");
}

/* For where its memory cannot be opened, or lives on, a vforked child having it.  In the middle of an
 * execve the stack's start is above what its arguments take, later below. */
static bool is_new_stack(struct process *p, uint64_t start)
{
    bool settles = p->stack_start - start <= MAX_ARGUMENT_BYTES;
    bool changed = start && p->stack_start && start != p->stack_start;
    bool execed = changed && !(p->fresh && settles);
    p->fresh = execed || (p->fresh && !changed);
    return execed;
}

/* Of the task directory: one more for each thread (fs/proc/base.c: proc_task_getattr). */
static uint64_t count_links(struct process *p)
{
    struct stat st;
    p->links_now = fstat(p->task_dir_fd, &st) == 0 ? st.st_nlink : UINT64_MAX;
    return p->links_now;
}

static bool is_over(const struct task_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X';
}

/* The main thread is looked at before and after: while it was a zombie and others ran, one of them may have taken its place by
 * execve. */
bool process_is_zombie(struct process *p)
{
    struct task_stat stat;
    return task_stat_read(p->stat_fd, &stat) == 0 && is_over(&stat) &&
           count_links(p) <= LINKS_OF_DIRECTORY + 1 && task_stat_read(p->stat_fd, &stat) == 0 &&
           is_over(&stat);
}

struct process_news process_news(struct process *p)
{
    struct process_news news = {0};
    struct task_stat stat;
    enum space space = look_at_space(p);
    bool others_left = count_links(p) != p->links || p->lost_one;
    if (space == SPACE_SAME && !others_left && ++p->not_asked < ASK_EVERY_TICKS)
        return news;
    p->not_asked = 0;
    int r = task_stat_read(p->stat_fd, &stat);
    if (r < 0) {
        news.gone = r == -ESRCH;
        return news;
    }
    news.main_ended = is_over(&stat);
    news.execed = is_new_stack(p, stat.stack_start);
    if (space == SPACE_GONE) /* without a stack it is ending, or in the middle of an execve */
        news.execed = stat.stack_start != 0;
    p->fresh |= news.execed;
    if (stat.stack_start)
        p->stack_start = stat.stack_start;
    if (space != SPACE_GONE || news.execed)
        keep_space(p, news.execed);
    return news;
}

static int64_t listing_interval_ns(const struct process *p)
{
    size_t ms = !p->any_unwatched && p->n_tasks > LIST_EVERY_MS ? p->n_tasks : LIST_EVERY_MS;
    return (int64_t)(ms < LIST_EVERY_MS_MAX ? ms : LIST_EVERY_MS_MAX) * NS_PER_MS;
}

bool process_wants_listing(const struct process *p, int64_t now_ns)
{
    return p->list_again || p->n_tasks == 0 || p->links_now == UINT64_MAX ||
           p->links_now != p->links || now_ns - p->listed_ns >= listing_interval_ns(p);
}

void process_begin_listing(struct process *p, int64_t now_ns)
{
    p->links = count_links(p);
    p->listed_ns = now_ns;
    p->list_again = false;
}

struct task *process_task(const struct process *p, pid_t tid)
{
    uint64_t i;
    return map_get(&p->by_tid, (uint64_t)tid, &i) ? p->tasks[i] : NULL;
}

void process_add(struct process *p, struct task *t)
{
    p->tasks = array_reserve(p->tasks, &p->capacity, p->n_tasks + 1, sizeof *p->tasks);
    map_put(&p->by_tid, (uint64_t)t->tid, p->n_tasks);
    p->tasks[p->n_tasks++] = t;
    sleepers_add(t);
}

void process_remove(struct process *p, struct task *t)
{
    uint64_t i;
    if (!map_get(&p->by_tid, (uint64_t)t->tid, &i) || p->tasks[i] != t)
        return;
    map_remove(&p->by_tid, (uint64_t)t->tid);
    sleepers_remove(t);
    p->tasks[i] = p->tasks[--p->n_tasks];
    if (i < p->n_tasks)
        map_put(&p->by_tid, (uint64_t)p->tasks[i]->tid, i);
}

struct process *process_free(struct process *p, struct task_files *files)
{
    if (!p)
        return NULL;
    for (size_t i = 0; i < p->n_tasks; i++)
        task_free(p->tasks[i], files);
    if (p->stat_fd >= 0)
        close(p->stat_fd);
    if (p->task_dir_fd >= 0)
        close(p->task_dir_fd);
    if (p->space_fd >= 0)
        close(p->space_fd);
    sleepers_close(&p->sleepers);
    stack_maps_close(&p->stack_maps);
    map_release(&p->by_tid);
    free(p->tasks);
    free(p);
    return NULL;
}
