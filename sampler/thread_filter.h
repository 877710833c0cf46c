/* Which threads --thread means.  Applied before any stop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct thread_filter {
    const char *const *words; /* a tid, a name glob, "main", "python" or "native" */
    size_t n;                 /* 0: every thread */
};

struct thread_facts {
    pid_t pid, tid;
    const char *comm;
    bool python;
    const char *python_name; /* NULL: unknown */
};
bool thread_filter_wants(const struct thread_filter *f, const struct thread_facts *facts);
