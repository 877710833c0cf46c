/* The process that has a lock in a file which processes share, where that is not recorded: the lock
 * has the number of its thread, and the process has the file mapped. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "target/maps.h"

/* Zero-initialise. */
struct shared_owners {
    struct map known; /* index into ITEMS */
    struct shared_owner *items;
    size_t n, capacity;
    int64_t emptied_ns;
};
/* The process of thread TID that has what is mapped OF, at OFFSET in the file, too; 0: that is no
 * such thread, it cannot be read, or there was no time: a thread is looked for once a second, and
 * about SHARED_OWNERS_MOST are in a second, for the words of locks are the program's.  TID is one
 * of wallspy's own pid namespace. */
enum { SHARED_OWNERS_MOST = 64 };
pid_t shared_owner_find(struct shared_owners *o, pid_t tid, const struct mapping *of,
                        uint64_t offset);
/* Has MAPS the file that is mapped OF, at OFFSET in it? */
bool shared_owner_maps(const struct maps *maps, const struct mapping *of, uint64_t offset);
void shared_owners_release(struct shared_owners *o);
