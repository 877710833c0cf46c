/* Names of code that no file holds, from the text file that a JIT compiler writes for perf.  Each
 * line has START SIZE NAME, in hexadecimal, and is appended when code is made.  Where lines
 * overlap, the later one counts.  The file belongs to the target, or to anybody: it is bounded and
 * never trusted.
 * Source: Linux tools/perf/Documentation/jit-interface.txt. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct perf_map;
/* The map at PATH, which need not be there yet.  It is read if it is a regular file that belongs
 * to OWNER, to root or to us, and was written to at SINCE_S (seconds since 1970) or later: an
 * older one may be of another process that had the pid. */
struct perf_map *perf_map_new(const char *path, uid_t owner, int64_t since_s);
/* Reads what was appended since the last call, or all if the file was replaced or cut.  Does
 * nothing if it was called a moment ago.  Returns whether names may have changed. */
bool perf_map_refresh(struct perf_map *m);
/* The same at once, and to the end of the file, or as far as a user would wait for (1 GiB). */
bool perf_map_finish(struct perf_map *m);
/* The name at ADDR, demangled, into RET.  False: it has none, or the file was not read to its
 * end yet, or names more than a million pieces of code. */
bool perf_map_find(struct perf_map *m, uint64_t addr, struct text *ret);
struct perf_map *perf_map_free(struct perf_map *m); /* NULL is fine; returns NULL */
