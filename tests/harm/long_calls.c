/* Calls that need 50 ms without an interruption.
 *   long_calls blocked   an ioctl that is answered after 50 ms (demo/cudart.c)
 *   long_calls running   one that runs in the kernel for some 60 ms and starts from the beginning
 *                        when interrupted: BPF_PROG_TEST_RUN, which needs root
 * Prints "skip" if that is not to be had. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counts.h"
#include "demo/cudart.h"

enum { RUN_MS = 60, TRIAL_REPEATS = 20000 };

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

int main(int argc, char **argv)
{
    int running = argc > 1 && strcmp(argv[1], "running") == 0;
    if (running && make_program() < 0) {
        (void)printf("skip\n");
        return 0;
    }
    start_thread(running ? running_main : blocked_main, NULL, "caller");
    answer(counts);
    _exit(0);
}
