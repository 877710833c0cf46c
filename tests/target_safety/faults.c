/* Waits below a function whose frame only rbp tells the size of: such stacks cannot be unwound
 * without a stop.
 *   faults ahead MS   for a page of a file that takes MS (slow_file.h), uninterruptibly, as for one
 *                     of a disk
 *   faults random MS  interruptibly: it is not read ahead (MADV_RANDOM), and what is interrupted
 *                     begins anew
 *   faults poll MS    in poll(2), for MS at a time
 *   faults no_cfi MS  the same below code without unwind information
 *   faults socket MS  in read(2) of a socket with a time-out of MS
 *   faults epoll      in epoll_wait(2), which a stop would end with EINTR
 * Skips if that is not available. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "counts.h"
#include "no_cfi.h"
#include "slow_file.h"

static struct count counts[] = {{.name = "done"}, {.name = "wrong"}, {0}};
enum { DONE, WRONG };

static int fd;
static char *page;
static size_t page_bytes;

static __attribute__((noinline)) int wait_for_page(void)
{
    return *(volatile char *)page;
}

static __attribute__((noinline)) int wait_for_event(void)
{
    struct epoll_event event;
    return epoll_wait(fd, &event, 1, -1);
}

static int poll_ms;

static __attribute__((noinline)) int wait_for_time(void)
{
    return poll(NULL, 0, poll_ms);
}

/* 0: its time-out ended it. */
static __attribute__((noinline)) int wait_for_bytes(void)
{
    char byte;
    return read(fd, &byte, 1) != -1 || errno != EAGAIN;
}

static void make_socket(int ms)
{
    int fds[2];
    struct timeval timeout = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ||
        setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout))
        fail("socketpair");
    fd = fds[0];
}

static int wait_below_no_cfi(void)
{
    return wait_without_cfi(poll_ms);
}

static __attribute__((noinline)) int in_odd_frame(size_t n, int (*wait)(void))
{
    volatile int *room = __builtin_alloca(n);
    room[0] = wait();
    return room[0];
}

static void *fault_main(void *unused)
{
    (void)unused;
    for (;;) {
        counts[WRONG].n += in_odd_frame((size_t)(16 + counts[DONE].n % 64), wait_for_page) != 's';
        counts[DONE].n++;
        if (madvise(page, page_bytes, MADV_DONTNEED) ||
            posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
            fail("madvise");
    }
    return NULL;
}

static void *poll_main(void *wait)
{
    for (;;) {
        counts[WRONG].n += in_odd_frame(16, wait) != 0;
        counts[DONE].n++;
    }
    return NULL;
}

static void *epoll_main(void *unused)
{
    (void)unused;
    for (;;)
        counts[WRONG].n += in_odd_frame(16, wait_for_event) != 0;
    return NULL;
}

static bool map_slow_file(int ms, int advice)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    fd = slow_file_open(ms);
    if (fd < 0)
        return false;
    page = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (page == MAP_FAILED || madvise(page, page_bytes, advice))
        fail("mmap");
    return true;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    if (strcmp(kind, "epoll") == 0) {
        fd = epoll_create1(EPOLL_CLOEXEC);
        start_thread(epoll_main, NULL, "waiter");
    } else if (strcmp(kind, "poll") == 0 || strcmp(kind, "no_cfi") == 0) {
        poll_ms = atoi(argv[2]);
        start_thread(poll_main, strcmp(kind, "poll") ? wait_below_no_cfi : wait_for_time, "waiter");
    } else if (strcmp(kind, "socket") == 0) {
        make_socket(atoi(argv[2]));
        start_thread(poll_main, wait_for_bytes, "waiter");
    } else if (map_slow_file(atoi(argv[2]), strcmp(kind, "random") ? MADV_NORMAL : MADV_RANDOM)) {
        start_thread(fault_main, NULL, "waiter");
    } else {
        return skip("FUSE");
    }
    answer(counts);
    _exit(0);
}
