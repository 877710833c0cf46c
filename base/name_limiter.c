#include "base/name_limiter.h"

#include <stdbool.h>

static bool lets_through(struct map *seen, const struct text *name, size_t most)
{
    uint64_t hash = hash_bytes(name->s, name->len);
    uint64_t ignored;
    if (map_get(seen, hash, &ignored))
        return true;
    if (seen->n >= most)
        return false;
    map_put(seen, hash, 1);
    return true;
}

void name_limiter_limit(struct name_limiter *few, struct text *name, size_t most,
                        void (*share)(struct text *name))
{
    if (lets_through(&few->whole, name, most))
        return;
    share(name);
    if (lets_through(&few->shared, name, most))
        return;
    text_clear(name);
    text_add(name, "…");
}

void name_limiter_by_group(struct text *name)
{
    struct text group = {0};
    text_add_group(&group, name->s);
    text_release(name);
    *name = group;
}

void name_limiter_release(struct name_limiter *few)
{
    map_release(&few->whole);
    map_release(&few->shared);
}
