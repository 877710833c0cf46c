#include "dump/proc_only.h"

#include <string.h>

#include "dump/thread.h"
#include "target/proc.h"

struct filled {
    struct dump *dump;
    process_id process;
    pid_t pid;
};

/* The system call that it is in may not be readable. */
bool dump_proc_read(struct dump_thread *t, struct task_stat *ret)
{
    struct syscall_state call;
    t->syscall = -2;
    t->state = THREAD_RUNNING_OR_RUNNABLE;
    if (proc_stat(t->pid, t->tid, ret) < 0 || ret->state == 'Z')
        return false;
    if (ret->state == 'T' || ret->state == 't')
        t->state = THREAD_STOPPED;
    else if (ret->state != 'R')
        t->state = THREAD_BLOCKED;
    if (t->state != THREAD_BLOCKED)
        return true;
    bool readable = proc_syscall(t->pid, t->tid, &call) == 0 && call.view == SYSCALL_BLOCKED;
    t->syscall = readable ? call.number : -1;
    if (readable)
        memcpy(t->args, call.args, sizeof t->args);
    return true;
}

static void add_thread(void *ctx, pid_t tid)
{
    struct filled *f = ctx;
    struct profile *p = f->dump->profile;
    struct task_stat stat;
    struct dump_thread t = {
        .pid = f->pid, .tid = tid, .sampled = true, .shot = true, .gil = {.gil = PY_GIL_ABSENT}};
    if (!dump_proc_read(&t, &stat))
        return;
    t.thread = profile_thread(p, f->process, tid, profile_string(p, stat.comm), 0);
    profile_get_thread(p, t.thread)->main = tid == f->pid;
    dump_thread_read_wchan(&t);
    *dump_thread_add(f->dump, t.thread) = t;
}

/* Not by its command line: that is in its memory. */
static void add_process(struct dump *d, pid_t pid)
{
    char comm[TASK_COMM_BYTES];
    if (proc_read_comm(pid, 0, comm) < 0)
        return;
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
}
