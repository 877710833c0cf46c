#include "sampler/wait_object.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/process.h"
#include "target/mem.h"
#include "target/syscalls.h"

/* False: it waits for none, or for several. */
static bool find_descriptor(struct wait_object *o, const struct process *p)
{
    struct pollfd one;
    if (syscall_takes_fd(o->number)) {
        o->fd = o->args[0];
        o->flow = syscall_flow(o->number);
        return o->fd <= INT32_MAX;
    }
    if (!syscall_polls(o->number) || o->args[1] != 1 ||
        mem_read(p->live, o->args[0], &one, sizeof one) < 0 || one.fd < 0)
        return false;
    o->fd = (uint64_t)one.fd;
    o->flow = one.events & POLLOUT && !(one.events & POLLIN) ? FLOW_OUT : FLOW_IN;
    return true;
}

void wait_object_look_up(struct wait_object *ret, const struct process *p, int64_t number,
                         const uint64_t args[6])
{
    char path[48];
    ssize_t n = 0;
    ret->number = number;
    memcpy(ret->args, args, sizeof ret->args);
    if (find_descriptor(ret, p)) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", p->pid, (unsigned)ret->fd);
        n = readlink(path, ret->link, sizeof ret->link);
    }
    ret->len = n > 0 ? (uint32_t)n : 0;
}

void wait_object_add(const struct wait_object *o, struct recorder *r, struct sample_message *m)
{
    const struct snapshot *s = &m->snapshot;
    bool waits = (s->state == THREAD_BLOCKED || s->state == THREAD_STOPPED) && o->len &&
                 o->number == s->syscall && memcmp(o->args, s->syscall_args, sizeof o->args) == 0;
    if (!waits || !recorder_append(r, o->link, o->len, &m->wait_object_offset))
        return;
    m->wait_object_bytes = o->len;
    m->wait_fd = (uint32_t)o->fd;
    m->wait_flow = o->flow;
}

void wait_object_read(struct recorder *r, const struct process *p, struct sample_message *m)
{
    struct wait_object o;
    wait_object_look_up(&o, p, m->snapshot.syscall, m->snapshot.syscall_args);
    wait_object_add(&o, r, m);
}
