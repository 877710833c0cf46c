/* The cache keeps what it should, and stays small whatever addresses it is asked for. */
#include "unwinder/rule_cache.h"

#include <unistd.h>

#include "tests/support/check_main.h"

enum { NOWHERE = 0x1000, ADDRESSES = 10000 };

static struct mem *mem;
static struct modules *modules;
static struct rule_cache *cache;

static void set_up(void)
{
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    modules = modules_new(getpid(), mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    cache = rule_cache_new(modules);
}

static void tear_down(void)
{
    rule_cache_free(cache);
    modules_free(modules);
    mem_free(mem);
}

static bool is_known(uint64_t addr)
{
    bool hit;
    (void)rule_cache_find(cache, addr, &hit);
    return hit;
}

START_TEST(return_addresses_that_were_none_are_dropped)
{
    const uint64_t code = (uint64_t)(uintptr_t)set_up;
    ck_assert(!is_known(code));
    const size_t before = rule_cache_bytes(cache);
    for (uint64_t i = 0; i < ADDRESSES; i++)
        ck_assert(!is_known(NOWHERE + i));
    ck_assert_uint_gt(rule_cache_bytes(cache), before * ADDRESSES / 4);
    rule_cache_maps_same(cache);
    ck_assert_uint_eq(rule_cache_bytes(cache), before);
    ck_assert(is_known(code));
    ck_assert(!is_known(NOWHERE));
}
END_TEST

START_TEST(ever_new_addresses_do_not_pile_up)
{
    const uint64_t code = (uint64_t)(uintptr_t)set_up;
    ck_assert(!is_known(code));
    rule_cache_trim(cache);
    ck_assert(is_known(code));
    for (uint64_t i = 0; rule_cache_bytes(cache) <= RULE_CACHE_MAX_BYTES; i++)
        ck_assert(!is_known(NOWHERE + i));
    rule_cache_trim(cache);
    ck_assert_uint_eq(rule_cache_bytes(cache), 0);
    ck_assert(!is_known(code));
}
END_TEST

CHECK_MAIN_WITH("rule_cache", 30, set_up, tear_down, return_addresses_that_were_none_are_dropped,
                ever_new_addresses_do_not_pile_up)
