/* The waits of a profile, and the names of locks. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/profile_private.h"

/* What tells waits apart. */
enum { WAIT_WORDS = 5 };
static void wait_words(const struct wait *w, uint64_t ret[WAIT_WORDS])
{
    ret[0] = (uint64_t)w->call.ix << 32 | w->kind;
    ret[1] = (uint64_t)w->object.ix << 32 | w->mount.ix;
    ret[2] = (uint64_t)(uint32_t)w->side.pid << 32 | (uint32_t)w->side.tid;
    ret[3] = w->side.addr;
    ret[4] = (uint64_t)w->side.what.ix << 32 | w->side.thing << 8 | w->side.single << 5 |
             w->side.inside << 4 | w->side.holder << 1 | w->side.timed;
}

static bool same_wait(const void *item, const void *wanted)
{
    uint64_t a[WAIT_WORDS];
    uint64_t b[WAIT_WORDS];
    wait_words(item, a);
    wait_words(wanted, b);
    return memcmp(a, b, sizeof a) == 0;
}

static uint64_t hash_of_wait(const struct wait *w)
{
    uint64_t words[WAIT_WORDS];
    wait_words(w, words);
    return hash_bytes(words, sizeof words);
}

static wait_id find(const struct profile *p, const struct wait *w, uint64_t hash)
{
    uint32_t item = index_find(&p->wait_index, hash, p->waits, sizeof *p->waits, same_wait, w);
    return (wait_id){item == INDEX_NONE ? 0 : item + 1};
}

static wait_id add(struct profile *p, const struct wait *w, uint64_t hash)
{
    p->waits = array_reserve(p->waits, &p->waits_capacity, p->n_waits + 1, sizeof *p->waits);
    index_add(&p->wait_index, hash, (uint32_t)p->n_waits);
    p->waits[p->n_waits++] = *w;
    return (wait_id){(uint32_t)p->n_waits};
}

/* Without room only the call is kept: there are few. */
static wait_id refused(struct profile *p, const struct wait *w)
{
    const struct wait plain = {.kind = w->kind, .call = w->call};
    uint64_t hash = hash_of_wait(&plain);
    wait_id known = find(p, &plain, hash);
    profile_add_number(p, METRIC_WAITS_REFUSED, 1);
    return known.ix ? known : add(p, &plain, hash);
}

wait_id profile_wait(struct profile *p, const struct wait *w)
{
    uint64_t hash = hash_of_wait(w);
    wait_id known = find(p, w, hash);
    if (known.ix)
        return known;
    return profile_is_full(p) ? refused(p, w) : add(p, w, hash);
}

const struct wait *profile_see_wait(const struct profile *p, wait_id id)
{
    assert(id.ix <= p->n_waits);
    return id.ix ? &p->waits[id.ix - 1] : NULL;
}

uint32_t profile_wait_count(const struct profile *p)
{
    return (uint32_t)p->n_waits;
}

static const struct lock_name *find_lock(const struct profile *p, pid_t pid, uint64_t addr)
{
    for (size_t i = 0; i < p->n_lock_names; i++)
        if (p->lock_names[i].pid == pid && p->lock_names[i].addr == addr)
            return &p->lock_names[i];
    return NULL;
}

bool profile_wants_lock(const struct profile *p, pid_t pid, uint64_t addr)
{
    return p->n_lock_names < MOST_LOCK_NAMES && !find_lock(p, pid, addr);
}

void profile_name_lock(struct profile *p, pid_t pid, uint64_t addr, const char *name)
{
    if (profile_wants_lock(p, pid, addr))
        p->lock_names[p->n_lock_names++] = (struct lock_name){pid, addr, profile_string(p, name)};
}

const char *profile_lock_name(const struct profile *p, pid_t pid, uint64_t addr)
{
    const struct lock_name *found = find_lock(p, pid, addr);
    return found ? profile_text(p, found->name) : "";
}
