#include "base/duty_cycle.h"

#include "base/clock.h"
#include "base/minmax.h"

bool duty_cycle_begin(struct duty_cycle *r)
{
    r->begun_ns = clock_now_ns();
    if (r->begun_ns < r->due_ns)
        return false;
    r->begun_cpu_ns = clock_cpu_ns();
    return true;
}

void duty_cycle_end(struct duty_cycle *r, int64_t share, int64_t least_ns)
{
    int64_t end_ns = clock_now_ns();
    int64_t pause_ns = share * (clock_cpu_ns() - r->begun_cpu_ns);
    if (r->credit_ns)
        pause_ns = min_i64(pause_ns, r->credit_ns);
    int64_t from_ns = r->credit_ns ? max_i64(r->paid_ns, end_ns) : end_ns; /* DUE_NS may be set */
    r->paid_ns = from_ns + pause_ns;
    int64_t least_due_ns = end_ns + max_i64(end_ns - r->begun_ns, least_ns);
    r->due_ns = max_i64(r->paid_ns - r->credit_ns, least_due_ns);
}
