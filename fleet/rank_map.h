/* What a user's file says of ranks: their numbers and hosts where dumps have none, and dimensions,
 * such as their place in tensor and pipeline parallelism. */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "fleet/verdict.h"

/* Reads the lines of PATH into F: "WHO NAME=VALUE…", WHO being a rank, HOST:PID, or the last part
 * of an input's name.  rank=N and host=NAME are set for such processes, all else are dimensions.
 * "#" begins a comment.  Call it when all inputs were read.  Returns 0; -EINVAL for a line that is
 * none of these, or another negative errno; ERR has the words. */
int rank_map_read(struct fleet *f, const char *path, struct err *err);
/* Appends what the members of C, several, share with no other: "all of node3", "all with tp=4".
 * Nothing if there is no such thing. */
void rank_map_add_common(const struct fleet *f, const struct verdict *v,
                         const struct verdict_class *c, struct text *out);
