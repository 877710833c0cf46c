/* A file that is being written: under a temporary name in the same directory, then synced and
 * renamed, so that a failed run never destroys an older file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/output_target.h"

/* Called now and then while bytes are written; true: give up, the write fails with ECANCELED. */
typedef bool (*output_cancelled)(void);

struct output;
/* Opens the temporary file of T, which must outlive RET.  Returns 0 or a negative errno with
 * ERR. */
int output_begin(struct output **ret, const struct output_target *t, output_cancelled cancelled,
                 struct err *err);
FILE *output_file(struct output *out);
/* Keeps the negative errno ERROR, with which the writer gave up, for output_commit(); 0: none. */
void output_fail(struct output *out, int error);
/* Finishes the file: flush, sync, owner (SUDO_UID under sudo), rename.  Frees OUT in any case.
 * Call it also after a failed write; it then says why.  If it fails the older file stays; if that
 * file alone is the obstacle, *RET_KEPT is true, and ERR names the file that has the recording.
 * *RET_BYTES is the file's size.  Returns 0, or a negative errno with ERR: -ECANCELED, -ENOSPC,
 * -EPIPE, -EROFS, … */
int output_commit(struct output *out, int64_t *ret_bytes, bool *ret_kept, struct err *err);
/* The same for a file that was written otherwise: NAME, open as FD, beside T's path.  It is not
 * closed, nor dropped where that fails. */
int output_publish(const struct output_target *t, const char *name, int fd, bool *ret_kept,
                   struct err *err);
/* Under sudo the file FD is SUDO_UID's.  PATH is for a warning. */
void output_give_to_user(int fd, const char *path);
/* Drops the file.  NULL is fine; returns NULL. */
struct output *output_discard(struct output *out);
