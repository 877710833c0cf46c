/* Texts about a recording by key, in the order of first set. */
#pragma once

#include "profile/profile.h"

struct metadata { /* zero-initialise */
    struct profile_metadatum *items;
    size_t n, capacity;
};
struct profile_metadatum *metadata_at(struct metadata *f, const char *key); /* added if new */
const struct profile_metadatum *metadata_find(const struct metadata *f,
                                              const char *key); /* or NULL */
void metadata_forget(struct metadata *f, const char *key);
void metadata_release(struct metadata *f);
