/* The facts of a recording as a whole: tables meta, text and metric. */
#pragma once

#include "profile/kept.h"
#include "recording/rows.h"

struct facts {
    bool complete; /* false: whoever wrote it was cut off, or is not done yet */
    int64_t minor; /* of its schema: SCHEMA_MINOR of the wallspy that made it */
    int64_t end_ns;
    struct exact_time exact;
    int64_t recent_since_ns; /* table recent has all runs from then on; EXACT's if it has none */
    struct profile_origin origin;
    double numbers[METRIC_COUNT];
};
/* Checks that the file is a recording of this major version, that is whole, and reads its facts;
 * puts the texts into P.  False: ROWS or DB say why not. */
bool facts_read(struct facts *ret, struct rows *rows, struct database *db, struct profile *p);
/* Gives P the numbers, once it has ended. */
void facts_set(const struct facts *facts, struct profile *p);
