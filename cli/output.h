/* A file that is being written: under a temporary name in the same directory, then synced and
 * renamed, so that a failed run never destroys an older file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "exporter/exporter.h"

/* What will be written where, checked before anything is attached to. */
struct output_target {
    char *path;
    int descriptor; /* of ours that PATH names ("-": stdout): written to as it is.  -1: none */
    const struct exporter *exporter;
    bool gzip;     /* the name ends in ".gz" */
    bool in_place; /* stdout, a device, a pipe: written as it is */
};
/* PATH is expanded already; FORMAT NULL: by the suffix.  Returns 0, or with ERR: -EINVAL for an
 * unknown format or suffix (a mistake of usage), another errno if the file cannot be written. */
int output_plan(struct output_target *ret, const char *path, const char *format, struct err *err);
void output_target_release(struct output_target *t);

/* Called now and then while bytes are written; true: give up, the write fails with ECANCELED. */
typedef bool (*output_cancelled)(void);

struct output;
/* Opens the temporary file of T, which must outlive RET.  Returns 0 or a negative errno with ERR. */
int output_begin(struct output **ret, const struct output_target *t, output_cancelled cancelled,
                 struct err *err);
FILE *output_file(struct output *out);
/* Finishes, also after a write has failed, to learn why: flush, sync, owner (SUDO_UID under sudo), rename.  Frees OUT in any case; the older
 * file stays if this fails, and where it is just that it must not be replaced ERR says where the recording is.  *RET_BYTES is the file's size.  Returns 0, or a negative errno with
 * the one error: -ECANCELED, -ENOSPC, -EPIPE, -EROFS, … */
int output_commit(struct output *out, int64_t *ret_bytes, struct err *err);
/* Drops what was written.  NULL is fine; returns NULL. */
struct output *output_discard(struct output *out);
