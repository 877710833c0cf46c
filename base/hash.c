#include "base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"

enum slot_state { SLOT_FREE, SLOT_LIVE, SLOT_DELETED };

struct map_slot {
    uint64_t key, value;
    enum slot_state state;
};

struct seed {
    uint64_t mask, factor; /* the factor is odd, so that equal hashes are equal keys */
};

static const struct seed no_seed = {0, 0xbf58476d1ce4e5b9U};
static struct seed seed; /* of this run */

/* The finaliser of splitmix64 (public domain, S. Vigna): every input bit moves every output bit. */
static uint64_t mix(uint64_t x, const struct seed *with)
{
    x ^= with->mask;
    x ^= x >> 30;
    x *= with->factor;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

static uint64_t mix_bytes(const void *bytes, size_t len, const struct seed *with)
{
    const unsigned char *p = bytes;
    uint64_t h = 0x9e3779b97f4a7c15U ^ len;
    for (; len >= 8; p += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h ^ word, with);
    }
    uint64_t tail = 0;
    memcpy(&tail, p, len);
    return mix(h ^ tail, with);
}

/* The kernel gives each program 16 random bytes (getauxval(3)), also where a filter forbids
 * getrandom(2).  They are mixed, because glibc uses them, too.  Before main(), so that nothing has
 * been hashed. */
__attribute__((constructor)) static void draw_seed(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    uint64_t fresh[2] = {0};
    struct seed given = {0};
    if (random)
        memcpy(&given, random, sizeof given);
    if (getrandom(fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh)
        fresh[0] = (uint64_t)clock_now_ns();
    seed.mask = mix(given.mask ^ fresh[0], &no_seed);
    seed.factor = mix(given.factor ^ fresh[1] ^ seed.mask, &no_seed) | 1;
}

uint64_t hash_u64(uint64_t x)
{
    return mix(x, &seed);
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
    return mix_bytes(bytes, len, &seed);
}

uint64_t hash_bytes_unseeded(const void *bytes, size_t len)
{
    return mix_bytes(bytes, len, &no_seed);
}

/* The slot that holds KEY, or the slot to put it into. */
static struct map_slot *map_slot_of(const struct map *m, uint64_t key)
{
    struct map_slot *deleted = NULL;
    for (size_t i = hash_u64(key);; i++) {
        struct map_slot *slot = &m->slots[i & (m->capacity - 1)];
        if (slot->state == SLOT_LIVE && slot->key == key)
            return slot;
        if (slot->state == SLOT_DELETED && !deleted)
            deleted = slot;
        if (slot->state == SLOT_FREE)
            return deleted ? deleted : slot;
    }
}

static void map_grow(struct map *m)
{
    struct map old = *m;
    m->capacity = old.n * 4 < old.capacity ? old.capacity : old.capacity * 2;
    if (!m->capacity)
        m->capacity = 16;
    m->slots = xcalloc(m->capacity, sizeof *m->slots);
    m->n = m->used = 0;
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i].state == SLOT_LIVE)
            map_put(m, old.slots[i].key, old.slots[i].value);
    free(old.slots);
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret)
{
    if (!m->n)
        return false;
    const struct map_slot *slot = map_slot_of(m, key);
    if (slot->state != SLOT_LIVE)
        return false;
    *ret = slot->value;
    return true;
}

void map_put(struct map *m, uint64_t key, uint64_t value)
{
    if ((m->used + 1) * 4 > m->capacity * 3)
        map_grow(m);
    struct map_slot *slot = map_slot_of(m, key);
    if (slot->state == SLOT_FREE)
        m->used++;
    if (slot->state != SLOT_LIVE)
        m->n++;
    *slot = (struct map_slot){key, value, SLOT_LIVE};
}

void map_remove(struct map *m, uint64_t key)
{
    if (!m->n)
        return;
    struct map_slot *slot = map_slot_of(m, key);
    if (slot->state != SLOT_LIVE)
        return;
    slot->state = SLOT_DELETED;
    m->n--;
}

void map_clear(struct map *m)
{
    if (m->used)
        memset(m->slots, 0, m->capacity * sizeof *m->slots);
    m->n = m->used = 0;
}

void map_release(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

uint32_t index_find(const struct index *ix, uint64_t hash, const void *items, size_t item_bytes,
                    index_same same, const void *wanted)
{
    if (!ix->n)
        return INDEX_NONE;
    for (size_t i = hash;; i++) {
        size_t at = i & (ix->capacity - 1);
        if (!ix->slots[at])
            return INDEX_NONE;
        uint32_t item = ix->slots[at] - 1;
        if (ix->hashes[at] == (uint32_t)hash &&
            same((const char *)items + item * item_bytes, wanted))
            return item;
    }
}

/* Only the low 32 bits of a hash are kept: enough to place an item in fewer than 2^32 slots. */
static void index_place(struct index *ix, uint32_t hash, uint32_t item)
{
    size_t i = hash;
    while (ix->slots[i & (ix->capacity - 1)])
        i++;
    ix->slots[i & (ix->capacity - 1)] = item + 1;
    ix->hashes[i & (ix->capacity - 1)] = hash;
}

static void index_grow(struct index *ix)
{
    struct index old = *ix;
    ix->capacity = old.capacity ? old.capacity * 2 : 64;
    ix->slots = xcalloc(ix->capacity, sizeof *ix->slots);
    ix->hashes = xcalloc(ix->capacity, sizeof *ix->hashes);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.slots[i])
            index_place(ix, old.hashes[i], old.slots[i] - 1);
    free(old.slots);
    free(old.hashes);
}

static bool index_must_grow(const struct index *ix)
{
    return (ix->n + 1) * 4 > ix->capacity * 3;
}

size_t index_bytes(const struct index *ix)
{
    size_t capacity = index_must_grow(ix) ? ix->capacity * 2 : ix->capacity;
    return capacity * (sizeof *ix->slots + sizeof *ix->hashes);
}

void index_add(struct index *ix, uint64_t hash, uint32_t item)
{
    if (index_must_grow(ix))
        index_grow(ix);
    index_place(ix, (uint32_t)hash, item);
    ix->n++;
}

void index_clear(struct index *ix)
{
    if (ix->capacity)
        memset(ix->slots, 0, ix->capacity * sizeof *ix->slots);
    ix->n = 0;
}

void index_release(struct index *ix)
{
    free(ix->slots);
    free(ix->hashes);
    *ix = (struct index){0};
}
