#include "cli/dump_peers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

void dump_peers_find(struct dump *d)
{
    struct blocked_call *calls = xcalloc(d->n ? d->n : 1, sizeof *calls);
    struct wait_side *sides = xcalloc(d->n ? d->n : 1, sizeof *sides);
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].asks && !d->threads[i].side.thing)
            calls[n++] = d->threads[i].call;
    waits_find_all(d->live_waits, calls, n, sides);
    n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->threads[i].asks && !d->threads[i].side.thing) {
            if (sides[n].thing)
                d->threads[i].side = sides[n];
            n++;
        }
    free(sides);
    free(calls);
}

bool dump_peers_wait_still(const struct dump *d, const struct dump_thread *t)
{
    struct blocked_call call = t->call;
    struct wait_side side = {0};
    call.since_ns = clock_now_ns();
    waits_find_all(d->live_waits, &call, 1, &side);
    return side.thing == t->side.thing && blockers_are_same(&side.blocker, &t->side.blocker);
}
