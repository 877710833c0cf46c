/* A bound for names of which a program may make ever new ones: files that it waits for, asyncio's
 * tasks, threads.  Each stays in the profile, with the stacks that begin or end in it, until there
 * is no room for anything new.  So the first names stay as they are, and later ones become the part
 * that many share. */
#pragma once

#include <stddef.h>

#include "base/hash.h"
#include "base/text.h"

/* Zero-initialise. */
struct name_limiter {
    struct map whole, shared; /* hashes of those that were let through */
};

/* Changes NAME as SHARE does if MOST others came before it, to "…" if there are as many shared ones
 * by now, too. */
void name_limiter_limit(struct name_limiter *few, struct text *name, size_t most,
                        void (*share)(struct text *name));
/* A SHARE: "Thread-*" for "Thread-17". */
void name_limiter_by_group(struct text *name);
void name_limiter_release(struct name_limiter *few);
