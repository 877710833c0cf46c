/* The names of output files: from -o's value to a path.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

struct output_subject {
    pid_t pid;
    const char *comm, *host;
    const char *time;    /* as file names have it: "20260131-235959" */
    const char *environ; /* of the target: NAME=VALUE, each ended by a NUL; NULL: unreadable */
    size_t environ_len;
};

/* "wallspy-%c-%p-%t" and the suffix; %c, the comm, is for this name alone. */
void output_default_pattern(const char *suffix, struct text *out);
/* Whether processes get files of their own: PATTERN has a %p or a %q. */
bool output_is_per_process(const char *pattern);
/* Appends PATTERN with %p %h %t %q{NAME} %% replaced; a '/' in a value becomes '_'.  Returns 0, or
 * with ERR -EINVAL: an unknown %, or -ENODATA: a variable that the target's environment lacks. */
int output_expand(const char *pattern, const struct output_subject *subject, struct text *out,
                  struct err *err);
/* The name of the Nth intermediate file: "out.json" → "out.snap1.json". */
void output_snap_path(const char *path, unsigned n, struct text *out);
