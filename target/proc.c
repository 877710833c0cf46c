/* Parsers and readers of /proc; see proc.h.
 * Source: fs/proc/array.c do_task_stat() and proc_pid_status(), fs/proc/base.c
 * proc_pid_schedstat() and proc_pid_syscall(). */
#include "target/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/cursor.h"

/* Groups may list 65,536 ids. */
enum { MAX_STATUS_BYTES = 1 << 20 };

static bool take_i64(struct cursor *c, int64_t *ret)
{
    bool negative = cursor_take(c, "-");
    uint64_t value;
    if (!cursor_u64(c, 10, &value) || value > INT64_MAX)
        return false;
    *ret = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

/* A pid, uid or the like: 32 bits, unsigned (a uid may be 4294967294). */
static bool take_u32(struct cursor *c, uint32_t *ret)
{
    uint64_t value;
    if (!cursor_u64(c, 10, &value) || value > UINT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool take_pid(struct cursor *c, pid_t *ret)
{
    uint64_t value;
    if (!cursor_u64(c, 10, &value) || value > INT_MAX)
        return false;
    *ret = (pid_t)value;
    return true;
}

static bool take_end(struct cursor *c)
{
    return cursor_take(c, "\n") && c->s == c->end;
}

/* One pread: the kernel makes the text anew for each, and a task that is gone reads as -ESRCH or,
 * for some files, as empty. */
static ssize_t read_once(int fd, char *buf, size_t capacity)
{
    ssize_t n = pread(fd, buf, capacity, 0);
    if (n < 0)
        return errno == EACCES ? -EPERM : -errno;
    return n == 0 ? -ESRCH : n;
}

int schedstat_parse(const char *text, size_t len, struct schedstat *ret)
{
    struct cursor c = {text, text + len};
    struct schedstat s;
    if (!cursor_u64(&c, 10, &s.run_ns) || !cursor_take(&c, " ") ||
        !cursor_u64(&c, 10, &s.wait_ns) || !cursor_take(&c, " ") || !cursor_u64(&c, 10, &s.runs) ||
        !take_end(&c))
        return -EPROTO;
    *ret = s;
    return 0;
}

int schedstat_read(int fd, struct schedstat *ret)
{
    char buf[128];
    ssize_t n = read_once(fd, buf, sizeof buf);
    return n < 0 ? (int)n : schedstat_parse(buf, (size_t)n, ret);
}

static bool take_hex(struct cursor *c, uint64_t *ret)
{
    return cursor_take(c, " 0x") && cursor_u64(c, 16, ret);
}

int syscall_state_parse(const char *text, size_t len, struct syscall_state *ret)
{
    struct cursor c = {text, text + len};
    struct syscall_state s = {.view = SYSCALL_RUNNING};
    if (cursor_take(&c, "running")) {
        if (!take_end(&c))
            return -EPROTO;
        *ret = s;
        return 0;
    }
    s.view = SYSCALL_BLOCKED;
    if (!take_i64(&c, &s.number) || s.number < -1)
        return -EPROTO;
    size_t n_args = s.number == -1 ? 0 : 6;
    for (size_t i = 0; i < n_args; i++)
        if (!take_hex(&c, &s.args[i]))
            return -EPROTO;
    if (!take_hex(&c, &s.sp) || !take_hex(&c, &s.pc) || !take_end(&c))
        return -EPROTO;
    *ret = s;
    return 0;
}

int syscall_state_read(int fd, struct syscall_state *ret)
{
    char buf[256];
    ssize_t n = read_once(fd, buf, sizeof buf);
    return n < 0 ? (int)n : syscall_state_parse(buf, (size_t)n, ret);
}

/* "PID (COMM) ": COMM may hold anything, also ") R 1", so it ends at the last parenthesis. */
static bool take_pid_and_comm(struct cursor *c, char comm[TASK_COMM_BYTES])
{
    pid_t pid;
    if (!take_pid(c, &pid) || !cursor_take(c, " ("))
        return false;
    const char *close = memrchr(c->s, ')', (size_t)(c->end - c->s));
    if (!close)
        return false;
    size_t n = (size_t)(close - c->s);
    n = n < TASK_COMM_BYTES ? n : TASK_COMM_BYTES - 1; /* kernel threads have longer ones */
    memcpy(comm, c->s, n);
    comm[n] = '\0';
    c->s = close + 1;
    return cursor_take(c, " ");
}

static bool take_state(struct cursor *c, char *ret)
{
    if (c->s == c->end || *c->s < 'A' || *c->s > 'z')
        return false;
    *ret = *c->s++;
    return true;
}

int task_stat_parse(const char *text, size_t len, struct task_stat *ret)
{
    /* proc_pid_stat(5)'s field numbers. */
    enum { PPID = 4, FLAGS = 9, MINFLT = 10, MAJFLT = 12, UTIME = 14, STIME = 15, CUTIME = 16 };
    enum { CSTIME = 17, THREADS = 20, STARTTIME = 22, STARTSTACK = 28, N };
    struct cursor c = {text, text + len};
    struct task_stat t = {0};
    if (!take_pid_and_comm(&c, t.comm) || !take_state(&c, &t.state))
        return -EPROTO;
    uint64_t field[N] = {0};
    for (size_t i = PPID; i < N; i++) {
        if (!cursor_take(&c, " "))
            return -EPROTO;
        bool negative = cursor_take(&c, "-"); /* tpgid, nice …: none of ours */
        if (!cursor_u64(&c, 10, &field[i]) || (negative && i == PPID))
            return -EPROTO;
    }
    if (field[PPID] > INT_MAX || field[FLAGS] > UINT32_MAX)
        return -EPROTO;
    t.ppid = (pid_t)field[PPID];
    t.flags = (uint32_t)field[FLAGS];
    t.minor_faults = field[MINFLT];
    t.major_faults = field[MAJFLT];
    t.user_ticks = field[UTIME];
    t.system_ticks = field[STIME];
    t.children_ticks = field[CUTIME] + field[CSTIME];
    t.threads = field[THREADS];
    t.start_ticks = field[STARTTIME];
    t.stack_start = field[STARTSTACK];
    *ret = t;
    return 0;
}

int task_stat_read(int fd, struct task_stat *ret)
{
    char buf[PROC_TEXT_BYTES];
    ssize_t n = read_once(fd, buf, sizeof buf);
    return n < 0 ? (int)n : task_stat_parse(buf, (size_t)n, ret);
}

static bool status_state(struct cursor *c, struct task_status *t)
{
    return take_state(c, &t->state);
}

static bool status_tgid(struct cursor *c, struct task_status *t)
{
    return take_pid(c, &t->tgid);
}

static bool status_tracer(struct cursor *c, struct task_status *t)
{
    return take_pid(c, &t->tracer);
}

static bool status_uids(struct cursor *c, struct task_status *t)
{
    return take_u32(c, &t->uid) && cursor_take(c, "\t") && take_u32(c, &t->euid) &&
           cursor_take(c, "\t") && take_u32(c, &t->suid);
}

static bool status_gids(struct cursor *c, struct task_status *t)
{
    return take_u32(c, &t->gid) && cursor_take(c, "\t") && take_u32(c, &t->egid) &&
           cursor_take(c, "\t") && take_u32(c, &t->sgid);
}

/* One id per nested pid namespace, the innermost last. */
static bool status_ns_tid(struct cursor *c, struct task_status *t)
{
    do {
        if (!take_pid(c, &t->ns_tid))
            return false;
    } while (cursor_take(c, "\t"));
    return true;
}

static bool status_seccomp(struct cursor *c, struct task_status *t)
{
    uint64_t mode;
    if (!cursor_u64(c, 10, &mode))
        return false;
    t->seccomp = mode > 2 ? 2 : (int)mode; /* 3: its filter has killed it (SECCOMP_MODE_DEAD) */
    return true;
}

static bool status_permitted(struct cursor *c, struct task_status *t)
{
    return cursor_u64(c, 16, &t->permitted);
}

static bool status_effective(struct cursor *c, struct task_status *t)
{
    return cursor_u64(c, 16, &t->effective);
}

static bool status_bounding(struct cursor *c, struct task_status *t)
{
    return cursor_u64(c, 16, &t->bounding);
}

static bool status_no_new_privs(struct cursor *c, struct task_status *t)
{
    uint64_t set;
    if (!cursor_u64(c, 10, &set))
        return false;
    t->no_new_privs = set != 0;
    return true;
}

static bool status_voluntary(struct cursor *c, struct task_status *t)
{
    return cursor_u64(c, 10, &t->voluntary);
}

static bool status_involuntary(struct cursor *c, struct task_status *t)
{
    return cursor_u64(c, 10, &t->involuntary);
}

static const struct {
    const char *key;
    bool (*parse)(struct cursor *c, struct task_status *t);
    bool optional;
} status_keys[] = {
    {"State:\t", status_state, false},
    {"Tgid:\t", status_tgid, false},
    {"TracerPid:\t", status_tracer, false},
    {"Uid:\t", status_uids, false},
    {"Gid:\t", status_gids, false},
    {"NSpid:\t", status_ns_tid, true},
    {"CapPrm:\t", status_permitted, true},
    {"CapEff:\t", status_effective, true},
    {"CapBnd:\t", status_bounding, true},
    {"NoNewPrivs:\t", status_no_new_privs, true},
    {"Seccomp:\t", status_seccomp, true},
    {"voluntary_ctxt_switches:\t", status_voluntary, false},
    {"nonvoluntary_ctxt_switches:\t", status_involuntary, false},
};
enum { STATUS_KEYS = sizeof status_keys / sizeof *status_keys };

/* A status file of which a part has been read. */
struct status_parser {
    struct task_status t;
    uint32_t seen; /* keys so far */
};

/* Returns false if the line is malformed. */
static bool parse_status_line(struct status_parser *p, struct cursor line)
{
    for (size_t i = 0; i < STATUS_KEYS; i++) {
        if (!cursor_take(&line, status_keys[i].key))
            continue;
        p->seen |= 1U << i;
        return status_keys[i].parse(&line, &p->t);
    }
    return true;
}

/* The lines that end in TEXT.  Returns where what is left begins; NULL: one is malformed. */
static const char *parse_status_lines(struct status_parser *p, const char *text, const char *end)
{
    /* A newline within a task's name comes escaped, so it cannot pretend to be a line. */
    for (const char *newline; (newline = memchr(text, '\n', (size_t)(end - text)));
         text = newline + 1)
        if (!parse_status_line(p, (struct cursor){text, newline}))
            return NULL;
    return text;
}

static int finish_status(const struct status_parser *p, struct task_status *ret)
{
    for (size_t i = 0; i < STATUS_KEYS; i++)
        if (!(p->seen & 1U << i) && !status_keys[i].optional)
            return -EPROTO;
    *ret = p->t;
    return 0;
}

int task_status_parse(const char *text, size_t len, struct task_status *ret)
{
    struct status_parser p = {.t.seccomp = -1};
    const char *end = text + len;
    return parse_status_lines(&p, text, end) == end ? finish_status(&p, ret) : -EPROTO;
}

int task_status_read(int fd, struct task_status *ret)
{
    struct status_parser p = {.t.seccomp = -1};
    char buf[PROC_TEXT_BYTES];
    size_t kept = 0;
    for (off_t at = 0; at < MAX_STATUS_BYTES;) {
        ssize_t n = pread(fd, buf + kept, sizeof buf - kept, at);
        if (n < 0)
            return errno == EACCES ? -EPERM : -errno;
        if (n == 0 && at == 0)
            return -ESRCH;
        const char *end = buf + kept + n;
        const char *rest = parse_status_lines(&p, buf, end);
        if (!rest)
            return -EPROTO;
        if (end < buf + sizeof buf)
            return rest == end ? finish_status(&p, ret) : -EPROTO;
        kept = (size_t)(end - rest);
        /* Of a line that is longer than all that matter the end alone is kept, for its newline. */
        kept = kept == sizeof buf ? 1 : kept;
        memmove(buf, end - kept, kept);
        at += n;
    }
    return -EPROTO;
}

static int format_path(pid_t pid, pid_t tid, const char *name, char *ret, size_t capacity)
{
    int n = tid ? snprintf(ret, capacity, "/proc/%d/task/%d/%s", pid, tid, name)
                : snprintf(ret, capacity, "/proc/%d/%s", pid, name);
    return n < 0 || (size_t)n >= capacity ? -ENAMETOOLONG : 0;
}

static int open_proc(pid_t pid, pid_t tid, const char *name)
{
    char path[128];
    int r = format_path(pid, tid, name, path, sizeof path);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int proc_task_open(pid_t pid, pid_t tid, const char *name)
{
    return open_proc(pid, tid, name);
}

int proc_open(pid_t pid, const char *name)
{
    int fd = open_proc(pid, 0, name);
    return fd == -ENOENT ? -ESRCH : fd == -EACCES ? -EPERM : fd;
}

int proc_status(pid_t pid, pid_t tid, struct task_status *ret)
{
    int fd = open_proc(pid, tid, "status");
    if (fd < 0)
        return fd;
    int r = task_status_read(fd, ret);
    close(fd);
    return r;
}

int proc_stat(pid_t pid, pid_t tid, struct task_stat *ret)
{
    int fd = open_proc(pid, tid, "stat");
    if (fd < 0)
        return fd;
    int r = task_stat_read(fd, ret);
    close(fd);
    return r;
}

int proc_schedstat(pid_t pid, pid_t tid, struct schedstat *ret)
{
    int fd = open_proc(pid, tid, "schedstat");
    if (fd < 0)
        return fd;
    int r = schedstat_read(fd, ret);
    close(fd);
    return r;
}

int proc_syscall(pid_t pid, pid_t tid, struct syscall_state *ret)
{
    int fd = open_proc(pid, tid, "syscall");
    if (fd < 0)
        return fd;
    int r = syscall_state_read(fd, ret);
    close(fd);
    return r;
}

int proc_each_task(pid_t pid, void (*each)(void *ctx, pid_t tid), void *ctx)
{
    int fd = open_proc(pid, 0, "task");
    if (fd < 0)
        return fd == -ENOENT ? -ESRCH : fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int r = -errno;
        close(fd);
        return r;
    }
    const struct dirent *entry;
    int64_t tid;
    for (errno = 0; (entry = readdir(dir)); errno = 0)
        if (parse_whole_i64(entry->d_name, 1, INT_MAX, &tid) == 0)
            each(ctx, (pid_t)tid);
    int r = -errno;
    closedir(dir);
    return r;
}

ssize_t proc_read_text(pid_t pid, pid_t tid, const char *name, char *buf, size_t capacity)
{
    int fd = open_proc(pid, tid, name);
    if (fd < 0)
        return fd;
    size_t len = 0;
    ssize_t n = 1;
    while (len + 1 < capacity && (n = read(fd, buf + len, capacity - 1 - len)) > 0)
        len += (size_t)n;
    int r = n < 0 ? -errno : 0;
    close(fd);
    if (r < 0)
        return r;
    buf[len] = '\0';
    return (ssize_t)len;
}

void proc_read_wchan(pid_t pid, pid_t tid, char ret[PROC_WCHAN_BYTES])
{
    if (proc_read_text(pid, tid, "wchan", ret, PROC_WCHAN_BYTES) <= 0 || str_eq(ret, "0"))
        ret[0] = '\0';
}

uint64_t proc_thread_count(pid_t pid)
{
    struct task_stat stat;
    return proc_stat(pid, 0, &stat) == 0 ? stat.threads : 0;
}

/* The number behind KEY in TEXT, of LEN bytes. */
static bool parse_count(const char *text, size_t len, const char *key, uint64_t *ret)
{
    const char *line = strstr(text, key);
    struct cursor c = {line ? line + strlen(key) : text + len, text + len};
    return line && cursor_u64(&c, 10, ret);
}

int proc_read_calls(pid_t pid, pid_t tid, struct task_calls *ret)
{
    char text[PROC_TEXT_BYTES];
    ssize_t len = proc_read_text(pid, tid, "io", text, sizeof text);
    if (len < 0)
        return (int)len;
    bool parsed = parse_count(text, (size_t)len, "rchar: ", &ret->read_bytes) &&
                  parse_count(text, (size_t)len, "wchar: ", &ret->written_bytes) &&
                  parse_count(text, (size_t)len, "syscr: ", &ret->reads) &&
                  parse_count(text, (size_t)len, "syscw: ", &ret->writes);
    return parsed ? 0 : -EPROTO;
}

ssize_t proc_read_comm(pid_t pid, pid_t tid, char ret[TASK_COMM_BYTES])
{
    char text[TASK_COMM_BYTES + 1];
    ssize_t len = proc_read_text(pid, tid, "comm", text, sizeof text);
    if (len < 0)
        return len;
    len -= len > 0 && text[len - 1] == '\n';
    len = len < TASK_COMM_BYTES ? len : TASK_COMM_BYTES - 1; /* kernel threads have longer ones */
    memcpy(ret, text, (size_t)len);
    ret[len] = '\0';
    return len;
}

char *proc_read_environment(pid_t pid, size_t *ret_len)
{
    enum { ENVIRONMENT_BYTES = 256 * 1024 };
    char *text = xmalloc(ENVIRONMENT_BYTES);
    ssize_t len = proc_read_text(pid, 0, "environ", text, ENVIRONMENT_BYTES);
    *ret_len = len < 0 ? 0 : (size_t)len;
    if (len >= 0)
        return text;
    free(text);
    return NULL;
}

int proc_read_link(pid_t pid, const char *name, char *ret, size_t capacity)
{
    char path[128];
    int r = format_path(pid, 0, name, path, sizeof path);
    if (r < 0)
        return r;
    ssize_t n = readlink(path, ret, capacity - 1);
    if (n < 0)
        return -errno;
    ret[n] = '\0';
    return 0;
}

bool proc_runs_other(pid_t pid, pid_t other)
{
    char links[2][PROC_TEXT_BYTES];
    return proc_read_link(pid, "exe", links[0], sizeof links[0]) == 0 &&
           proc_read_link(other, "exe", links[1], sizeof links[1]) == 0 &&
           !str_eq(links[0], links[1]);
}

uint64_t proc_net_namespace(pid_t pid)
{
    struct stat st;
    char path[64];
    (void)format_path(pid, 0, "ns/net", path, sizeof path);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}
