/* What the user did while it was recorded: marks, which name an instant, and pauses, in which
 * nothing was sampled.
 *
 * The profile's time stands still in a pause: all its times, lengths and counts are without it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ids.h"

struct profile;

enum {
    MOST_MARKS = 10000, /* of a profile */
    MOST_MARK_BYTES = 200,
    MOST_PAUSES = 10000,
};

struct user_mark {
    int64_t at_ns;   /* since the profile's origin */
    uint64_t utc_ns; /* since 1970 */
    string_id text;  /* well-formed UTF-8 without control characters */
};
struct user_pause {
    int64_t at_ns;   /* its beginning */
    uint64_t utc_ns; /* the same */
    int64_t paused_ns;
};

/* Is TEXT, LEN bytes, one that a mark may have: 1 to MOST_MARK_BYTES of well-formed UTF-8, without
 * characters that a terminal obeys? */
bool mark_text_is_good(const char *text, size_t len);
/* Adds a mark with a good TEXT, which is not before the last one.  False: there are MOST_MARKS, and
 * it is counted as METRIC_MARKS_DROPPED. */
bool profile_add_mark(struct profile *p, int64_t at_ns, uint64_t utc_ns, const char *text);
/* Adds PAUSE, which is not before the last one, to them and to METRIC_PAUSED_S.  Beyond MOST_PAUSES
 * its length is added to the last one. */
void profile_add_pause(struct profile *p, const struct user_pause *pause);
/* In the order of their times; valid until the next one is added, and until profile_age(), with the
 * texts of marks. */
const struct user_mark *profile_marks(const struct profile *p, size_t *ret_n);
const struct user_pause *profile_pauses(const struct profile *p, size_t *ret_n);
/* How many marks there were before those, which were older than a ring. */
uint64_t profile_marks_aged(const struct profile *p);
/* The time of day at AT_NS of P's time, in nanoseconds since 1970, and the other way round: within
 * a pause its beginning.  P's origin is known. */
int64_t profile_utc_of(const struct profile *p, int64_t at_ns);
int64_t profile_time_of_utc(const struct profile *p, int64_t utc_ns);
