#include "waits/shared_owner.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "target/proc.h"

/* A process of many mappings takes some ms. */
enum { LOOK_EVERY_NS = NS_PER_S };

struct shared_owner {
    pid_t pid; /* 0: there is none */
    int64_t looked_ns;
};

bool shared_owner_maps(const struct maps *maps, const struct mapping *of, uint64_t offset)
{
    for (size_t i = 0; i < maps->n; i++) {
        const struct mapping *at = &maps->items[i];
        if (mappings_have_one_file(at, of) && offset >= at->file_offset &&
            offset - at->file_offset < at->end - at->start)
            return true;
    }
    return false;
}

static pid_t look(pid_t tid, const struct mapping *of, uint64_t offset)
{
    struct task_status status;
    struct maps maps = {0};
    if (proc_status(tid, 0, &status) < 0 || status.ns_tid != tid || !status.tgid)
        return 0;
    bool has = maps_load(&maps, status.tgid) == 0 && shared_owner_maps(&maps, of, offset);
    maps_release(&maps);
    return has ? status.tgid : 0;
}

/* Is there room for another one? */
static bool make_room(struct shared_owners *o, int64_t now_ns)
{
    if (o->n < SHARED_OWNERS_MOST)
        return true;
    if (now_ns - o->emptied_ns < LOOK_EVERY_NS)
        return false;
    o->n = 0;
    o->emptied_ns = now_ns;
    map_clear(&o->known);
    return true;
}

pid_t shared_owner_find(struct shared_owners *o, pid_t tid, const struct mapping *of,
                        uint64_t offset)
{
    const uint64_t words[] = {(uint64_t)tid, of->inode, of->dev_major, of->dev_minor, offset};
    uint64_t key = hash_bytes(words, sizeof words);
    uint64_t at;
    int64_t now_ns = clock_now_ns();
    if (!map_get(&o->known, key, &at)) {
        if (!make_room(o, now_ns))
            return 0;
        o->items = array_reserve(o->items, &o->capacity, o->n + 1, sizeof *o->items);
        at = o->n++;
        o->items[at] = (struct shared_owner){.looked_ns = now_ns - LOOK_EVERY_NS};
        map_put(&o->known, key, at);
    }
    struct shared_owner *owner = &o->items[at];
    if (now_ns - owner->looked_ns >= LOOK_EVERY_NS)
        *owner = (struct shared_owner){look(tid, of, offset), now_ns};
    return owner->pid;
}

void shared_owners_release(struct shared_owners *o)
{
    map_release(&o->known);
    free(o->items);
    *o = (struct shared_owners){0};
}
