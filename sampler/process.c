#include "sampler/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/minmax.h"

enum {
    MAX_ARGUMENT_BYTES = 8 << 20,
    READ_STAT_TICKS = 16, /* for the main thread's end, which its own files show, too */
    LINKS_OF_DIRECTORY = 2,
};
/* The number of threads shows a new thread at the next tick, and a sampled thread's own files show
 * its end.  Listings are for the rest, and take a microsecond a thread: a tick of 10,000. */
enum {
    LIST_EVERY_MS = 100,
    LIST_EVERY_MS_MAX = 1000,
    LIST_KNOWN_MS_MAX = 10000, /* where all are known */
    LISTING_SHARE = 4,         /* of the time at most one part in so many, */
    LISTING_SHARE_ELSE = 16,   /* and where nothing tells of a change */
};

static int open_task_dir(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : descriptor_keep(fd, DESCRIPTOR_PROCESS);
}

int process_open(struct process **ret, pid_t pid, uint32_t number, struct mem *live)
{
    struct process *p = xcalloc(1, sizeof *p);
    p->pid = pid;
    p->number = number;
    p->live = live;
    p->stat_fd = descriptor_keep(proc_task_open(pid, pid, "stat"), DESCRIPTOR_PROCESS);
    p->mem_fd = -1;
    stack_maps_open(&p->stack_maps);
    p->task_dir_fd = open_task_dir(pid);
    int r = p->stat_fd < 0 ? p->stat_fd : p->task_dir_fd;
    if (r < 0) {
        (void)process_free(p, NULL);
        return r;
    }
    dormant_open(&p->dormant, pid);
    (void)process_poll(p, false);
    *ret = p;
    return 0;
}

/* ---- does it run the same program? ---- */

/* The open file is the address space as it was then: nothing can be read from it when execve or the
 * process's end has replaced it.  A read costs a third of one of stat (fs/proc/base.c: mem_rw). */
enum space { SPACE_SAME, SPACE_GONE, SPACE_UNKNOWN };

static enum space check_space(const struct process *p)
{
    char byte;
    if (p->mem_fd < 0 || !p->mem_fd_valid)
        return SPACE_UNKNOWN;
    switch (pread(p->mem_fd, &byte, 1, (off_t)p->stack_start)) {
    case 0:
        return SPACE_GONE;
    case 1:
        return SPACE_SAME;
    default:
        return SPACE_UNKNOWN;
    }
}

/* Opens the present address space.  It is valid from the next poll on, if that finds no execve. */
static void keep_mem_fd(struct process *p, bool execed)
{
    if (execed && p->mem_fd >= 0) {
        close(p->mem_fd);
        p->mem_fd = -1;
    }
    p->mem_fd_valid = p->mem_fd >= 0;
    if (p->mem_fd < 0 && p->stack_start)
        p->mem_fd = descriptor_keep(proc_task_open(p->pid, p->pid, "mem"), DESCRIPTOR_SPARE);
}

/* Serves where the memory cannot be opened, or lives on in a vforked child.  In the middle of an
 * execve the stack's start is above its arguments, later below. */
static bool is_new_stack(struct process *p, uint64_t start)
{
    bool settles = p->stack_start - start <= MAX_ARGUMENT_BYTES;
    bool changed = start && p->stack_start && start != p->stack_start;
    bool execed = changed && !(p->exec_settling && settles);
    p->exec_settling = execed || (p->exec_settling && !changed);
    return execed;
}

/* The task directory has one link for each thread, and two (fs/proc/base.c: proc_task_getattr). */
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

/* The main thread is read before and after: while it is a zombie another thread may take its place
 * by execve. */
bool process_is_zombie(struct process *p)
{
    struct task_stat stat;
    return task_stat_read(p->stat_fd, &stat) == 0 && is_over(&stat) &&
           count_links(p) <= LINKS_OF_DIRECTORY + 1 && task_stat_read(p->stat_fd, &stat) == 0 &&
           is_over(&stat);
}

bool process_has_ended(struct process *p)
{
    struct task_stat stat;
    /* A child of wallspy's own that it was told the end of is over, whatever /proc says. */
    return atomic_load_explicit(&p->reaped, memory_order_relaxed) ||
           task_stat_read(p->stat_fd, &stat) == -ESRCH || process_is_zombie(p);
}

