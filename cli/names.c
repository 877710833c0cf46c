#include "cli/names.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

/* A go takes 0.1 to 0.3 s of CPU: no more than some hundredth of the time, and short recordings have none. */
static const int64_t FIRST_NS = (int64_t)15 * NS_PER_S;
enum { NEXT_AFTER = 2 }; /* times as long */

static struct symbolizer **symbolizers_of(struct subject *const *subjects, size_t count)
{
    struct symbolizer **all = xmalloc((count + 1) * sizeof(struct symbolizer *));
    for (size_t i = 0; i < count; i++)
        all[i] = subjects[i]->symbolizer;
    return all;
}

void names_end(struct names *n)
{
    n->frames += naming_go_end(n->go);
    n->go = NULL;
}

void names_abandon(struct names *n)
{
    n->go = NULL;
}

void names_ahead(struct names *n, struct subject *const *subjects, size_t count, int64_t running_ns)
{
    if (n->go && naming_go_is_done(n->go))
        names_end(n);
    if (n->go || running_ns < (n->next_ns ? n->next_ns : FIRST_NS))
        return;
    struct symbolizer **all = symbolizers_of(subjects, count);
    n->go = symbolizers_start(all, count);
    n->next_ns = NEXT_AFTER * running_ns;
    free(all);
}

void names_finish(struct names *n, struct subject *const *subjects, size_t count,
                  bool (*on_progress)(void *ctx, double share), void *ctx)
{
    names_end(n);
    struct symbolizer **all = symbolizers_of(subjects, count);
    symbolizers_run(all, count, on_progress, ctx);
    free(all);
}
