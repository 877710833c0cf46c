/* Programs that do what samplers do not expect, over and over, and check their own results: one
 * kind per run.  They answer as counts.h says.
 *
 * exec         replaces itself by execve, some hundred times a second
 * exec_others  the same by a thread other than the main one, while more compute; waits after each
 *              execve
 * exec_slow    begins an execve of a file that is read for SLOW_MS, while a thread computes
 * names        threads named with control characters, escapes and bytes that are no UTF-8
 * dlopen FILE  loads FILE, runs it, unloads it
 * swap FILES   loads two files, their names with a ':' between, in turns of 20 ms, to the same
 *              address
 * setuid       computes; becomes nobody after 0.5 s
 * stops        is stopped and continued by a child every few milliseconds
 * overflow     runs its stack over, catches that on an alternate stack, and goes back
 * alarms       a signal every 0.1 ms
 * seccomp      calls that a filter answers, two ways
 * uring        io_uring workers that wait in reads
 * alloca       waits below a frame that only rbp tells the size of
 * reuse        threads "even" and "odd" in turn, with the same tid, from the first time it is asked
 *              for its counts: whoever began after that and took the tid would keep it */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"
#include "slow_file.h"

enum { DONE, WRONG, EXPECTED };
static struct count counts[] = {{.name = "done"}, {.name = "wrong"}, {.name = "expected"}, {0}};

static volatile uint64_t seed = 1;

__attribute__((noinline)) static uint64_t compute(void)
{
    uint64_t x = seed;
    for (int i = 0; i < 100000; i++)
        x = x * 6364136223846793005 + 1442695040888963407;
    return x;
}

static uint64_t right;

static void one_round(void)
{
    counts[WRONG].n += compute() != right;
    counts[DONE].n++;
}

static void *rounds_main(void *unused)
{
    (void)unused;
    for (;;)
        one_round();
    return NULL;
}

/* ---- exec ---- */

/* What answer() does, in each program once: without waiting. */
static int exec_storm(const char *done, const char *wrong)
{
    char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char texts[2][24];
    counts[DONE].n = strtol(done, NULL, 10);
    counts[WRONG].n = strtol(wrong, NULL, 10);
    bool asked = counts[DONE].n == 0;
    bool ended = false;
    one_round();
    if (poll(&input, 1, 0) > 0) {
        asked = true;
        ended = read(STDIN_FILENO, &byte, 1) <= 0;
    }
    if (asked)
        (void)printf("done=%ld wrong=%ld\n", counts[DONE].n, counts[WRONG].n);
    (void)fflush(stdout);
    if (ended)
        return 0;
    (void)snprintf(texts[0], sizeof texts[0], "%ld", counts[DONE].n);
    (void)snprintf(texts[1], sizeof texts[1], "%ld", counts[WRONG].n);
    (void)execl("/proc/self/exe", "hostile", "exec", texts[0], texts[1], NULL);
    fail("execve");
}

/* ---- exec_others ---- */

static void wait_until_asked(void)
{
    char byte;
    print_counts(counts);
    if (read(STDIN_FILENO, &byte, 1) < 0)
        fail("read");
}

static char *self_args[] = {"hostile", "exec_others", NULL, NULL, NULL};

static void *exec_after_2_ms(void *unused)
{
    (void)usleep(2000);
    (void)execv("/proc/self/exe", self_args);
    fail("execve");
    return unused;
}

static int exec_by_others(const char *done, const char *wrong)
{
    enum { COMPUTING = 4, WAITS = 3 };
    static char texts[2][24];
    struct epoll_event event;
    char byte;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    counts[DONE].n = strtol(done, NULL, 10) + 1;
    counts[WRONG].n = strtol(wrong, NULL, 10);
    if (counts[DONE].n == 1) /* who attaches in the middle of an execve may be refused */
        wait_until_asked();
    for (int i = 0; i < WAITS; i++)
        counts[WRONG].n += epoll_wait(epoll, &event, 1, 2) != 0;
    bool asked = poll(&input, 1, 0) > 0;
    bool ended = asked && read(STDIN_FILENO, &byte, 1) <= 0;
    if (asked || counts[DONE].n == 1)
        print_counts(counts);
    if (ended)
        return 0;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%ld", counts[i].n);
        self_args[2 + i] = texts[i];
    }
    for (int i = 0; i < COMPUTING; i++)
        start_thread(rounds_main, NULL, "computing");
    start_thread(exec_after_2_ms, NULL, "execs");
    for (;;)
        one_round();
}

/* ---- exec_slow ---- */

enum { SLOW_MS = 8000 };
static int slow_fd;

static void *exec_slow_main(void *unused)
{
    static char *args[] = {"slow", NULL};
    while (execveat(slow_fd, "", args, environ, AT_EMPTY_PATH) < 0 && errno == EINTR)
        counts[WRONG].n++; /* nobody expects that of execve */
    return unused;
}