struct process_changes process_poll(struct process *p, bool locked)
{
    struct process_changes changes = {0};
    struct task_stat stat;
    enum space space = locked ? SPACE_UNKNOWN : check_space(p);
    bool others_left = count_links(p) != p->links || p->lost_thread;
    if (space == SPACE_SAME && !others_left && ++p->stat_age_ticks < READ_STAT_TICKS)
        return changes;
    p->stat_age_ticks = 0;
    int r = task_stat_read(p->stat_fd, &stat);
    if (r < 0) {
        changes.gone = r == -ESRCH;
        return changes;
    }
    changes.main_ended = is_over(&stat);
    changes.execed = is_new_stack(p, stat.stack_start);
    if (space == SPACE_GONE) /* without a stack P is ending, or in the middle of an execve */
        changes.execed = stat.stack_start != 0;
    p->exec_settling |= changes.execed;
    if (stat.stack_start)
        p->stack_start = stat.stack_start;
    if (space != SPACE_GONE || changes.execed)
        keep_mem_fd(p, changes.execed);
    return changes;
}

/* As many threads as the kernel counts. */
static bool knows_all(const struct process *p)
{
    return p->links_now == LINKS_OF_DIRECTORY + p->n_threads;
}

static int64_t listing_interval_ns(const struct process *p)
{
    uint64_t most_ms = knows_all(p) ? LIST_KNOWN_MS_MAX : LIST_EVERY_MS_MAX;
    uint64_t ms = p->any_unwatched ? LIST_EVERY_MS : max_u64(p->n_threads, LIST_EVERY_MS);
    return max_i64((int64_t)min_u64(ms, most_ms) * NS_PER_MS, LISTING_SHARE_ELSE * p->listing_ns);
}

static bool has_changed(const struct process *p)
{
    return p->list_again || p->n_threads == 0 || p->links_now == UINT64_MAX ||
           p->links_now != p->links;
}

bool process_may_list(const struct process *p, int64_t now_ns)
{
    return p->n_threads == 0 || now_ns - p->listed_ns >= LISTING_SHARE * p->listing_ns;
}

bool process_wants_listing(const struct process *p, int64_t now_ns)
{
    return process_may_list(p, now_ns) &&
           (has_changed(p) || now_ns - p->listed_ns >= listing_interval_ns(p));
}

bool process_is_known(const struct process *p, int64_t now_ns)
{
    return p->mem_fd_valid && !has_changed(p) &&
           (knows_all(p) || now_ns - p->listed_ns < listing_interval_ns(p));
}

void process_begin_listing(struct process *p, int64_t now_ns)
{
    p->links = count_links(p);
    p->listed_ns = now_ns;
    p->list_again = false;
}

void process_end_listing(struct process *p, uint64_t n_listed)
{
    p->list_again |= p->links != UINT64_MAX && n_listed + LINKS_OF_DIRECTORY < p->links;
}

struct thread *process_thread(const struct process *p, pid_t tid)
{
    uint64_t i;
    return map_get(&p->by_tid, (uint64_t)tid, &i) ? p->threads[i] : NULL;
}

void process_add(struct process *p, struct thread *t)
{
    p->threads = array_reserve(p->threads, &p->capacity, p->n_threads + 1, sizeof *p->threads);
    map_put(&p->by_tid, (uint64_t)t->tid, p->n_threads);
    p->threads[p->n_threads++] = t;
    dormant_add(t);
}

void process_remove(struct process *p, struct thread *t)
{
    uint64_t i;
    if (!map_get(&p->by_tid, (uint64_t)t->tid, &i) || p->threads[i] != t)
        return;
    map_remove(&p->by_tid, (uint64_t)t->tid);
    dormant_remove(t);
    p->threads[i] = p->threads[--p->n_threads];
    if (i < p->n_threads)
        map_put(&p->by_tid, (uint64_t)p->threads[i]->tid, i);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void process_close(struct process *p, struct thread_files *files)
{
    for (size_t i = 0; i < p->n_threads; i++)
        thread_free(p->threads[i], files);
    p->n_threads = p->capacity = 0;
    free(p->threads);
    p->threads = NULL;
    close_fd(&p->stat_fd);
    close_fd(&p->task_dir_fd);
    close_fd(&p->mem_fd);
    dormant_close(&p->dormant);
    stack_maps_close(&p->stack_maps);
    free(p->lock_watch);
    p->lock_watch = NULL;
    map_release(&p->by_tid);
}

struct process *process_free(struct process *p, struct thread_files *files)
{
    if (!p)
        return NULL;
    process_close(p, files);
    free(p);
    return NULL;
}
