/* Hashing: a map from 64-bit keys to 64-bit values, and an index for interning things that live in
 * an array of the caller's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys are the target's: with a random seed, drawn at the program's start, nobody who cannot read
 * wallspy's memory can choose keys that collide.  So a hash is another one in each run. */
uint64_t hash_u64(uint64_t x);
uint64_t hash_bytes(const void *bytes, size_t len);
/* The same in each run, for what is shown; not for maps. */
uint64_t hash_bytes_unseeded(const void *bytes, size_t len);

/* u64 → u64, open addressing.  Zero-initialise; any key and value may be stored. */
struct map {
    struct map_slot *slots;
    size_t capacity, n, used; /* used: live and deleted slots */
};
bool map_get(const struct map *m, uint64_t key, uint64_t *ret); /* false: none */
void map_put(struct map *m, uint64_t key, uint64_t value);      /* replaces */
void map_remove(struct map *m, uint64_t key);                   /* absent is fine */
void map_clear(struct map *m);                                  /* keeps the storage */
void map_release(struct map *m);

/* Finds items of the caller's array by content.  Zero-initialise. */
struct index {
    uint32_t *slots; /* item + 1; 0 free */
    uint32_t *hashes;
    size_t capacity, n;
};
typedef bool (*index_same)(const void *item, const void *wanted);
enum { INDEX_NONE = UINT32_MAX };
/* Returns which of ITEMS, of ITEM_BYTES each, has HASH and is the SAME as WANTED, or INDEX_NONE. */
uint32_t index_find(const struct index *ix, uint64_t hash, const void *items, size_t item_bytes,
                    index_same same, const void *wanted);
void index_add(struct index *ix, uint64_t hash, uint32_t item);
size_t index_bytes(const struct index *ix); /* its size once another item is in it */
void index_clear(struct index *ix);         /* keeps the storage */
void index_release(struct index *ix);
