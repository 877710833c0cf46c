/* locked_memory fork|mprotect SECONDS: a thread computes for 12 ms, and then locks its process's
 * memory for about as long, in turn: it forks out of much memory, or changes the pages of a GiB.
 * Says for what share of its time it was in those calls. */
#include "tests/support/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORK_NS = 12000000, PAGE_BYTES = 4096 };
static const size_t FORKED_BYTES = (size_t)256 << 20;
static const size_t CHANGED_BYTES = (size_t)1 << 30;

static volatile long sink;

static __attribute__((noinline)) void work(void)
{
    for (int64_t end = now_ns() + WORK_NS; now_ns() < end;)
        for (int i = 0; i < 20000; i++)
            sink += i;
}

/* Pages of 4 KiB each, so that there are many page tables: where they are only read they are all
 * the one that is zero. */
static char *map_pages(size_t bytes, int protection)
{
    char *memory =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE))
        exit(1);
    for (size_t i = 0; i < bytes; i += PAGE_BYTES) {
        if (protection & PROT_WRITE)
            memory[i] = 1;
        else
            sink += memory[i];
    }
    return memory;
}

static __attribute__((noinline)) pid_t lock_by_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid;
}

static __attribute__((noinline)) void lock_by_mprotect(char *memory)
{
    static int protection = PROT_READ;
    protection ^= PROT_WRITE;
    if (mprotect(memory, CHANGED_BYTES, protection))
        exit(1);
}

static __attribute__((noinline)) double work_and_lock(char *memory, bool forks, int64_t ns)
{
    int64_t locked_ns = 0;
    int64_t begun_ns = now_ns();
    while (now_ns() - begun_ns < ns) {
        work();
        int64_t start_ns = now_ns();
        pid_t child = 0;
        if (forks)
            child = lock_by_fork();
        else
            lock_by_mprotect(memory);
        locked_ns += now_ns() - start_ns;
        if (forks && (child < 0 || waitpid(child, NULL, 0) != child))
            exit(1);
    }
    return (double)locked_ns / (double)(now_ns() - begun_ns);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    bool forks = strcmp(argv[1], "fork") == 0;
    char *memory = forks ? map_pages(FORKED_BYTES, PROT_READ | PROT_WRITE)
                         : map_pages(CHANGED_BYTES, PROT_READ);
    (void)printf("%.4f\n", work_and_lock(memory, forks, atoi(argv[2]) * INT64_C(1000000000)));
    return 0;
}