static bool open_slow_file(void)
{
    slow_fd = slow_file_open(SLOW_MS);
    return slow_fd >= 0;
}

/* ---- names ---- */

static void start_named(void)
{
    static const char *const names[] = {
        "\x1b[31mred\x1b]0;t\a", "\xff\xfe\xc0\x80", "a\nb\tc\rd",
        "\"}],{\"x\":\\",        "</script><b>",     "\xe2\x82",
        "\x7f\x01\x1f",          "%s%n%d",           "\xed\xa0\x80 ok"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        start_thread(rounds_main, NULL, names[i]);
}

/* ---- dlopen ---- */

static void *dlopen_main(void *path)
{
    uint64_t expected = 0;
    for (;;) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        uint64_t (*work)(uint64_t) = NULL;
        if (library)
            *(void **)&work = dlsym(library, "plugin_work");
        if (!work)
            fail("dlopen");
        uint64_t got = work(seed);
        expected = expected ? expected : got;
        counts[WRONG].n += got != expected;
        counts[DONE].n++;
        (void)dlclose(library);
    }
    return NULL;
}

static void *swap_main(void *paths)
{
    enum { TURN_MS = 20 };
    char *files[2] = {paths, strchr(paths, ':')};
    uint64_t place = 0;
    *files[1]++ = '\0';
    for (unsigned turn = 0;; turn++) {
        double end_s = now_s() + TURN_MS / 1e3;
        void *library = dlopen(files[turn % 2], RTLD_NOW | RTLD_LOCAL);
        uint64_t (*work)(uint64_t) = NULL;
        if (library)
            *(void **)&work = dlsym(library, "plugin_work");
        if (!work)
            fail("dlopen");
        uint64_t loaded = ((const struct link_map *)library)->l_addr;
        place = place ? place : loaded;
        counts[WRONG].n += place != loaded;
        while (now_s() < end_s)
            seed = work(seed);
        counts[DONE].n++;
        (void)dlclose(library);
    }
    return NULL;
}

/* ---- setuid ---- */

static void *setuid_main(void *unused)
{
    (void)unused;
    (void)usleep(500000);
    if (setgid(65534) || setuid(65534))
        fail("setuid");
    counts[EXPECTED].n = 1;
    return NULL;
}

/* ---- stops ---- */

static void start_stopper(void)
{
    pid_t parent = getpid();
    if (fork() != 0)
        return;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; getppid() == parent; i++) {
        (void)kill(parent, SIGSTOP);
        (void)usleep(500 + i % 7 * 300);
        (void)kill(parent, SIGCONT);
        (void)usleep(1000 + i % 5 * 700);
    }
    _exit(0);
}

/* ---- overflow ---- */

static sigjmp_buf before;

static void on_overflow(int number)
{
    (void)number;
    counts[WRONG].n += compute() != right;
    siglongjmp(before, 1);
}

__attribute__((noinline)) static uint64_t go_down(uint64_t depth)
{
    volatile char room[2048];
    room[0] = (char)depth;
    uint64_t ret = seed ? go_down(depth + 1) : 0;
    return ret + (uint64_t)room[0];
}

static void *overflow_main(void *unused)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK | SA_NODEFER};
    (void)sigaltstack(&stack, NULL);
    (void)sigaction(SIGSEGV, &action, NULL);
    for (;;) {
        if (sigsetjmp(before, 1) == 0)
            (void)go_down(0);
        counts[DONE].n++;
    }
    return unused;
}

/* ---- alarms ---- */

enum { ALARM_NS = 100000 };
static timer_t alarms;

static void on_alarm(int number)
{
    (void)number;
    counts[DONE].n += 1 + timer_getoverrun(alarms);
}

/* EXPECTED: alarms so far, by the clock. */
static void *alarms_main(void *unused)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    struct itimerspec every = {{0, ALARM_NS}, {0, ALARM_NS}};
    event._sigev_un._tid = gettid();
    (void)sigaction(SIGRTMIN, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &alarms))
        fail("timer_create");
    int64_t begun = now_ns();
    (void)timer_settime(alarms, 0, &every, NULL);
    for (;;) {
        counts[WRONG].n += compute() != right;
        counts[EXPECTED].n = (now_ns() - begun) / ALARM_NS;
    }
    return unused;
}

/* ---- seccomp ---- */

enum { ANSWER = 77 };

static void *seccomp_main(void *unused)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ANSWER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgrp, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE), /* without a tracer that asked: ENOSYS */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        fail("seccomp");
    for (;;) {
        counts[WRONG].n += syscall(SYS_getppid) != -1 || errno != ANSWER;
        counts[WRONG].n += syscall(SYS_getpgrp) != -1 || errno != ENOSYS;
        one_round();
    }
    return unused;
}

