/* A profile as a recording, a SQLite file (docs/recording.md), and back.  Both have the same
 * answer, word for word. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

/* Writes P, which has ended, to OUT; PROCESSES: by process, only the threads of these; NULL: of
 * all.  Returns 0, or a negative errno: with ERR if SQLite is the cause, of a write else. */
int recording_file_write(const struct profile *p, const bool *processes, FILE *out,
                         struct err *err);
/* A copy of P, which has ended, as whoever reads its file gets it.  NULL with ERR. */
struct profile *recording_copy(const struct profile *p, struct err *err);
/* Is the file PATH one of SQLite's, by its first bytes? */
bool recording_file_is(const char *path);
/* The profile of the file PATH, which has ended.  The file may be hostile, or cut, or another
 * program's: NULL with ERR, one line that begins with PATH.  A growing one, whose name ends so, is
 * read as of its last commit.  *RET_COMPLETE, which may be NULL: whether its recording came to its
 * end. */
struct profile *recording_file_read(const char *path, bool *ret_complete, struct err *err);
/* The same, with the runs that the file keeps of the newest time where wallspy itself had to join
 * them.  NULL with an empty ERR: the file keeps none of [FROM_NS, TO_NS). */
struct profile *recording_file_read_part(const char *path, int64_t from_ns, int64_t to_ns,
                                         struct err *err);
/* What a recording is called while it grows: its name and this. */
extern const char recording_part_suffix[];
/* Is the growing file PATH being written now? */
bool recording_part_grows(const char *path);
/* The same of LEN bytes that are such a file, called NAME in ERR. */
struct profile *recording_bytes_read(const void *bytes, size_t len, const char *name,
                                     struct err *err);
