/* The process that has a lock in a file which processes share, where that is not recorded: the lock
 * has the number of its thread, and the process has the file mapped. */
#pragma once

#include <sys/types.h>

#include "base/hash.h"
#include "target/maps.h"

/* Zero-initialise. */
struct shared_owners {
    struct map known; /* index into ITEMS */
    struct shared_owner *items;
    size_t n, capacity;
};
/* The process of thread TID that has what is mapped OF, at OFFSET in the file, too; 0: that is no
 * such thread, or it cannot be read.  It is looked for once a second.  TID is one of wallspy's own
 * pid namespace. */
pid_t shared_owner_find(struct shared_owners *o, pid_t tid, const struct mapping *of,
                        uint64_t offset);
/* Has MAPS the file that is mapped OF, at OFFSET in it? */
bool shared_owner_maps(const struct maps *maps, const struct mapping *of, uint64_t offset);
void shared_owners_release(struct shared_owners *o);
