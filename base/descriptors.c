#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    KEPT_BACK = 64,        /* for ELF files, the output, looks at other processes */
    KEPT_BACK_SHARE = 4,   /* and no more than one part of so many */
    SPARE_SHARE = 2,       /* of the rest: a thread's files are read more often */
    NEW_PROCESS_SHARE = 8, /* of the rest, for processes that begin within a tick */
    FIRST_FILE_SHARE = 16, /* of the rest: without any file of a thread it has no sample */
    MOST = 1 << 20,        /* sysctl_nr_open of most kernels */
};

static int bounds[DESCRIPTOR_USES] = {INT_MAX, INT_MAX, INT_MAX, INT_MAX};
static int short_from = INT_MAX;

unsigned long descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 256;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

void descriptors_set_limit(unsigned long n)
{
    int limit = n < MOST ? (int)n : MOST;
    int back = limit / KEPT_BACK_SHARE < KEPT_BACK ? limit / KEPT_BACK_SHARE : KEPT_BACK;
    int usable = limit - back;
    bounds[DESCRIPTOR_NOW] = usable;
    bounds[DESCRIPTOR_PROCESS] = usable - usable / FIRST_FILE_SHARE;
    bounds[DESCRIPTOR_THREAD] = bounds[DESCRIPTOR_PROCESS] - usable / NEW_PROCESS_SHARE;
    bounds[DESCRIPTOR_SPARE] = usable / SPARE_SHARE;
    short_from = (bounds[DESCRIPTOR_THREAD] + bounds[DESCRIPTOR_PROCESS]) / 2;
}

int descriptor_keep(int fd, enum descriptor_use use)
{
    if (fd < bounds[use])
        return fd;
    close(fd);
    return -EMFILE;
}

bool descriptors_are_short(int any)
{
    int fd = short_from == INT_MAX ? -1 : fcntl(any, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
    return fd >= short_from;
}
