#include "slow_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_NODE = 2, BUFFER_BYTES = FUSE_MIN_READ_BUFFER + 4096 };

/* What was asked for, and the answer. */
struct request {
    struct fuse_in_header head;
    char rest[BUFFER_BYTES];
};

static void answer(int fuse, uint64_t unique, int error, const void *bytes, size_t len)
{
    struct fuse_out_header head = {(uint32_t)(sizeof head + len), error, unique};
    struct iovec spans[2] = {{&head, sizeof head}, {(void *)(uintptr_t)bytes, len}};
    (void)!writev(fuse, spans, len ? 2 : 1);
}

static struct fuse_attr attributes(uint64_t node)
{
    bool is_file = node == FILE_NODE;
    return (struct fuse_attr){
        .ino = node,
        .size = is_file ? SLOW_FILE_BYTES : 0,
        .mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
        .nlink = 1,
    };
}

static volatile sig_atomic_t silent;

static void be_silent(int signal)
{
    (void)signal;
    silent = 1;
}

static void serve_one(int fuse, const struct request *r, int ms);

/* For MS, unless the reader is interrupted meanwhile.  What else is asked meanwhile is answered at
 * once. */
static void answer_read(int fuse, uint64_t unique, int ms)
{
    struct request next;
    static const char bytes[SLOW_FILE_BYTES + 1] = "slow..\xeb\xfe";
    struct pollfd more = {.fd = fuse, .events = POLLIN};
    while (poll(&more, 1, ms) > 0) {
        if (read(fuse, &next, sizeof next) <= 0)
            continue;
        if (next.head.opcode == FUSE_INTERRUPT) {
            answer(fuse, unique, -EINTR, NULL, 0);
            return;
        }
        serve_one(fuse, &next, 0);
    }
    answer(fuse, unique, 0, bytes, SLOW_FILE_BYTES);
}

static void serve_one(int fuse, const struct request *r, int ms)
{
    struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
                                 .minor = 31,
                                 .max_readahead = 4096,
                                 .flags = FUSE_ASYNC_READ,
                                 .max_write = 4096};
    struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
    struct fuse_attr_out attr = {.attr = attributes(r->head.nodeid)};
    struct fuse_open_out opened = {.open_flags = FOPEN_DIRECT_IO};
    uint64_t unique = r->head.unique;
    switch (r->head.opcode) {
    case FUSE_INIT:
        answer(fuse, unique, 0, &init, sizeof init);
        break;
    case FUSE_LOOKUP:
        answer(fuse, unique, 0, &entry, sizeof entry);
        break;
    case FUSE_GETATTR:
        answer(fuse, unique, 0, &attr, sizeof attr);
        break;
    case FUSE_OPEN:
        answer(fuse, unique, 0, &opened, sizeof opened);
        break;
    case FUSE_READ:
        answer_read(fuse, unique, ms);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: /* of what has been answered */
        break;
    default:
        answer(fuse, unique, -ENOSYS, NULL, 0);
    }
}

/* A process of its own, so that the end of the reader ends the file system. */
static void serve(int fuse, int ms, pid_t parent)
{
    static struct request request;
    const struct sigaction to_silence = {.sa_handler = be_silent};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigaction(SIGUSR1, &to_silence, NULL);
    while (getppid() == parent) {
        bool asked = read(fuse, &request, sizeof request) > 0;
        if (!asked && errno == ENODEV)
            break;
        if (asked && !silent)
            serve_one(fuse, &request, ms);
    }
    _exit(0);
}

static int open_mounted(int ms, bool keep, pid_t *ret_server)
{
    char folder[] = "/tmp/wallspy-slow-XXXXXX";
    char options[96];
    char path[64];
    pid_t self = getpid();
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0 || !mkdtemp(folder))
        return -errno;
    (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    int r = -1;
    if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        r = mount("slow", folder, "fuse.slow", MS_NODEV | MS_NOSUID, options);
    int error = errno;
    *ret_server = r == 0 ? fork() : -1;
    if (*ret_server == 0)
        serve(fuse, ms, self);
    (void)close(fuse);
    (void)snprintf(path, sizeof path, "%s/file", folder);
    int fd = r == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -error;
    error = errno;
    if (r == 0 && !keep)
        (void)umount2(folder, MNT_DETACH);
    if (!keep)
        (void)rmdir(folder);
    return fd == -1 ? -error : fd;
}

int slow_file_open(int ms)
{
    pid_t server;
    return open_mounted(ms, false, &server);
}

int slow_file_mount(int ms, int *ret_server)
{
    return open_mounted(ms, true, ret_server);
}
