/* A thread that computes and sleeps in turns, on a stack directly below memory whose reading has
 * a price.
 *   above userfaultfd  its page faults are served by the thread itself
 *   above slow         a file whose pages take 300 ms (slow_file.h)
 *   above memfd        a sparse file in memory: what is read is allocated
 *   above hole         a hole in the stack itself, whose faults nobody serves; the thread never
 *                         looks there
 *   above asleep       the same, and the thread sleeps
 *                      (a number behind it: its exit status)
 * With "signal" behind it the thread does so in a handler on an alternate stack.
 * Skips where that is not available. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"
#include "slow_file.h"

enum { STACK_BYTES = 256 * 1024, ABOVE_BYTES = 1 << 20, SLOW_MS = 300, WORK_NS = 2000000 };
enum { PAGE_BYTES = 4096, HOLE_BYTES = 8 * PAGE_BYTES };

static struct count counts[] = {
    {.name = "done"}, {.name = "faults"}, {.name = "blocks"}, {.name = "still_ms"}, {0}};
enum { DONE, FAULTS, BLOCKS, STILL_MS };

static int faults_fd = -1;
static int file_fd = -1;
static char *above;
static size_t above_bytes = ABOVE_BYTES;
static bool is_slow, is_asleep;

/* A page that somebody reads for the first time. */
static void serve_faults(void)
{
    struct uffd_msg message;
    while (faults_fd >= 0 && read(faults_fd, &message, sizeof message) == sizeof message) {
        const uint64_t page = 4096;
        struct uffdio_zeropage zero = {
            .range = {message.arg.pagefault.address & ~(page - 1), page}};
        (void)ioctl(faults_fd, UFFDIO_ZEROPAGE, &zero);
        counts[FAULTS].n++;
    }
}

static void note_blocks(void)
{
    struct stat st;
    if (file_fd >= 0 && !is_slow && fstat(file_fd, &st) == 0)
        counts[BLOCKS].n = st.st_blocks;
}

/* So that each reading of the file is a slow one. */
static void forget_pages(void)
{
    if (is_slow && (madvise(above, above_bytes, MADV_DONTNEED) ||
                    posix_fadvise(file_fd, 0, 0, POSIX_FADV_DONTNEED)))
        fail("madvise");
}

static __attribute__((noinline)) void compute_and_sleep(void)
{
    for (int64_t end = now_ns() + WORK_NS; now_ns() < end;)
        serve_faults();
    (void)nanosleep(&(struct timespec){.tv_nsec = WORK_NS}, NULL);
    serve_faults();
    forget_pages();
    note_blocks();
    counts[DONE].n++;
}

/* STILL_MS: for how long it did not run, at most. */
static __attribute__((noinline)) void spin(void)
{
    for (int64_t before = now_ns(), now; true; before = now) {
        now = now_ns();
        long ms = (long)((now - before) / 1000000);
        if (ms > counts[STILL_MS].n)
            counts[STILL_MS].n = ms;
        counts[DONE].n++;
    }
}

static void *hole_main(void *stack)
{
    char room[HOLE_BYTES + 2 * PAGE_BYTES];
    char *hole = room + PAGE_BYTES - (uintptr_t)room % PAGE_BYTES;
    room[sizeof room - 1] = stack != NULL; /* and above the hole goes on what is needed */
    if (madvise(hole, HOLE_BYTES, MADV_DONTNEED))
        fail("madvise");
    if (is_asleep)
        (void)pause();
    spin();
    return room[sizeof room - 1] ? stack : NULL;
}

static void *work_main(void *unused)
{
    (void)unused;
    for (;;)
        compute_and_sleep();
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    for (;;)
        compute_and_sleep();
}

static void *signal_main(void *stack)
{
    stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL))
        fail("sigaltstack");
    (void)raise(SIGUSR1);
    return NULL;
}

static bool map_userfaultfd(void *from, size_t bytes)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)from, bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    faults_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    return faults_fd >= 0 && ioctl(faults_fd, UFFDIO_API, &api) == 0 &&
           ioctl(faults_fd, UFFDIO_REGISTER, &range) == 0;
}

static bool map_file(int fd, int flags)
{
    file_fd = fd;
    return fd >= 0 && mmap(above, above_bytes, PROT_READ, MAP_FIXED | flags, fd, 0) != MAP_FAILED;
}

static bool map_above(const char *kind)
{
    if (strcmp(kind, "userfaultfd") == 0)
        return map_userfaultfd(above, ABOVE_BYTES);
    is_slow = strcmp(kind, "slow") == 0;
    if (is_slow) {
        above_bytes = 4096;
        return map_file(slow_file_open(SLOW_MS), MAP_PRIVATE);
    }
    int fd = memfd_create("above", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, ABOVE_BYTES))
        fail("memfd_create");
    return map_file(fd, MAP_SHARED);
}

static void start_on(void *stack, bool in_handler, bool has_hole)
{
    pthread_t thread;
    pthread_attr_t attributes;
    (void)pthread_attr_init(&attributes);
    if (!in_handler && pthread_attr_setstack(&attributes, stack, STACK_BYTES))
        fail("pthread_attr_setstack");
    errno = pthread_create(&thread, &attributes,
                           in_handler ? signal_main
                           : has_hole ? hole_main
                                      : work_main,
                           stack);
    if (errno)
        fail("pthread_create");
    (void)pthread_setname_np(thread, "worker");
}

int main(int argc, char **argv)
{
    char *stack = mmap(NULL, STACK_BYTES + ABOVE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || argc < 2)
        fail("mmap");
    above = stack + STACK_BYTES;
    is_asleep = strcmp(argv[1], "asleep") == 0;
    bool has_hole = is_asleep || strcmp(argv[1], "hole") == 0;
    if (has_hole)
        memset(stack, 1, STACK_BYTES);
    if (has_hole ? !map_userfaultfd(stack, STACK_BYTES) : !map_above(argv[1]))
        return skip(has_hole ? "userfaultfd" : argv[1]);
    start_on(stack, argc > 2 && !has_hole, has_hole);
    answer(counts);
    _exit(has_hole && argc > 2 ? atoi(argv[2]) : 0);
}
