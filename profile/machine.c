/* The part of profile.h that is about no thread: the machine's CPUs, its file systems, asyncio's
 * tasks. */
#include <assert.h>

#include "base/alloc.h"
#include "profile/profile_private.h"

enum { MAX_MOUNTS = 1000 }; /* a target could mount without end */

struct profile_host *profile_get_host(struct profile *p)
{
    return &p->host;
}

const struct profile_host *profile_see_host(const struct profile *p)
{
    return &p->host;
}

static bool same_mount(const void *item, const void *wanted)
{
    const struct profile_mount *a = item;
    const struct profile_mount *b = wanted;
    return a->point.ix == b->point.ix && a->type.ix == b->type.ix && a->source.ix == b->source.ix;
}

mount_id profile_mount(struct profile *p, const struct profile_mount *m)
{
    uint64_t hash = hash_u64(hash_u64(hash_u64(m->point.ix) ^ m->type.ix) ^ m->source.ix);
    uint32_t item = index_find(&p->mount_index, hash, p->mounts, sizeof *p->mounts, same_mount, m);
    if (item != INDEX_NONE)
        return (mount_id){item + 1};
    if (p->n_mounts == MAX_MOUNTS)
        return (mount_id){0};
    p->mounts = array_reserve(p->mounts, &p->mounts_capacity, p->n_mounts + 1, sizeof *p->mounts);
    index_add(&p->mount_index, hash, (uint32_t)p->n_mounts);
    p->mounts[p->n_mounts++] = *m;
    return (mount_id){(uint32_t)p->n_mounts};
}

const struct profile_mount *profile_see_mount(const struct profile *p, mount_id id)
{
    assert(id.ix && id.ix <= p->n_mounts);
    return &p->mounts[id.ix - 1];
}

uint32_t profile_mount_count(const struct profile *p)
{
    return (uint32_t)p->n_mounts;
}

void profile_add_task_wait(struct profile *p, const struct profile_task_wait *wait)
{
    if (p->n_task_waits < MOST_TASK_WAITS)
        p->task_waits[p->n_task_waits++] = *wait;
}

void profile_forget_task_waits(struct profile *p)
{
    p->n_task_waits = 0;
}

const struct profile_task_wait *profile_task_waits(const struct profile *p, size_t *ret_n)
{
    *ret_n = p->n_task_waits;
    return p->task_waits;
}
