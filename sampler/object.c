#include "sampler/object.h"

#include <stdio.h>
#include <unistd.h>

#include "target/syscalls.h"

void object_look(struct object *ret, pid_t pid, int64_t number, uint64_t fd)
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

void object_add(const struct object *o, struct recorder *r, struct sample_message *m)
{
    const struct snapshot *s = &m->snapshot;
    bool waits = s->state == THREAD_BLOCKED && syscall_takes_fd(s->syscall);
    if (waits && o->len && o->fd == s->syscall_args[0] &&
        recorder_append(r, o->link, o->len, &m->object_offset))
        m->object_bytes = o->len;
}

void object_read(struct recorder *r, pid_t pid, struct sample_message *m)
{
    struct object o;
    object_look(&o, pid, m->snapshot.syscall, m->snapshot.syscall_args[0]);
    object_add(&o, r, m);
}
