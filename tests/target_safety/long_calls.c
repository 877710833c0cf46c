/* Calls that need 50 ms without an interruption.
 *   long_calls blocked   an ioctl that is answered after 50 ms (demo/cudart.c)
 *   long_calls running   one that runs in the kernel for some 60 ms and starts from the beginning
 *                        when interrupted: BPF_PROG_TEST_RUN, which needs root
 *   long_calls fuse      a read of a file of FUSE, which gives up when interrupted (slow_file.h)
 *   long_calls fallocate on tmpfs, which takes all back and starts anew when interrupted; some 60
 *   ms
 * Skips if that is not available. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counts.h"
#include "demo/cudart.h"
#include "slow_file.h"

enum { RUN_MS = 60, READ_MS = 50, TRIAL_REPEATS = 20000, TRIAL_BYTES = 8 << 20, MOST_TIMES = 64 };

static struct count counts[] = {{.name = "done"}, {.name = "eintr"}, {.name = "wrong"}, {0}};
enum { DONE, EINTRS, WRONG };

static int program_fd;
static unsigned repeats;

static void *blocked_main(void *unused)
{
    (void)unused;
    for (;;) {
        struct cudaDeviceProp prop = {0};
        int r = cudaGetDeviceProperties(&prop, 0);
        if (r != 0)
            fail("cudaGetDeviceProperties");
        counts[EINTRS].n = cudart_truth().eintr;
        counts[WRONG].n += prop.multiProcessorCount != 1;
        counts[DONE].n++;
    }
    return NULL;
}

static long run_program(unsigned times)
{
    char packet[64] = {0};
    union bpf_attr attr = {.test = {.prog_fd = (unsigned)program_fd,
                                    .data_in = (uintptr_t)packet,
                                    .data_size_in = sizeof packet,
                                    .repeat = times}};
    return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof attr);
}

/* "return 0", as often as takes RUN_MS. */
static int make_program(void)
{
    struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                           .insns = (uintptr_t)code,
                           .insn_cnt = sizeof code / sizeof *code,
                           .license = (uintptr_t) "Apache-2.0"};
    program_fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
    if (program_fd < 0)
        return -errno;
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t start_ns = now_ns();
        if (run_program(TRIAL_REPEATS) < 0)
            return -errno;
        if (now_ns() - start_ns < best_ns)
            best_ns = now_ns() - start_ns;
    }
    repeats = (unsigned)(TRIAL_REPEATS * (RUN_MS * 1000000LL) / best_ns);
    return 0;
}

static void *running_main(void *unused)
{
    (void)unused;
    for (;;) {
        if (run_program(repeats) == 0)
            counts[DONE].n++;
        else if (errno == EINTR)
            counts[EINTRS].n++;
        else
            fail("BPF_PROG_TEST_RUN");
    }
    return NULL;
}

/* ---- fuse ---- */

static int slow_fd, copy_fd;

static int open_slow_file(void)
{
    slow_fd = slow_file_open(READ_MS);
    copy_fd = memfd_create("copy", MFD_CLOEXEC);
    return slow_fd;
}

static ssize_t read_somehow(unsigned i)
{
    char bytes[SLOW_FILE_BYTES];
    off_t start = 0;
    switch (i % 3) {
    case 0:
        return read(slow_fd, bytes, sizeof bytes);
    case 1:
        return pread(slow_fd, bytes, sizeof bytes, 0);
    default:
        return sendfile(copy_fd, slow_fd, &start, sizeof bytes);
    }
}

static void *fuse_main(void *unused)
{
    (void)unused;
    for (unsigned i = 0;; i++) {
        ssize_t r = read_somehow(i);
        counts[EINTRS].n += r < 0 && errno == EINTR;
        counts[WRONG].n += r != SLOW_FILE_BYTES && !(r < 0 && errno == EINTR);
        counts[DONE].n += r == SLOW_FILE_BYTES;
    }
    return NULL;
}

/* ---- fallocate ---- */

static int memory_fd;
static off_t allocated = TRIAL_BYTES;

static int64_t allocate_ns(void)
{
    int64_t start_ns = now_ns();
    if (ftruncate(memory_fd, 0) || fallocate(memory_fd, 0, 0, allocated))
        fail("fallocate");
    return now_ns() - start_ns;
}

/* As many bytes as take RUN_MS, but no more than a small machine has. */
static int make_memory(void)
{
    memory_fd = memfd_create("fallocate", MFD_CLOEXEC);
    if (memory_fd < 0)
        return -errno;
    int64_t times = RUN_MS * 1000000LL / allocate_ns() + 1;
    allocated *= times < MOST_TIMES ? times : MOST_TIMES;
    return 0;
}

static void *fallocate_main(void *unused)
{
    (void)unused;
    for (;;) {
        int r = fallocate(memory_fd, 0, 0, allocated);
        if (r < 0 && errno != EINTR)
            fail("fallocate");
        counts[EINTRS].n += r < 0;
        counts[DONE].n += r == 0;
        if (r == 0 && ftruncate(memory_fd, 0))
            fail("ftruncate");
    }
    return NULL;
}

static int nothing(void)
{
    return 0;
}

static const struct kind {
    const char *name;
    int (*prepare)(void); /* negative: not available here */
    void *(*main)(void *);
} kinds[] = {{"blocked", nothing, blocked_main},
             {"running", make_program, running_main},
             {"fuse", open_slow_file, fuse_main},
             {"fallocate", make_memory, fallocate_main}};

int main(int argc, char **argv)
{
    const struct kind *kind = kinds;
    for (size_t i = 1; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kind = &kinds[i];
    if (kind->prepare() < 0)
        return skip(kind->name);
    start_thread(kind->main, NULL, "caller");
    answer(counts);
    _exit(0);
}
