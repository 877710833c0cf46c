#include "profile/exact_time.h"

#include "base/clock.h"
#include "base/minmax.h"

int64_t exact_window_ns(void)
{
    return (int64_t)8 * NS_PER_S;
}

bool exact_time_from(const struct exact_time *e, int64_t ns)
{
    return !e->step_ns || ns >= e->since_ns;
}

/* The last of each so many windows: the first ones of a recording are a program's start. */
bool exact_time_has(const struct exact_time *e, int64_t ns, int64_t *ret_until_ns)
{
    *ret_until_ns = INT64_MAX;
    if (exact_time_from(e, ns))
        return true;
    *ret_until_ns = e->since_ns;
    if (!e->every)
        return false;
    int64_t next = ns / exact_window_ns() + 1;
    int64_t last = (next + e->every - 1) / e->every * e->every;
    bool exact = next == last;
    int64_t until = exact ? next : last - 1;
    *ret_until_ns = min_i64(until * exact_window_ns(), e->since_ns);
    return exact;
}
