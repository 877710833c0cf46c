/* Ends a hold that lasts, and names a file server that hangs.
 *
 * wallspy reads memory of the target while a thread is held, and that memory may not arrive: a page
 * of a file on a server that does not answer, of a swap device, or of a region that the target
 * serves itself (userfaultfd).  Such a read ends only with the thread that reads; that thread ends
 * only with its process, or by an execve of the process.  Then the held thread goes on, too.  So
 * wallspy forks: the child has all samples, samples on if it can, and writes them; the parent
 * becomes, by execve, a program that waits for the child, keeps the pid and exits with the right
 * status.
 * Source: ptrace(2), execve(2), mm/gup.c (reads for others end by SIGKILL alone). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct sampler;

/* Starts a thread that looks, until watchdog_end(), whether wallspy waits for files, and says
 * so. */
void watchdog_start(void);
/* The same for the holds of S.  COMMAND: the launched command, whose status counts; 0: none.
 * STRICT: as --strict. */
void watchdog_watch(struct sampler *s, pid_t command, bool strict);
void watchdog_end(void);
/* Before watchdog_start(): has SHOW called, with CTX, on the watchdog's thread, when the main
 * thread has waited for a second for memory of a process, or any thread for a file.  The program
 * then ends with what SHOW returns.  The sampler's reads of memory are waited for no longer,
 * either: then sampling ends, and what there is is shown. */
void watchdog_on_hang(int (*show)(const void *ctx), const void *ctx);
/* Calls BODY with CTX in a child process and returns its exit code; after SHOW has been called
 * without waiting for the child's end.  A thread that a server of FUSE keeps, which has its request
 * and does not answer, ends by no signal, and its process with it: fs/fuse/dev.c,
 * request_wait_answer().  Call it before any thread is started. */
int watchdog_run_apart(int (*body)(const void *ctx), const void *ctx);
/* The sampler was asked to end. */
void watchdog_expect_end(void);
/* Call it between two pieces of work by the thread that owns the recording.  May return in a child
 * process, which then samples on.  True, once: this is a child, and sampling is to end. */
bool watchdog_has_left(void);
/* Is this a child process? */
bool watchdog_is_child(void);

/* The program that waits: the arguments by which main() knows it, and its main function, which
 * returns the exit code. */
bool watchdog_is_waiter(int argc, char **argv);
int watchdog_wait(char **argv);
