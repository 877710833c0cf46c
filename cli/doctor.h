/* wallspy doctor: what would stop wallspy here, what is lost by it, and the way out. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"
#include "target/attach_check.h"

/* What was found.  The process is only looked at; what is tried is tried on a child of wallspy. */
struct diagnosis {
    bool of_child;             /* no process was named: CHECK is of the child */
    struct attach_check check; /* the obstacle, or ATTACH_OK */
    struct container here;
    struct text command;     /* of the process, for display; empty: unknown */
    struct attach_ways ways; /* out of the obstacle */
    const char *costs;       /* what is lost by it */
    const char *kernel;      /* its release, borrowed */
    int yama_scope;          /* −1: there is no Yama */
    int trial_error;         /* 0: the child was stopped, read and let go; else a negative errno */
    bool vm_readv;           /* process_vm_readv is allowed */
    bool counts_runs;        /* schedstat is live */
};

/* Prints the diagnosis to stdout.  Returns EXIT_OK if nothing stops wallspy, EXIT_NOT_PERMITTED if
 * something does, EXIT_FAILED if it cannot be printed. */
int doctor_main(const struct options *o);

/* Appends the report for people, lines of at most 79 columns. */
void doctor_add_text(const struct diagnosis *d, struct text *out);
/* Writes the schema doctor/1 (docs/doctor.md).  Returns 0 or a negative errno. */
int doctor_json(const struct diagnosis *d, FILE *out);
