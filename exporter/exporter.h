/* A profile in a file format.  One file each; they take the profile and a view, nothing else. */
#pragma once

#include <stdio.h>

#include "profile/profile.h"
#include "summary/view.h"

struct exporter {
    const char *name;   /* as -f takes it */
    const char *suffix; /* ".json" */
    int (*write)(struct profile *p, const struct view_options *options, FILE *out);
};

/* Writes P to OUT.  Returns 0 or a negative errno of the writes.  Sets facts in P, of this file alone: in "coarsened" what
 * was given up to hold the budget (docs/speedscope.md), in "stacks_shortened" how many are too deep for the format. */
int exporter_write(const struct exporter *e, struct profile *p, const struct view_options *options,
                   FILE *out);

const struct exporter *
exporter_by_name(const char *name); /* "speedscope", "folded", "raw"; NULL: unknown */
const struct exporter *exporter_by_path(const char *path); /* by suffix; NULL: unknown */
