/* A number for each spot of a profile, which does not grow meanwhile. */
#pragma once

#include "base/hash.h"
#include "profile/profile.h"

struct spot_map {
    uint32_t *alone; /* by stack: of those that wait for nothing */
    struct map waits;
};
void spot_map_init(struct spot_map *m, const struct profile *p);
uint32_t spot_map_get(const struct spot_map *m, struct spot at); /* 0: nothing was put */
void spot_map_put(struct spot_map *m, struct spot at, uint32_t number);
void spot_map_release(struct spot_map *m);
