/* A forked child that makes what may crash or hang, and passes it through a pipe: a fault of it
 * costs what it makes, and nothing else of wallspy. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/text.h"

struct child {
    pid_t pid;
    int pidfd; /* negative: the kernel has none */
    int fd;    /* its output */
};
/* Forks.  The child runs MAKE, which writes to OUT, and ends: what comes through the pipe is a
 * beginning of that, without holes, also where a write fails.  All signals are blocked there but
 * SIGBUS (target/elf_guard.h), and it ends with the calling thread.  NAME: its own, of 15 bytes at
 * most.  The caller sees to it that the sampler rests meanwhile: a copied address space makes its
 * thread fault.  Returns 0 or a negative errno. */
int child_start(struct child *c, const char *name, void (*make)(void *ctx, FILE *out), void *ctx);
/* Waits for output for WAIT_MS at most and appends it to RET.  Returns how many bytes came; 0: no
 * more will come; -EAGAIN: none came yet, or another negative errno. */
ssize_t child_read(struct child *c, int wait_ms, struct text *ret);
/* No other process gets the signal, also where the child has ended. */
void child_kill(const struct child *c);
/* Takes the end of a child that was killed, or whose output has ended; does not wait for one that
 * hangs in the kernel.  Appends why it did not end well to WHY (NULL: nobody asks): the sampler's
 * thread takes the ends of all children, so that the reason may be lost. */
void child_end(struct child *c, struct text *why);
