#include "summary/spot_map.h"

#include <stdlib.h>

#include "base/alloc.h"

void spot_map_init(struct spot_map *m, const struct profile *p)
{
    *m = (struct spot_map){.alone = xcalloc(profile_stack_count(p) + (size_t)1, sizeof *m->alone)};
}

uint32_t spot_map_get(const struct spot_map *m, struct spot at)
{
    uint64_t number = 0;
    if (!at.wait.ix)
        return m->alone[at.stack.ix];
    (void)map_get(&m->waits, spot_key(at), &number);
    return (uint32_t)number;
}

void spot_map_put(struct spot_map *m, struct spot at, uint32_t number)
{
    if (at.wait.ix)
        map_put(&m->waits, spot_key(at), number);
    else
        m->alone[at.stack.ix] = number;
}

void spot_map_release(struct spot_map *m)
{
    free(m->alone);
    map_release(&m->waits);
}
