#include "target/source_line.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "target/proc.h"

struct source_file {
    pid_t pid;
    char *path;
    char *text; /* NULL: it cannot be read */
    uint32_t *starts;
    size_t n_lines, len;
};

/* When PID started, CLOCK_REALTIME; INT64_MAX: unknown. */
static int64_t started_ns(pid_t pid)
{
    struct task_stat stat;
    struct timespec boot, now;
    long hz = sysconf(_SC_CLK_TCK);
    if (hz <= 0 || proc_stat(pid, 0, &stat) < 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0)
        return INT64_MAX;
    int64_t since_boot = boot.tv_sec * NS_PER_S + boot.tv_nsec;
    int64_t age = since_boot - (int64_t)(stat.start_ticks * (uint64_t)(NS_PER_S / hz));
    return now.tv_sec * NS_PER_S + now.tv_nsec - age;
}

static int64_t ns_of(const struct timespec *time)
{
    return time->tv_sec * NS_PER_S + time->tv_nsec;
}

/* rsync(1), tar(1) and package managers give a new file the time at which it was written elsewhere:
 * when it came here is its time of change. */
static bool is_newer(pid_t pid, const struct stat *st)
{
    enum { TICK_NS = 20 * NS_PER_MS }; /* start times have hundredths of a second */
    int64_t started = started_ns(pid);
    int64_t written = max_i64(ns_of(&st->st_mtim), ns_of(&st->st_ctim));
    return started == INT64_MAX || written > started + TICK_NS;
}

/* Opens PATH without a side effect: nothing but a regular file is opened to be read. */
static int open_below_root(pid_t pid, const char *path, struct stat *ret)
{
    char root[64], self[64];
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
    (void)snprintf(root, sizeof root, "/proc/%d/root", pid);
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -1;
    int there = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    (void)close(folder);
    if (there < 0)
        return -1;
    int fd = -1;
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", there);
    if (fstat(there, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_size <= SOURCE_MAX_BYTES)
        fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    (void)close(there);
    return fd;
}

static bool is_near(struct source_lines *s, pid_t pid, const char *path)
{
    if (s->mounts_of != pid)
        mounts_release(&s->mounts);
    s->mounts_of = pid;
    const struct mount *m = mounts_of(&s->mounts, pid, path);
    return m && !mount_is_served(m);
}

static void find_lines(struct source_file *f)
{
    size_t capacity = 0;
    for (size_t at = 0; at < f->len;) {
        f->starts = array_reserve(f->starts, &capacity, f->n_lines + 1, sizeof *f->starts);
        f->starts[f->n_lines++] = (uint32_t)at;
        const char *end = memchr(f->text + at, '\n', f->len - at);
        at = end ? (size_t)(end - f->text) + 1 : f->len;
    }
}

static void load(struct source_lines *s, struct source_file *f)
{
    struct stat st;
    if (f->path[0] != '/' || !is_near(s, f->pid, f->path))
        return;
    int fd = open_below_root(f->pid, f->path, &st);
    if (fd < 0)
        return;
    if (is_newer(f->pid, &st)) {
        s->newer = s->newer ? s->newer : xstrdup(f->path);
        (void)close(fd);
        return;
    }
    s->bytes += (size_t)st.st_size;
    f->text = xmalloc((size_t)st.st_size + 1);
    ssize_t len = pread(fd, f->text, (size_t)st.st_size, 0);
    (void)close(fd);
    f->len = len > 0 ? (size_t)len : 0;
    f->text[f->len] = '\0';
    find_lines(f);
}

static const struct source_file *get(struct source_lines *s, pid_t pid, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->files[i].pid == pid && str_eq(s->files[i].path, path))
            return &s->files[i];
    if (s->n == SOURCE_MAX_FILES || s->bytes > SOURCE_MAX_TOTAL_BYTES)
        return NULL;
    s->files = array_reserve(s->files, &s->capacity, s->n + 1, sizeof *s->files);
    struct source_file *f = &s->files[s->n++];
    *f = (struct source_file){.pid = pid, .path = xstrdup(path)};
    load(s, f);
    return f;
}

void source_line_add(struct source_lines *s, pid_t pid, const char *path, uint32_t line,
                     struct text *out)
{
    static const char space[] = " \t\r\n\f\v";
    enum { MAX_LINE_BYTES = 512 };
    const struct source_file *f = line ? get(s, pid, path) : NULL;
    if (!f || line > f->n_lines)
        return;
    const char *at = f->text + f->starts[line - 1];
    const char *end = f->text + (line < f->n_lines ? f->starts[line] : f->len);
    while (at < end && strchr(space, *at))
        at++;
    while (end > at && strchr(space, end[-1]))
        end--;
    size_t len = (size_t)(end - at);
    char text[MAX_LINE_BYTES];
    len = len < sizeof text ? len : sizeof text;
    memcpy(text, at, len);
    for (char *tab; (tab = memchr(text, '\t', len));)
        *tab = ' '; /* it says nothing within a line */
    text_add_tame(out, text, len);
}

void source_lines_release(struct source_lines *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->files[i].path);
        free(s->files[i].text);
        free(s->files[i].starts);
    }
    free(s->files);
    free(s->newer);
    mounts_release(&s->mounts);
    *s = (struct source_lines){0};
}
