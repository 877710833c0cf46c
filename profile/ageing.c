#include "profile/ageing.h"

#include "base/minmax.h"
#include "profile/profile_private.h"

void profile_keep_last(struct profile *p, int64_t ns)
{
    p->threads.keep_ns = ns;
    profile_count_threads(p);
}

int64_t profile_kept_ns(const struct profile *p)
{
    return p->threads.keep_ns;
}

void profile_age(struct profile *p, int64_t now_ns)
{
    if (!p->threads.keep_ns)
        return;
    thread_table_age(&p->threads, now_ns);
    if (p->threads.exact.step_ns)
        profile_age_marks(p, min_i64(p->threads.exact.since_ns, now_ns - p->threads.keep_ns));
}
