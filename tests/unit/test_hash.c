#include "base/hash.h"

#include <string.h>

#include "tests/support/check_main.h"

START_TEST(map_keeps_and_replaces)
{
    struct map m = {0};
    uint64_t value = 7;
    ck_assert(!map_get(&m, 1, &value));
    for (uint64_t k = 0; k < 10000; k++)
        map_put(&m, k, k * 3);
    map_put(&m, 5, 99);
    ck_assert_uint_eq(m.n, 10000);
    ck_assert(map_get(&m, 5, &value) && value == 99);
    ck_assert(map_get(&m, 9999, &value) && value == 29997);
    map_release(&m);
}
END_TEST

START_TEST(map_removes_and_does_not_grow_for_ever)
{
    struct map m = {0};
    uint64_t value = 0;
    for (uint64_t k = 0; k < 100000; k++) {
        map_put(&m, k, k);
        if (k >= 10)
            map_remove(&m, k - 10);
    }
    ck_assert_uint_eq(m.n, 10);
    ck_assert_uint_le(m.capacity, 64);
    ck_assert(!map_get(&m, 0, &value));
    ck_assert(map_get(&m, 99999, &value));
    map_release(&m);
}
END_TEST

static bool same_number(const void *item, const void *wanted)
{
    return *(const uint64_t *)item == *(const uint64_t *)wanted;
}

START_TEST(index_finds_what_was_added)
{
    struct index ix = {0};
    uint64_t numbers[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        numbers[i] = i * UINT64_C(7);
        index_add(&ix, hash_u64(numbers[i]), i);
    }
    for (uint64_t wanted = 0; wanted < 7000; wanted++) {
        uint32_t item =
            index_find(&ix, hash_u64(wanted), numbers, sizeof *numbers, same_number, &wanted);
        ck_assert_uint_eq(item, wanted % 7 ? INDEX_NONE : wanted / 7);
    }
    index_release(&ix);
}
END_TEST

struct item {
    uint32_t number;
    char c;
};

static bool same_item(const void *item, const void *wanted)
{
    const struct item *a = item;
    const struct item *b = wanted;
    return a->number == b->number && a->c == b->c;
}

/* All items of a number have one hash, so that only SAME tells them apart. */
START_TEST(index_finds_items_of_an_array)
{
    struct index ix = {0};
    struct item items[256] = {0};
    for (uint32_t i = 0; i < 256; i++) {
        items[i] = (struct item){i / 4, (char)('a' + i % 4)};
        index_add(&ix, hash_u64(i / 4), i);
    }
    for (uint32_t i = 0; i < 70 * 5; i++) {
        struct item wanted = {i / 5, (char)('a' + i % 5)};
        uint32_t found =
            index_find(&ix, hash_u64(wanted.number), items, sizeof *items, same_item, &wanted);
        bool is_there = wanted.number < 64 && wanted.c < 'e';
        ck_assert_uint_eq(found, is_there ? i / 5 * 4 + i % 5 : INDEX_NONE);
    }
    index_release(&ix);
    ck_assert_uint_eq(index_find(&ix, 1, items, sizeof *items, same_item, items), INDEX_NONE);
}
END_TEST

/* ---- keys that a hostile target chooses ---- */

enum { KEYS = 1 << 14, SLOTS = 2 * KEYS, MOST_PROBES = 256, SHIFTS = 64 };

/* FACTOR's inverse modulo 2^64 (Newton): each step doubles the bits that are right. */
static uint64_t inverse(uint64_t factor)
{
    uint64_t x = factor;
    for (int i = 0; i < 5; i++)
        x *= 2 - factor * x;
    return x;
}

static uint64_t undo_shift(uint64_t y, int shift)
{
    uint64_t x = y;
    for (int done = shift; done < SHIFTS; done += shift)
        x = y ^ x >> shift;
    return x;
}

/* The key that hash_u64() without a seed makes H of. */
static uint64_t key_of(uint64_t h)
{
    h = undo_shift(h, 31) * inverse(0x94d049bb133111ebU);
    h = undo_shift(h, 27) * inverse(0xbf58476d1ce4e5b9U);
    return undo_shift(h, 30);
}

/* The longest way to a slot where these HASHES are put in turn into a table of SLOTS. */
static size_t longest_way(const uint64_t *hashes)
{
    static bool taken[SLOTS];
    size_t longest = 0;
    memset(taken, 0, sizeof taken);
    for (size_t i = 0; i < KEYS; i++) {
        size_t probes = 1;
        for (uint64_t at = hashes[i]; taken[at % SLOTS] && probes <= MOST_PROBES; at++)
            probes++;
        for (uint64_t at = hashes[i] + probes - 1; !taken[at % SLOTS];)
            taken[at % SLOTS] = true;
        longest = probes > longest ? probes : longest;
    }
    return longest;
}

START_TEST(keys_that_collide_without_a_seed_do_not)
{
    static uint64_t hashes[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        hashes[i] = hash_u64(key_of(i << 32));
    ck_assert_uint_le(longest_way(hashes), MOST_PROBES);
}
END_TEST

/* What hash_bytes() begins with is known: 0x9e37… ^ the length. */
START_TEST(texts_that_collide_without_a_seed_do_not)
{
    static uint64_t hashes[KEYS];
    static uint64_t unseeded[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t word = key_of(key_of(i << 32)) ^ (0x9e3779b97f4a7c15U ^ sizeof word);
        hashes[i] = hash_bytes(&word, sizeof word);
        unseeded[i] = hash_bytes_unseeded(&word, sizeof word);
    }
    ck_assert_uint_gt(longest_way(unseeded), MOST_PROBES);
    ck_assert_uint_le(longest_way(hashes), MOST_PROBES);
}
END_TEST

CHECK_MAIN("hash", 20, map_keeps_and_replaces, map_removes_and_does_not_grow_for_ever,
           index_finds_what_was_added, index_finds_items_of_an_array,
           keys_that_collide_without_a_seed_do_not, texts_that_collide_without_a_seed_do_not)
