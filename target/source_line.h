/* Lines of source files as a process sees them: below its root, and only of regular files that lie
 * on this machine's own file systems, are older than the process, and small.  No symbolic link is
 * followed: it could lead out of its root, or to a server that does not answer.  Hostile input:
 * whoever owns the process owns these files. */
#pragma once

#include <stdint.h>

#include "base/text.h"
#include "target/mount.h"

enum { SOURCE_MAX_BYTES = 2 << 20, SOURCE_MAX_TOTAL_BYTES = 32 << 20, SOURCE_MAX_FILES = 256 };
struct source_lines { /* zero-initialise */
    struct source_file *files;
    size_t n, capacity, bytes;
    struct mounts mounts;
    pid_t mounts_of;
    char *newer; /* a file that was left out because it is newer than its process; NULL: none */
};
/* Appends line LINE (from 1 on) of PATH, an absolute path as PID sees it, without the space around
 * it and tamed; nothing if there is none. */
void source_line_add(struct source_lines *s, pid_t pid, const char *path, uint32_t line,
                     struct text *out);
void source_lines_release(struct source_lines *s);
