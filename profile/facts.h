/* Texts about a recording by key, in the order of first set. */
#pragma once

#include "profile/profile.h"

struct facts { /* zero-initialise */
    struct profile_fact *items;
    size_t n, capacity;
};
struct profile_fact *facts_at(struct facts *f, const char *key);               /* added if new */
const struct profile_fact *facts_find(const struct facts *f, const char *key); /* or NULL */
void facts_forget(struct facts *f, const char *key);
void facts_release(struct facts *f);
