/* Ends a hold that lasts, and names a file server that hangs.
 *
 * Memory of the target that wallspy reads while a thread is held may not come: a page of a file
 * on a server that does not answer, of a swap device, of a region that the target serves itself
 * (userfaultfd). Only the end of the thread that reads ends such a read, and lets the held
 * thread go; and a thread that is in it ends only with its process, or by that process's
 * execve.  So a child process goes on with all that was sampled, and writes it; the process
 * itself becomes one that waits for the child, and so keeps its pid and gives the right status.
 * Source: ptrace(2), execve(2), mm/gup.c (reads for others end by SIGKILL alone). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct sampler;

/* Begins to look, in a thread of its own, until watchdog_end(): whether files are waited for,
 * and says so. */
void watchdog_start(void);
/* The same for the holds of S.  COMMAND: what was launched, whose status counts; 0: none.
 * STRICT: as --strict. */
void watchdog_watch(struct sampler *s, pid_t command, bool strict);
void watchdog_end(void);
/* The sampler was asked to end. */
void watchdog_expect_end(void);
/* Between two pieces of work of the thread that owns the recording.  True: this is the child
 * process now, once. */
bool watchdog_has_left(void);
/* Is this the child process? */
bool watchdog_is_child(void);

/* What wallspy becomes: the arguments by which main() knows it, and what it does.  Returns the
 * exit code. */
bool watchdog_is_waiter(int argc, char **argv);
int watchdog_wait(char **argv);
