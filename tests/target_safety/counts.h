/* What a target counts, and how a test asks for it. */
#pragma once

#include "tests/support/clock.h"

#include <stdatomic.h>
#include <stdint.h>

struct count {
    const char *name; /* NULL ends an array */
    atomic_long n;
};

void print_counts(const struct count *counts); /* a line of "NAME=N …" */
/* Prints a line of "NAME=N …", then the same for every byte that comes from stdin, and once more at
 * its end.  No signal handler may run on the calling thread. */
void answer(const struct count *counts);
void start_thread(void *(*main)(void *), void *arg, const char *name);
int skip(const char *what); /* prints "skip: …", that WHAT is not available; returns 0 */
_Noreturn void fail(const char *what); /* prints errno, exits with 99 */
