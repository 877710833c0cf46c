/* Which parts of a recording keep the order of their runs, once the rest was coarsened: windows at
 * even distances, and the newest time, ten minutes where there is room.  There the runs of
 * different threads can be held against each other.  Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct exact_time {
    int64_t step_ns;  /* elsewhere the order is lost within steps of this length; 0: nowhere */
    int64_t every;    /* one window of so many is exact, 2^28 at most; 0: none */
    int64_t since_ns; /* from here on all is exact */
};
/* Is NS, since the profile's origin, exact?  The answer holds until *RET_UNTIL_NS > NS. */
bool exact_time_has(const struct exact_time *e, int64_t ns, int64_t *ret_until_ns);
/* The same of the part that stands for all of END_NS: the windows, in the newest time too, which
 * would count for more than it is.  All exact time where there are only a few windows. */
bool exact_time_samples(const struct exact_time *e, int64_t end_ns, int64_t ns,
                        int64_t *ret_until_ns);
/* Is all exact from NS on? */
bool exact_time_from(const struct exact_time *e, int64_t ns);
/* The length of a window: long enough for what threads do to each other, as a step of training. */
int64_t exact_window_ns(void);
