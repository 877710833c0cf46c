/* Live targets for the native tests: starts a program, waits until it has written "ready", and
 * takes snapshots of it, with a stop or without, in the plainest way there is. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "capture/snapshot.h"
#include "target/modules.h"

/* What the program gets: stdin is a pipe on which it may block, stdout one to write "ready" to. */
struct target {
    pid_t pid;
    int to_stdin, from_stdout;
    struct mem *live;
    struct modules *modules;
};

/* Runs ARGV[0].  Fails the test if it does not become ready.  Its modules are loaded. */
struct target target_start(const char *const argv[]);
/* Lets it go on from one blocking read of stdin. */
void target_go_on(struct target *t);
/* It is still there, not stopped, and nobody traces it. */
void target_assert_unharmed(const struct target *t);
void target_end(struct target *t); /* kills and reaps */

struct frozen {
    struct snapshot snapshot;
    uint8_t *stack;
    struct mem *image;
};
/* Attaches, takes registers and the stack up to the end of its mapping, detaches. */
void freeze_stopped(const struct target *t, pid_t tid, struct frozen *ret);
/* pc, sp and the stack of a thread that is blocked, without a stop; waits until it is. */
void freeze_blocked(const struct target *t, pid_t tid, struct frozen *ret);
/* The same of a tracee that is stopped already. */
void freeze_tracee(const struct target *t, pid_t tid, struct frozen *ret);
void frozen_release(struct frozen *f);

void tracee_seize(pid_t tid); /* and stop it */
bool tracee_step(pid_t tid);  /* one instruction; false: it has ended */
/* Lets it run until it has started a thread, and returns that one's tid.  Both are stopped then. */
pid_t tracee_wait_for_clone(pid_t tid);
void tracee_detach(pid_t tid);
