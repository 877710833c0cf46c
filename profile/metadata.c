#include "profile/metadata.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"

const struct profile_metadatum *metadata_find(const struct metadata *f, const char *key)
{
    for (size_t i = 0; i < f->n; i++)
        if (str_eq(f->items[i].key, key))
            return &f->items[i];
    return NULL;
}

struct profile_metadatum *metadata_at(struct metadata *f, const char *key)
{
    const struct profile_metadatum *old = metadata_find(f, key);
    if (old)
        return &f->items[old - f->items];
    f->items = array_reserve(f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n] = (struct profile_metadatum){.key = key};
    return &f->items[f->n++];
}

void metadata_forget(struct metadata *f, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->n; i++)
        if (!str_eq(f->items[i].key, key))
            f->items[kept++] = f->items[i];
    f->n = kept;
}

void metadata_release(struct metadata *f)
{
    free(f->items);
    *f = (struct metadata){0};
}
