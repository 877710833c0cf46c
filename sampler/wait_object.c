#include "sampler/wait_object.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arch/syscalls.h"
#include "base/minmax.h"
#include "sampler/process.h"
#include "target/mem.h"

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

/* Reads the link /proc/PID/NAME, its first SIZE bytes.  Returns their number; 0: it cannot be
 * read. */
static size_t read_link(const struct process *p, const char *name, char *ret, size_t size)
{
    char path[48];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", p->pid, name);
    ssize_t n = readlink(path, ret, size);
    return n > 0 ? (size_t)n : 0;
}

static size_t read_descriptor(const struct process *p, uint64_t fd, char *ret, size_t size)
{
    char name[16];
    (void)snprintf(name, sizeof name, "fd/%u", (unsigned)fd);
    return read_link(p, name, ret, size);
}

bool wait_object_is_socket(const struct process *p, uint64_t fd)
{
    static const char socket[] = "socket:";
    char link[sizeof socket - 1];
    return fd <= INT32_MAX && read_descriptor(p, fd, link, sizeof link) == sizeof link &&
           memcmp(link, socket, sizeof link) == 0;
}

/* Reads the string at ADDR, page by page.  Returns its length; −1: it cannot be read, or is longer
 * than RET. */
static ssize_t read_string(const struct process *p, uint64_t addr, char *ret, size_t size)
{
    const uint64_t page = 4096;
    for (size_t n = 0; n < size;) {
        size_t part = (size_t)min_u64(page - (addr + n) % page, size - n);
        if (mem_read(p->live, addr + n, ret + n, part) < 0)
            return -1;
        const char *end = memchr(ret + n, '\0', part);
        if (end)
            return end - ret;
        n += part;
    }
    return -1;
}

/* The path of the file that O's call looks up.  The kernel has copied it, but the program has no
 * reason to change it before the call returns. */
static size_t read_path(const struct wait_object *o, const struct process *p, char *ret,
                        size_t size)
{
    char path[sizeof o->link];
    int argument = syscall_path_argument(o->number);
    ssize_t len = argument < 0 ? -1 : read_string(p, o->args[argument], path, sizeof path);
    size_t n = 0;
    if (len < 0)
        return 0;
    if (len == 0 || path[0] != '/') {
        bool here = argument == 0 || (int)o->args[0] == AT_FDCWD;
        n = here ? read_link(p, "cwd", ret, size)
                 : read_descriptor(p, (uint32_t)o->args[0], ret, size);
        if (!n || n + 1 + (size_t)len > size)
            return 0;
        if (len && ret[n - 1] != '/')
            ret[n++] = '/';
    }
    memcpy(ret + n, path, (size_t)len);
    return n + (size_t)len;
}

void wait_object_look_up(struct wait_object *ret, const struct process *p, int64_t number,
                         const uint64_t args[6])
{
    ret->number = number;
    ret->fd = 0;
    ret->flow = FLOW_NONE;
    memcpy(ret->args, args, sizeof ret->args);
    if (find_descriptor(ret, p))
        ret->len = (uint32_t)read_descriptor(p, ret->fd, ret->link, sizeof ret->link);
    else
        ret->len = (uint32_t)read_path(ret, p, ret->link, sizeof ret->link);
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
