#include "sampler/wait_object.h"

#include <stdio.h>
#include <unistd.h>

#include "target/syscalls.h"

void wait_object_look_up(struct wait_object *ret, pid_t pid, int64_t number, uint64_t fd)
{
    char path[48];
    ssize_t n = 0;
    if (syscall_takes_fd(number) && fd <= INT32_MAX) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", pid, (unsigned)fd);
        n = readlink(path, ret->link, sizeof ret->link);
    }
    ret->fd = fd;
    ret->len = n > 0 ? (uint32_t)n : 0;
}

void wait_object_add(const struct wait_object *o, struct recorder *r, struct sample_message *m)
{
    const struct snapshot *s = &m->snapshot;
    bool waits =
        (s->state == THREAD_BLOCKED || s->state == THREAD_STOPPED) && syscall_takes_fd(s->syscall);
    if (waits && o->len && o->fd == s->syscall_args[0] &&
        recorder_append(r, o->link, o->len, &m->wait_object_offset))
        m->wait_object_bytes = o->len;
}

void wait_object_read(struct recorder *r, pid_t pid, struct sample_message *m)
{
    struct wait_object o;
    wait_object_look_up(&o, pid, m->snapshot.syscall, m->snapshot.syscall_args[0]);
    wait_object_add(&o, r, m);
}
