/* The memory of a live process; see mem.h. */
#include "target/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/proc.h"

struct mem_live {
    struct mem mem;
    pid_t pid;
    int fd; /* /proc/PID/mem; -1 where process_vm_readv serves */
};

static int vm_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    const struct mem_live *live = (const struct mem_live *)m;
    struct iovec local = {buf, len};
    struct iovec remote = {(void *)(uintptr_t)addr, len};
    ssize_t n = process_vm_readv(live->pid, &local, 1, &remote, 1, 0);
    if (n < 0)
        return errno == ESRCH || errno == EPERM ? -errno : -EFAULT;
    return (size_t)n == len ? 0 : -EFAULT;
}

static size_t vm_read_spans(struct mem *m, const struct mem_span *spans, size_t n)
{
    struct iovec local[MEM_MAX_SPANS];
    struct iovec remote[MEM_MAX_SPANS];
    assert(n <= MEM_MAX_SPANS);
    for (size_t i = 0; i < n; i++) {
        local[i] = (struct iovec){spans[i].buf, spans[i].len};
        remote[i] = (struct iovec){(void *)(uintptr_t)spans[i].addr, spans[i].len};
    }
    ssize_t got = process_vm_readv(((struct mem_live *)m)->pid, local, n, remote, n, 0);
    return got < 0 ? 0 : (size_t)got;
}

/* The file stays with the address space it was opened on and reads as empty after an execve. */
static int reopen_proc_mem(const struct mem_live *live)
{
    int fd = proc_open(live->pid, "mem");
    if (fd < 0)
        return fd;
    /* One atomic step, because another thread may be reading. */
    int r = dup3(fd, live->fd, O_CLOEXEC) < 0 ? -errno : 0;
    close(fd);
    return r;
}

/* Returns the bytes read, fewer than LEN up to a hole, or a negative errno. */
static ssize_t read_proc_mem(const struct mem_live *live, uint64_t addr, void *buf, size_t len)
{
    if (addr > INT64_MAX)
        return -EFAULT;
    ssize_t n = pread(live->fd, buf, len, (off_t)addr);
    if (n == 0 && len) {
        int r = reopen_proc_mem(live);
        if (r < 0)
            return r;
        n = pread(live->fd, buf, len, (off_t)addr);
        if (n == 0)
            return -ESRCH;
    }
    return n < 0 ? -EFAULT : n;
}

static int file_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    ssize_t n = read_proc_mem((const struct mem_live *)m, addr, buf, len);
    return n < 0 ? (int)n : (size_t)n == len ? 0 : -EFAULT;
}

static size_t file_read_spans(struct mem *m, const struct mem_span *spans, size_t n)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        ssize_t got =
            read_proc_mem((const struct mem_live *)m, spans[i].addr, spans[i].buf, spans[i].len);
        total += got > 0 ? (size_t)got : 0;
        if (got < 0 || (size_t)got != spans[i].len)
            break;
    }
    return total;
}

static void live_free(struct mem *m)
{
    struct mem_live *live = (struct mem_live *)m;
    if (live->fd >= 0)
        close(live->fd);
    free(live);
}

static const struct mem_ops vm_ops = {
    .read = vm_read, .read_spans = vm_read_spans, .free = live_free};
static const struct mem_ops file_ops = {
    .read = file_read, .read_spans = file_read_spans, .free = live_free};

/* Address 0 is never mapped, so -EFAULT says that all checks passed. */
int mem_probe_vm_readv(pid_t pid)
{
    const char *no = getenv("WALLSPY_NO_VM_READV");
    if (no && str_eq(no, "1"))
        return -ENOSYS;
    char byte;
    struct iovec local = {&byte, 1};
    struct iovec remote = {NULL, 1};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0)
        return 0;
    return errno == EFAULT ? 0 : -errno;
}

int mem_live_open(struct mem **ret, pid_t pid, struct err *err)
{
    struct mem_live *live = xmalloc(sizeof *live);
    *live = (struct mem_live){.mem = {&vm_ops}, .pid = pid, .fd = -1};
    int r = mem_probe_vm_readv(pid);
    if (r < 0 && r != -ESRCH) {
        r = live->fd = proc_open(pid, "mem");
        live->mem.ops = &file_ops;
    }
    if (r < 0) {
        mem_free(&live->mem);
        return r == -ESRCH
                   ? err_set(err, r, "%d: no such process", pid)
                   : err_set(err, -EPERM, "cannot read the memory of %d: %s", pid, strerror(-r));
    }
    *ret = &live->mem;
    return 0;
}

int mem_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    if (!len)
        return 0;
    return addr > UINT64_MAX - len ? -EFAULT : m->ops->read(m, addr, buf, len);
}

size_t mem_read_spans(struct mem *m, const struct mem_span *spans, size_t n)
{
    if (m->ops->read_spans)
        return m->ops->read_spans(m, spans, n);
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (mem_read(m, spans[i].addr, spans[i].buf, spans[i].len) < 0)
            break;
        total += spans[i].len;
    }
    return total;
}

void mem_forget(struct mem *m)
{
    if (m->ops->forget)
        m->ops->forget(m);
}

int mem_read_u64(struct mem *m, uint64_t addr, uint64_t *ret)
{
    uint64_t value;
    int r = mem_read(m, addr, &value, sizeof value);
    if (r == 0)
        *ret = value;
    return r;
}

int mem_read_u32(struct mem *m, uint64_t addr, uint32_t *ret)
{
    uint32_t value;
    int r = mem_read(m, addr, &value, sizeof value);
    if (r == 0)
        *ret = value;
    return r;
}

struct mem *mem_free(struct mem *m)
{
    if (m)
        m->ops->free(m);
    return NULL;
}
