/* A recording that is written while it goes on, by a process of its own (cli/sink_process.h).  It
 * never makes the worker wait before the end: what the pipe does not take waits in memory, and
 * where that is too much, in the profile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/output_target.h"
#include "worker/recording.h"

struct growing_file;
/* Starts the process, before this one has another thread.  NULL: it cannot; the file is then
 * written at the end, as those of other formats are. */
struct growing_file *growing_file_start(void);
/* Has it make the file of T, and does not wait for that: a command that was launched runs already.
 * A warning says later why it could not. */
void growing_file_open(struct growing_file *g, const struct output_target *t);
/* Where it grows; NULL: nowhere. */
const char *growing_file_path(const struct growing_file *g);
/* Was it told to write T's file? */
bool growing_file_is_of(const struct growing_file *g, const struct output_target *t);
/* Call it between pieces of the worker's work, at least once a second; cheap when called often.
 * Sends what is new every two seconds. */
void growing_file_look(struct growing_file *g, struct recording *r);
/* Sends the rest of P, which has ended, and waits for the file.  Returns 0, or a negative errno
 * with ERR; *RET_BYTES and *RET_KEPT as output_commit().  -EPIPE: it does not grow any more, which
 * was told: the file is to be written as others are. */
int growing_file_end(struct growing_file *g, const struct profile *p, bool (*cancelled)(void),
                     int64_t *ret_bytes, bool *ret_kept, struct err *err);
/* What was to be written anew found no room: the process ends the file as if wallspy were killed,
 * which takes a second at most.  Returns its path, borrowed; NULL: there is no such file. */
const char *growing_file_keep(struct growing_file *g);
/* The whole recording was written otherwise: what has grown is in the way. */
void growing_file_remove(struct growing_file *g);
/* Drops the file, if growing_file_end() was not called.  NULL is fine; returns NULL. */
struct growing_file *growing_file_free(struct growing_file *g);
