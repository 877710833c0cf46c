#include "profile/facts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"

const struct profile_fact *facts_find(const struct facts *f, const char *key)
{
    for (size_t i = 0; i < f->n; i++)
        if (str_eq(f->items[i].key, key))
            return &f->items[i];
    return NULL;
}

struct profile_fact *facts_at(struct facts *f, const char *key)
{
    const struct profile_fact *old = facts_find(f, key);
    if (old)
        return &f->items[old - f->items];
    f->items = array_reserve(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n] = (struct profile_fact){.key = key};
    return &f->items[f->n++];
}

void facts_forget(struct facts *f, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->n; i++)
        if (!str_eq(f->items[i].key, key))
            f->items[kept++] = f->items[i];
    f->n = kept;
}

void facts_release(struct facts *f)
{
    free(f->items);
    *f = (struct facts){0};
}