/* ---- io_uring ---- */

/* Submits N reads of an empty pipe that are to be done by workers, which then wait in them. */
static void start_uring(unsigned n)
{
    struct io_uring_params params = {0};
    int empty[2];
    static char bytes[64];
    int fd = (int)syscall(SYS_io_uring_setup, 64, &params);
    if (fd < 0 || pipe(empty))
        exit(skip("io_uring"));
    char *sq = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned),
                    PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    struct io_uring_sqe *sqes = mmap(NULL, params.sq_entries * sizeof *sqes, PROT_READ | PROT_WRITE,
                                     MAP_SHARED, fd, IORING_OFF_SQES);
    if (sq == MAP_FAILED || (void *)sqes == MAP_FAILED)
        fail("mmap");
    for (unsigned i = 0; i < n; i++) {
        sqes[i] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                        .flags = IOSQE_ASYNC,
                                        .fd = empty[0],
                                        .addr = (uintptr_t)&bytes[i],
                                        .len = 1};
        ((unsigned *)(void *)(sq + params.sq_off.array))[i] = i;
    }
    atomic_store((_Atomic unsigned *)(void *)(sq + params.sq_off.tail), n);
    if (syscall(SYS_io_uring_enter, fd, n, 0, 0, NULL, 0) != (long)n)
        fail("io_uring_enter");
}

/* ---- reuse ---- */

enum { SAME_TID = 1000 }; /* the next after 999 */

__attribute__((noinline)) static void even(int64_t end_ns)
{
    while (now_ns() < end_ns)
        counts[WRONG].n += compute() != right;
    counts[DONE].n++; /* no tail call */
}

__attribute__((noinline)) static void odd(int64_t end_ns)
{
    while (now_ns() < end_ns)
        counts[WRONG].n += compute() != right;
    counts[DONE].n++;
}

static void *one_of_two(void *which)
{
    bool is_odd = *(int *)which & 1;
    if (gettid() != SAME_TID)
        return NULL;
    (void)prctl(PR_SET_NAME, is_odd ? "odd" : "even");
    (is_odd ? odd : even)(now_ns() + 4000000);
    return which;
}

static void *reuse_main(void *unused)
{
    int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    for (int i = 0;;) {
        pthread_t thread;
        void *had_it = NULL;
        if (pwrite(last, "999", 3, 0) != 3)
            fail("ns_last_pid");
        if (pthread_create(&thread, NULL, one_of_two, &i) || pthread_join(thread, &had_it))
            fail("pthread_create");
        i += had_it != NULL; /* else the one before was joined, but not quite gone */
    }
    return unused;
}

static void start(const char *kind, char *argument)
{
    static void *(*const mains[])(void *) = {dlopen_main,   swap_main,   setuid_main,
                                             overflow_main, alarms_main, seccomp_main,
                                             rounds_main,   reuse_main,  exec_slow_main};
    static const char *const kinds[] = {"dlopen",  "swap",  "setuid", "overflow", "alarms",
                                        "seccomp", "stops", "reuse",  "exec_slow"};
    if (strcmp(kind, "exec_slow") == 0) /* in the middle of an execve no thread can be started */
        start_thread(rounds_main, NULL, "rounds");
    if (strcmp(kind, "reuse") == 0 || strcmp(kind, "exec_slow") == 0)
        wait_until_asked();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            start_thread(mains[i], argument, kind);
    if (strcmp(kind, "setuid") == 0 || strcmp(kind, "uring") == 0)
        start_thread(rounds_main, NULL, "rounds");
    if (strcmp(kind, "names") == 0)
        start_named();
    if (strcmp(kind, "stops") == 0)
        start_stopper();
    if (strcmp(kind, "uring") == 0)
        start_uring(8);
}

__attribute__((noinline)) static int wait_below_alloca(int n)
{
    volatile char *room = __builtin_alloca((size_t)n);
    room[0] = 0;
    print_counts(counts);
    (void)syscall(SYS_pause);
    return room[0];
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    if (strcmp(kind, "alloca") == 0)
        return wait_below_alloca(argc);
    right = compute();
    if (strcmp(kind, "exec") == 0)
        return exec_storm(argc > 2 ? argv[2] : "0", argc > 3 ? argv[3] : "0");
    if (strcmp(kind, "exec_others") == 0)
        return exec_by_others(argc > 2 ? argv[2] : "0", argc > 3 ? argv[3] : "0");
    if (strcmp(kind, "exec_slow") == 0 && !open_slow_file())
        return skip("FUSE");
    start(kind, argc > 2 ? argv[2] : NULL);
    answer(counts);
    _exit(0);
}
