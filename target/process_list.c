#include "target/process_list.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/search.h"
#include "base/text.h"
#include "target/cursor.h"

enum { MAX_THREADS = 256, MAX_CHILDREN = 256 }; /* looked at for a process's children */

static int64_t ns_of_ticks(uint64_t ticks, int64_t tick_ns)
{
    return ticks < (uint64_t)(INT64_MAX / tick_ns) ? (int64_t)ticks * tick_ns : INT64_MAX;
}

static bool read_process(pid_t pid, int64_t tick_ns, struct listed_process *ret)
{
    struct task_stat stat;
    if (proc_stat(pid, 0, &stat) < 0)
        return false;
    *ret = (struct listed_process){
        .pid = (uint64_t)pid, .ppid = (uint64_t)stat.ppid, .start_ticks = stat.start_ticks};
    ret->cpu_ns = ns_of_ticks(stat.user_ticks + stat.system_ticks, tick_ns);
    ret->children_ns = ns_of_ticks(stat.children_ticks, tick_ns);
    memcpy(ret->comm, stat.comm, sizeof ret->comm);
    return true;
}

static int64_t tick_ns(void)
{
    return NS_PER_S / max_i64(sysconf(_SC_CLK_TCK), 1);
}

static int by_pid(const void *a, const void *b)
{
    const struct listed_process *x = a;
    const struct listed_process *y = b;
    return compare_u64(x->pid, y->pid);
}

/* Returns whether none had to be left out. */
static bool read_all(struct process_list *l, DIR *dir, size_t most, int64_t end_cpu_ns)
{
    int64_t tick = tick_ns();
    const struct dirent *entry;
    int64_t pid;
    while ((entry = readdir(dir))) {
        if (parse_whole_i64(entry->d_name, 1, INT_MAX, &pid) < 0)
            continue;
        if (l->n == most || clock_cpu_ns() > end_cpu_ns)
            return false;
        l->items = array_reserve(l->items, &l->capacity, l->n + 1, sizeof *l->items);
        l->n += read_process((pid_t)pid, tick, &l->items[l->n]); /* else it has just ended */
    }
    return true;
}

void process_list_read(struct process_list *ret, size_t most, int64_t longest_cpu_ns)
{
    ret->n = 0;
    ret->whole = false;
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    ret->whole = read_all(ret, dir, most, clock_cpu_ns() + longest_cpu_ns);
    closedir(dir);
    if (ret->n)
        qsort(ret->items, ret->n, sizeof *ret->items, by_pid);
}

void process_list_copy(struct process_list *to, const struct process_list *from)
{
    to->items = array_reserve(to->items, &to->capacity, from->n, sizeof *to->items);
    if (from->n)
        memcpy(to->items, from->items, from->n * sizeof *to->items);
    to->n = from->n;
    to->whole = from->whole;
}

size_t process_list_parse_children(const char *text, size_t len, pid_t *ret, size_t most)
{
    struct cursor c = {text, text + len};
    uint64_t pid;
    size_t n = 0;
    while (n < most && cursor_u64(&c, 10, &pid) && cursor_take(&c, " ") && pid && pid <= INT_MAX)
        ret[n++] = (pid_t)pid;
    return n;
}

struct children_look {
    struct process_list *list;
    size_t listed; /* before, by pid */
    pid_t pid;
    size_t threads;
    bool readable;
};

static void add_children_of_thread(void *ctx, pid_t tid)
{
    struct children_look *look = ctx;
    struct process_list *l = look->list;
    struct process_list known = {.items = l->items, .n = look->listed};
    char text[PROC_TEXT_BYTES];
    pid_t pids[MAX_CHILDREN];
    ssize_t len = look->threads++ < MAX_THREADS
                      ? proc_read_text(look->pid, tid, "children", text, sizeof text)
                      : -1;
    look->readable |= len >= 0;
    size_t n = process_list_parse_children(text, len > 0 ? (size_t)len : 0, pids, MAX_CHILDREN);
    for (size_t i = 0; i < n && l->n < look->listed + MAX_CHILDREN; i++) {
        l->items = array_reserve(l->items, &l->capacity, l->n + 1, sizeof *l->items);
        known.items = l->items;
        if (!process_list_find(&known, pids[i]))
            l->n += read_process(pids[i], tick_ns(), &l->items[l->n]);
    }
}

bool process_list_add_children(struct process_list *l, pid_t pid)
{
    struct children_look look = {.list = l, .listed = l->n, .pid = pid};
    (void)proc_each_task(pid, add_children_of_thread, &look);
    if (l->n > look.listed)
        qsort(l->items, l->n, sizeof *l->items, by_pid);
    return look.readable;
}

const struct listed_process *process_list_find(const struct process_list *l, pid_t pid)
{
    size_t n = COUNT_UP_TO(l->items, l->n, pid, (uint64_t)pid);
    return n && l->items[n - 1].pid == (uint64_t)pid ? &l->items[n - 1] : NULL;
}

int64_t process_list_used_ns(const struct process_list *before, const struct process_list *now,
                             size_t ix, uint64_t began_ticks)
{
    const struct listed_process *p = &now->items[ix];
    const struct listed_process *then = process_list_find(before, (pid_t)p->pid);
    if (then && then->start_ticks == p->start_ticks)
        return max_i64(p->cpu_ns - then->cpu_ns, 0);
    return before->whole || p->start_ticks > began_ticks ? p->cpu_ns : -1;
}

uint64_t process_list_ticks(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_BOOTTIME, &t) != 0)
        return UINT64_MAX;
    return (uint64_t)(((int64_t)t.tv_sec * NS_PER_S + t.tv_nsec) / tick_ns());
}

void process_list_release(struct process_list *l)
{
    free(l->items);
    *l = (struct process_list){0};
}
