/* A thread that computes, beside one that changes a GiB of the address space, and keeps it
 * locked meanwhile, over and over again. */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "counts.h"

static const size_t BYTES = (size_t)1 << 30;
enum { PAGE_BYTES = 4096, PAUSE_NS = 1000000 };

static struct count counts[] = {{.name = "done"}, {.name = "locked_us"}, {0}};
enum { DONE, LOCKED_US };

static void *compute_main(void *unused)
{
    for (;;)
        counts[DONE].n++;
    return unused;
}

/* All of its pages are the one that is zero: what takes time are the page tables. */
static char *map_zeros(void)
{
    char *memory = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, BYTES, MADV_NOHUGEPAGE))
        fail("mmap");
    for (size_t i = 0; i < BYTES; i += PAGE_BYTES)
        (void)*(volatile char *)(memory + i);
    return memory;
}

static void *lock_main(void *memory)
{
    for (int prot = PROT_READ | PROT_WRITE;; prot ^= PROT_WRITE) {
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        int64_t began = now_ns();
        if (mprotect(memory, BYTES, prot))
            fail("mprotect");
        counts[LOCKED_US].n = (now_ns() - began) / 1000;
    }
    return NULL;
}

int main(void)
{
    char *memory = map_zeros();
    start_thread(compute_main, NULL, "computes");
    start_thread(lock_main, memory, "locks");
    answer(counts);
    _exit(0);
}
