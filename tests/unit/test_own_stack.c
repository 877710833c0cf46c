/* The stack of a program whose address space is limited. */
#include "base/own_stack.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/check_main.h"

enum { DEEP_BYTES = STACK_LEAST_BYTES / 2, ROOM_BYTES = 16 << 20, STEP_BYTES = 4096 };

/* As libdw's reader of line tables: an array of that size on the stack. */
static int go_deep(void)
{
    volatile char room[DEEP_BYTES];
    for (size_t i = 0; i < sizeof room; i += STEP_BYTES)
        room[i] = 1;
    return room[0];
}

static void *take(size_t bytes)
{
    return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static int take_all_and_go_deep(int argc, char **argv)
{
    (void)argv;
    for (size_t bytes = ROOM_BYTES; bytes >= STEP_BYTES; bytes /= 2)
        while (take(bytes) != MAP_FAILED)
            ;
    return argc + go_deep();
}

START_TEST(the_stack_is_there_when_all_address_space_is_used)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%lu", &pages), 1);
    (void)fclose(f);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM_BYTES;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}), 0);
    int code = own_stack_run(take_all_and_go_deep, 6, NULL);
    if (code != 7) /* without memory check cannot say so */
        _exit(EXIT_FAILURE);
}
END_TEST

CHECK_MAIN("own_stack", 10, the_stack_is_there_when_all_address_space_is_used)
