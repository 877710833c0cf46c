/* What `wallspy ctl` asks of a running recording, obeyed in between two pieces of its work. */
#pragma once

#include "cli/options.h"
#include "cli/outputs.h"
#include "worker/recording.h"

struct steer;

/* Opens the recording's socket.  Where that cannot be the recording goes on without, and says so
 * with -v.  All are borrowed. */
struct steer *steer_new(const struct options *o, struct recording *r, struct outputs *outputs);
/* To be polled for reading; −1: no descriptor. */
int steer_fd(const struct steer *s);
/* Obeys what was asked so far. */
void steer_look(struct steer *s);
/* Writes a snapshot, as SIGUSR1 asks for it.  Returns 0, or the first error. */
int steer_snapshot(struct steer *s);
/* The sampling is over: nothing more is obeyed. */
void steer_shut(struct steer *s);
/* Tells who asked to stop which files were written, with the ERROR of outputs_write(); -ENODATA:
 * nothing was, because there is no sample. */
struct steer *steer_free(struct steer *s, int error);
