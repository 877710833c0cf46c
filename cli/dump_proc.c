#include "cli/dump_proc.h"

#include <string.h>

#include "base/alloc.h"
#include "target/proc.h"

struct filled {
    struct dump *dump;
    process_id process;
    pid_t pid;
};

static enum thread_state state_of(char letter)
{
    switch (letter) {
    case 'R':
        return THREAD_RUNNING_OR_RUNNABLE;
    case 'T':
    case 't':
        return THREAD_STOPPED;
    default:
        return THREAD_BLOCKED;
    }
}

/* The system call that T is in; that may not be readable. */
static void read_call(struct dump_thread *t)
{
    struct syscall_state call;
    t->syscall = -1;
    if (proc_syscall(t->pid, t->tid, &call) < 0 || call.view != SYSCALL_BLOCKED)
        return;
    t->syscall = call.number;
    memcpy(t->args, call.args, sizeof t->args);
}

static bool read_stat(const struct dump_thread *t, struct task_stat *ret)
{
    char text[PROC_TEXT_BYTES];
    ssize_t len = proc_read_text(t->pid, t->tid, "stat", text, sizeof text);
    return len > 0 && task_stat_parse(text, (size_t)len, ret) == 0 && ret->state != 'Z';
}

bool dump_proc_read(struct dump_thread *t)
{
    struct task_stat stat;
    t->syscall = -2;
    t->state = THREAD_RUNNING_OR_RUNNABLE;
    if (!read_stat(t, &stat))
        return false;
    t->state = state_of(stat.state);
    if (t->state == THREAD_BLOCKED)
        read_call(t);
    return true;
}

static void add_thread(void *ctx, pid_t tid)
{
    struct filled *f = ctx;
    struct profile *p = f->dump->profile;
    struct task_stat stat;
    struct dump_thread t = {
        .pid = f->pid, .tid = tid, .sampled = true, .shot = true, .gil = {.gil = PY_GIL_ABSENT}};
    if (!read_stat(&t, &stat) || !dump_proc_read(&t))
        return;
    t.thread = profile_thread(p, f->process, tid, profile_string(p, stat.comm), 0);
    profile_get_thread(p, t.thread)->main = tid == f->pid;
    dump_thread_read_wchan(&t);
    f->dump->threads = array_reserve(f->dump->threads, &f->dump->capacity, f->dump->n + 1,
                                     sizeof *f->dump->threads);
    f->dump->threads[f->dump->n++] = t;
}

/* Not by its command line: that is in its memory. */
static void add_process(struct dump *d, pid_t pid)
{
    char comm[TASK_COMM_BYTES] = "";
    ssize_t len = proc_read_text(pid, 0, "comm", comm, sizeof comm);
    if (len <= 0)
        return;
    comm[strcspn(comm, "\n")] = '\0';
    struct profile_process process = {.pid = pid};
    process.comm = process.command = profile_string(d->profile, comm);
    struct filled f = {d, profile_process(d->profile, &process), pid};
    (void)proc_each_task(pid, add_thread, &f);
}

void dump_proc_fill(struct dump *d, const pid_t *pids, size_t n)
{
    d->from_proc = true;
    d->profile = profile_new(0);
    for (size_t i = 0; i < n; i++)
        add_process(d, pids[i]);
    struct view_options options = {.whole = true};
    d->view = view_new(d->profile, &options);
    dump_thread_call(d);
}
