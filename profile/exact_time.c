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
static bool is_in_window(const struct exact_time *e, int64_t ns, int64_t *ret_until_ns)
{
    int64_t next = ns / exact_window_ns() + 1;
    int64_t last = (next + e->every - 1) / e->every * e->every;
    *ret_until_ns = (next == last ? next : last - 1) * exact_window_ns();
    return next == last;
}

bool exact_time_has(const struct exact_time *e, int64_t ns, int64_t *ret_until_ns)
{
    *ret_until_ns = INT64_MAX;
    if (exact_time_from(e, ns))
        return true;
    *ret_until_ns = e->since_ns;
    if (!e->every)
        return false;
    int64_t until_ns;
    bool exact = is_in_window(e, ns, &until_ns);
    *ret_until_ns = min_i64(until_ns, e->since_ns);
    return exact;
}

bool exact_time_samples(const struct exact_time *e, int64_t end_ns, int64_t ns,
                        int64_t *ret_until_ns)
{
    enum { LEAST_WINDOWS = 4 };
    int64_t windows = e->every ? end_ns / exact_window_ns() / e->every : 0;
    if (!e->step_ns || windows < LEAST_WINDOWS)
        return exact_time_has(e, ns, ret_until_ns);
    return is_in_window(e, ns, ret_until_ns);
}
