/* Stacks of wallspy's own threads.  The limit (ulimit -s) may be lower than these threads need.  It
 * is left as it is, because a launched command inherits it.  Where address space is limited
 * (ulimit -v) the main stack does not grow once that is used up, and a call into libdw, which takes
 * 300 KB of stack, would end wallspy by SIGSEGV: there it has all of its stack from the start.
 * Source: getrlimit(2), makecontext(3), pthread_attr_setstacksize(3). */
#pragma once

#include <pthread.h>
#include <stddef.h>

enum { STACK_LEAST_BYTES = 1 << 20, STACK_USUAL_BYTES = 8 << 20 };

/* Calls MAIN, on another stack if the limit is below STACK_LEAST_BYTES, or ulimit -v is set.
 * Once, on the main thread.  Returns what it returns; −1: there is no memory for a stack. */
int own_stack_run(int (*main)(int argc, char **argv), int argc, char **argv);
/* pthread_create(3) with a stack of BYTES, whatever the limit is. */
int own_stack_thread(pthread_t *ret, size_t bytes, void *(*run)(void *), void *arg);
