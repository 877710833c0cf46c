/* The kind of lock that a thread in futex(2) waits for: the call is the same for every kind, the
 * functions around it are not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "summary/view.h"

enum futex_kind {
    FUTEX_UNKNOWN,
    FUTEX_LOCK,      /* a mutex, which another thread holds */
    FUTEX_RWLOCK,    /* a lock that readers share */
    FUTEX_CONDITION, /* a condition variable, an event, a queue: somebody must wake it */
    FUTEX_SEMAPHORE,
    FUTEX_JOIN, /* another thread's end */
    FUTEX_BARRIER,
};

/* STACK outermost first, as shown.  FUTEX_UNKNOWN also if it ends in no futex(2). */
enum futex_kind futex_kind(const struct shown_frame *stack, size_t n);
/* Is F a function of the C library's that only waits, for whoever wakes it or ends?  A thread in it
 * that runs, or waits for a CPU, is on its way to sleep, or has just been woken. */
bool futex_is_wait(const struct shown_frame *f);
/* "mutex", "condition", …; NULL: unknown. */
const char *futex_kind_name(enum futex_kind kind);
/* " for a lock", " at a barrier": what a sentence has behind "waits"; "": unknown. */
const char *futex_kind_words(enum futex_kind kind);
