#include "tests/support/own_mem.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

/* By the kernel: where memcheck runs a test, its own modules are among ours. */
static int own_read(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct own_mem *own = (struct own_mem *)m;
    uintptr_t hole = (uintptr_t)own->hole;
    struct iovec local = {buf, len};
    struct iovec remote = {(void *)(uintptr_t)addr, len};
    own->reads++;
    if (addr <= hole && hole < addr + len)
        return -EFAULT;
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

struct own_mem own_mem(void)
{
    static const struct mem_ops ops = {.read = own_read};
    return (struct own_mem){.mem = {&ops}};
}
