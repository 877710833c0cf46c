/* All files of a recording, from -o and -f to written files. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cli/explanation.h"
#include "cli/options.h"
#include "cli/output_target.h"
#include "worker/recording.h"

struct outputs;
struct growing_file; /* cli/growing_file.h */

/* If one of the files that O asks for is written while it goes on, starts the process that does so;
 * before this one has another thread.  NULL: none, or it cannot. */
struct growing_file *outputs_start_growing(const struct options *o);
/* Checks formats and directories, before anything is attached to or launched.  Returns EXIT_OK, or
 * the code to exit with, after a message to the user. */
int outputs_plan(struct outputs **ret, const struct options *o);
/* Expands the names for the processes PIDS, and checks them.  As outputs_plan(). */
int outputs_name(struct outputs *outputs, const pid_t *pids, size_t n);
/* After outputs_name(): takes G over, and has it make the first file that can grow. */
void outputs_grow(struct outputs *outputs, struct growing_file *g);
/* Between pieces of work: the file that grows gets what is new. */
void outputs_look(struct outputs *outputs, struct recording *r);
/* "run.wallspy.part", where the recording grows; NULL: nowhere. */
const char *outputs_growing_path(const struct outputs *outputs);
/* Explains the recording, writes all files, and says where they are.  Returns 0, or the first
 * error, after a message.  The caller releases *RET. */
int outputs_write(struct outputs *outputs, struct recording *r, struct explanation *ret);
/* Writes the recording so far into files beside them (NAME.snap1.json, …), and goes on. */
int outputs_snapshot(struct outputs *outputs, struct recording *r);
/* "wrote PATH (62 kB, 3.0 s).", with what its format advises; ELAPSED_NS of recorded time. */
void outputs_say_written(const struct output_target *target, int64_t bytes, int64_t elapsed_ns);
/* The absolute paths of the files that the last outputs_write() or outputs_snapshot() has written,
 * each with a line end. */
const char *outputs_written(const struct outputs *outputs);
size_t outputs_count(const struct outputs *outputs);
const struct output_target *outputs_target(const struct outputs *outputs, size_t i);
struct outputs *outputs_free(struct outputs *outputs);
