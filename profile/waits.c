/* The waits of a profile, and the names of locks. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/kept.h"
#include "profile/profile_private.h"

_Static_assert(sizeof(struct blocker) == 12 * sizeof(uint32_t) + 4 * sizeof(uint64_t),
               "nothing between a blocker's fields");

/* What tells waits apart beside their blockers. */
enum { WAIT_WORDS = 6 };
static void wait_words(const struct wait *w, uint64_t ret[WAIT_WORDS])
{
    const struct wait_side *side = &w->side;
    ret[0] = (uint64_t)w->call.ix << 32 | w->kind;
    ret[1] = (uint64_t)w->object.ix << 32 | w->mount.ix;
    ret[2] = side->addr;
    ret[3] = (uint64_t)side->list.ix << 32 | side->more;
    ret[4] = side->thing;
    ret[5] = (uint64_t)side->expired << 4 | side->at_least << 3 | side->single << 2 |
             side->inside << 1 | side->timed;
}

static bool same_wait(const void *item, const void *wanted)
{
    const struct wait *x = item;
    const struct wait *y = wanted;
    uint64_t a[WAIT_WORDS];
    uint64_t b[WAIT_WORDS];
    wait_words(x, a);
    wait_words(y, b);
    return memcmp(a, b, sizeof a) == 0 &&
           memcmp(&x->side.blocker, &y->side.blocker, sizeof x->side.blocker) == 0;
}

static uint64_t hash_of_wait(const struct wait *w)
{
    uint64_t words[WAIT_WORDS];
    wait_words(w, words);
    return hash_bytes(words, sizeof words) ^
           hash_u64(hash_bytes(&w->side.blocker, sizeof w->side.blocker));
}

static wait_id find_wait(const struct profile *p, const struct wait *w, uint64_t hash)
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
    wait_id known = find_wait(p, &plain, hash);
    profile_add_number(p, METRIC_WAITS_REFUSED, 1);
    return known.ix ? known : add(p, &plain, hash);
}

static plain_wait plain_of;

wait_id profile_wait(struct profile *p, const struct wait *w)
{
    uint64_t hash = hash_of_wait(w);
    wait_id known = find_wait(p, w, hash);
    if (known.ix)
        return known;
    p->threads.plain_wait = plain_of;
    p->threads.profile = p;
    return profile_is_full(p) ? refused(p, w) : add(p, w, hash);
}

/* The wait ID without whom it is for. */
static wait_id plain_of(struct profile *p, wait_id id)
{
    if (!id.ix)
        return id;
    struct wait plain = p->waits[id.ix - 1];
    plain.side.addr = 0;
    plain.side.blocker = (struct blocker){.kind = BLOCKER_UNKNOWN};
    plain.side.list = (blocker_list){0};
    wait_id known = profile_wait(p, &plain);
    if (known.ix != id.ix)
        profile_add_number(p, METRIC_WAITS_REFUSED, 1);
    return known;
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

static bool same_listed(const void *item, const void *wanted)
{
    const struct listed_blocker *a = item;
    const struct listed_blocker *b = wanted;
    return a->next.ix == b->next.ix && memcmp(&a->blocker, &b->blocker, sizeof a->blocker) == 0;
}

blocker_list profile_list_blocker(struct profile *p, const struct blocker *b, blocker_list next)
{
    const struct listed_blocker wanted = {*b, next};
    uint64_t hash = hash_bytes(b, sizeof *b) ^ hash_u64(next.ix);
    uint32_t item =
        index_find(&p->list_index, hash, p->lists, sizeof *p->lists, same_listed, &wanted);
    if (item != INDEX_NONE)
        return (blocker_list){item + 1};
    if (profile_is_full(p)) {
        profile_add_number(p, METRIC_WAITS_REFUSED, 1);
        return next;
    }
    p->lists = array_reserve(p->lists, &p->lists_capacity, p->n_lists + 1, sizeof *p->lists);
    index_add(&p->list_index, hash, (uint32_t)p->n_lists);
    p->lists[p->n_lists++] = wanted;
    return (blocker_list){(uint32_t)p->n_lists};
}

const struct listed_blocker *profile_see_blocker(const struct profile *p, blocker_list id)
{
    assert(id.ix <= p->n_lists);
    return id.ix ? &p->lists[id.ix - 1] : NULL;
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

const struct lock_name *profile_lock_names(const struct profile *p, size_t *ret_n)
{
    *ret_n = p->n_lock_names;
    return p->lock_names;
}

static const struct listener *find_listener(const struct profile *p, string_id host, uint32_t port)
{
    for (size_t i = 0; i < p->n_listeners; i++)
        if (p->listeners[i].host.ix == host.ix && p->listeners[i].port == port)
            return &p->listeners[i];
    return NULL;
}

void profile_add_listener(struct profile *p, const struct listener *l)
{
    if (p->n_listeners < MOST_LISTENERS && !find_listener(p, l->host, l->port))
        p->listeners[p->n_listeners++] = *l;
}

const struct listener *profile_listener(const struct profile *p, const struct blocker *b)
{
    bool peer = b->kind == BLOCKER_PEER && b->net == NET_TCP;
    return peer ? find_listener(p, b->host, b->port) : NULL;
}

const struct listener *profile_listeners(const struct profile *p, size_t *ret_n)
{
    *ret_n = p->n_listeners;
    return p->listeners;
}
