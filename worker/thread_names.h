/* Names of threads, within a bound: a program may make ever new threads, each with a name of its
 * own ("Thread-17"; name_limiter.h). */
#pragma once

#include <sys/types.h>

#include "base/name_limiter.h"
#include "profile/profile.h"

/* Zero-initialise. */
struct thread_names {
    struct name_limiter few;
    struct text kernel, python; /* kept for the next one; PYTHON is the caller's */
};

/* The kernel's name of thread TID of PID; none: it is gone. */
string_id thread_names_read(struct thread_names *t, struct profile *p, pid_t pid, pid_t tid);
/* Gives thread ID, which is TID, its name.  PYTHON: Python's name, read just before; may be
 * changed; NULL: unknown.  It counts if the kernel's name is only the program's, and if the thread
 * still lives: another may have taken over its pthread_t.  Returns the kernel's name; none: it is
 * gone. */
string_id thread_names_set(struct thread_names *t, struct profile *p, thread_id id, pid_t tid,
                           struct text *python);
void thread_names_release(struct thread_names *t);
