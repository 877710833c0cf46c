#include "base/own_stack.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

/* makecontext(3) passes integers alone. */
static struct {
    int (*main)(int argc, char **argv);
    int argc, code;
    char **argv;
} call;

static void run_main(void)
{
    call.code = call.main(call.argc, call.argv);
}

static bool is_below(int resource, rlim_t least)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur < least;
}

static size_t wanted_bytes(void)
{
    return is_below(RLIMIT_AS, RLIM_INFINITY) ? STACK_LEAST_BYTES : STACK_USUAL_BYTES;
}

int own_stack_run(int (*main)(int argc, char **argv), int argc, char **argv)
{
    ucontext_t here;
    ucontext_t there;
    if (!is_below(RLIMIT_STACK, STACK_LEAST_BYTES) && !is_below(RLIMIT_AS, RLIM_INFINITY))
        return main(argc, argv);
    void *stack = mmap(NULL, wanted_bytes(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&there) != 0)
        return -1;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = wanted_bytes();
    there.uc_link = &here;
    call.main = main;
    call.argc = argc;
    call.argv = argv;
    call.code = -1;
    makecontext(&there, run_main, 0);
    (void)swapcontext(&here, &there);
    return call.code;
}

int own_stack_thread(pthread_t *ret, size_t bytes, void *(*run)(void *), void *arg)
{
    pthread_attr_t attributes;
    int r = pthread_attr_init(&attributes);
    if (r)
        return r;
    (void)pthread_attr_setstacksize(&attributes, bytes);
    r = pthread_create(ret, &attributes, run, arg);
    (void)pthread_attr_destroy(&attributes);
    return r;
}
