#include "waits/blocked_call.h"

#include <string.h>

#include "arch/syscalls.h"
#include "base/text.h"
#include "waits/fd_scan.h"
#include "waits/peer_find.h"

/* The file of M's descriptor when its stack was read. */
static void read_link(const struct sample_message *m, struct blocked_call *ret)
{
    struct text link = {0};
    uint64_t inode;
    if (!m->wait_object_bytes)
        return;
    text_add_bytes(&link, (const char *)m + m->wait_object_offset, m->wait_object_bytes);
    ret->link = fd_scan_key(link.s);
    ret->fd = m->wait_fd;
    ret->flow = m->wait_flow;
    if (descriptor_parse_link(link.s, &inode) == DESCRIPTOR_SOCKET)
        ret->socket = inode;
    text_release(&link);
}

bool blocked_call_of(const struct sample_message *m, struct blocked_call *ret)
{
    const struct snapshot *s = &m->snapshot;
    if (m->head.flags & (SAMPLE_NO_STACK | SAMPLE_APPROXIMATE) || s->state != THREAD_BLOCKED ||
        !m->head.sched.runs || !peer_may_be_found(s->syscall))
        return false;
    *ret = (struct blocked_call){.process = m->head.process,
                                 .thread_no = m->head.thread,
                                 .tid = m->head.tid,
                                 .ns_tid = m->head.ns_tid,
                                 .runs = m->head.sched.runs,
                                 .since_ns = m->head.time_ns,
                                 .due_ns = m->head.time_ns + m->head.interval_ns * 3 / 2,
                                 .number = s->syscall};
    memcpy(ret->args, s->syscall_args, sizeof ret->args);
    read_link(m, ret);
    return !syscall_takes_fd(s->syscall) || ret->link;
}

bool blocked_call_lasts(pid_t pid, const struct blocked_call *call)
{
    struct schedstat sched;
    struct syscall_state now;
    if (proc_schedstat(pid, call->tid, &sched) < 0 || sched.runs != call->runs)
        return false;
    return proc_syscall(pid, call->tid, &now) == 0 && now.view == SYSCALL_BLOCKED &&
           now.number == call->number && memcmp(now.args, call->args, sizeof now.args) == 0;
}

bool blocked_call_has_link(pid_t pid, const struct blocked_call *call,
                           char ret[DESCRIPTOR_LINK_BYTES])
{
    *ret = '\0';
    if (!call->link || syscall_path_argument(call->number) >= 0)
        return true;
    descriptor_read_link(pid, call->fd, ret);
    return fd_scan_key(ret) == call->link;
}
