#include "summary/commands.h"

#include "base/share.h"

enum { LEAST_COMMANDS = 5 };
static const double least_alive = 0.5, most_alive = 1.5; /* at a time, on average */
static const double lasting_part = 0.5;                  /* of the recording */

bool commands_has(const struct profile *p, const struct profile_thread *t, process_id parent)
{
    return t->main && t->process.ix && profile_see_process(p, t->process)->parent.ix == parent.ix;
}

struct commands commands_of(const struct profile *p, process_id parent)
{
    struct commands c = {.n = 0};
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        const struct profile_thread *t = profile_see_thread(p, (thread_id){i});
        if (!commands_has(p, t, parent))
            continue;
        int64_t ns = t->n_folded ? t->lived_ns : t->end_ns - t->start_ns;
        bool lasts = !t->n_folded && share_of(ns, profile_end_ns(p)) >= lasting_part;
        bool whole = t->n_folded || (t->start_ns > 0 && t->ended);
        c.lasting += lasts;
        if (whole && !lasts) {
            c.n += t->n_folded ? t->n_folded : 1;
            c.ns += ns;
        }
    }
    return c;
}

bool commands_in_turn(const struct profile *p, const struct commands *c)
{
    double alive = share_of(c->ns, profile_end_ns(p));
    return c->n >= LEAST_COMMANDS && !c->lasting && alive >= least_alive && alive <= most_alive;
}
