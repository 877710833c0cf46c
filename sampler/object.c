#include "sampler/object.h"

#include <string.h>
#include <unistd.h>

#include "target/syscalls.h"

/* printf() may allocate. */
static char *put_number(char *to, uint32_t n)
{
    char digits[10];
    size_t len = 0;
    do
        digits[len++] = (char)('0' + n % 10);
    while (n /= 10);
    while (len)
        *to++ = digits[--len];
    return to;
}

void object_read(struct recorder *r, pid_t pid, struct sample_message *m)
{
    enum { LINK_BYTES = 512 };
    const struct snapshot *s = &m->snapshot;
    uint64_t fd = s->syscall_args[0];
    char path[sizeof "/proc//fd/" + 20];
    char link[LINK_BYTES];
    if (s->state != THREAD_BLOCKED || !syscall_takes_fd(s->syscall) || fd > INT32_MAX)
        return;
    char *end = put_number(stpcpy(path, "/proc/"), (uint32_t)pid);
    *put_number(stpcpy(end, "/fd/"), (uint32_t)fd) = '\0';
    ssize_t n = readlink(path, link, sizeof link);
    if (n > 0 && recorder_append(r, link, (size_t)n, &m->object_offset))
        m->object_bytes = (uint32_t)n;
}
