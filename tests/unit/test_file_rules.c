/* Rules of a file serve all who map it, and are right wherever it is mapped. */
#include "unwinder/file_rules.h"

#include <dwarf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/elf_store.h"
#include "tests/support/check_main.h"
#include "tests/support/elf_maker.h"
#include "unwinder/rule_cache.h"

enum { PLACES = 2, ADDRESS = 0x40 };

/* An FDE for ELF_MAKER_CODE.  It has no instructions: the CIE's apply. */
#define FDE       20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
#define CIE_START 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16
/* CFA = rsp + 8. */
static const uint8_t usual[] = {12, 0, 0, 0, CIE_START, DW_CFA_def_cfa, 7, 8, FDE};
/* CFA = the address ADDRESS of the file. */
static const uint8_t with_address[] = {
    20,  0, 0, 0, CIE_START, DW_CFA_def_cfa_expression, 9, DW_OP_addr, ADDRESS, 0, 0,
    0,   0, 0, 0, 0, /* the CIE's end */
    FDE,
};

static char path[] = "/tmp/wallspy-rules-XXXXXX";
static struct elf_store *store;
static struct mem *mem;
static struct modules *modules[PLACES];
static struct rule_cache *caches[PLACES];
static uint64_t places[PLACES]; /* where the file is mapped */

static void set_up(void)
{
    store = elf_store_new();
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
}

static void tear_down(void)
{
    for (int i = 0; i < PLACES; i++) {
        rule_cache_free(caches[i]);
        modules_free(modules[i]);
    }
    elf_store_free(store);
    mem_free(mem);
    (void)unlink(path);
}

/* The file has CFI, and is mapped in two places: as if by two processes. */
static void map_file(const void *cfi, size_t len)
{
    struct elf_maker maker = {0};
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    elf_maker_add(&maker, ".debug_frame", 0, cfi, len);
    elf_maker_write(&maker, fd);
    for (int i = 0; i < PLACES; i++) {
        void *at = mmap(NULL, ELF_MAKER_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        ck_assert_ptr_ne(at, MAP_FAILED);
        places[i] = (uint64_t)(uintptr_t)at;
    }
    close(fd);
    for (int i = 0; i < PLACES; i++) {
        modules[i] = modules_new(getpid(), mem);
        modules_share(modules[i], store);
        ck_assert_int_eq(modules_refresh(modules[i]), 0);
        caches[i] = rule_cache_new(modules[i]);
    }
}

/* The rule of the code in the file, by cache I, where the file is mapped at PLACE. */
static const struct cached_rule *find(int i, uint64_t place)
{
    bool hit;
    const struct cached_rule *rule = rule_cache_find(caches[i], place + ELF_MAKER_CODE + 4, &hit);
    ck_assert(!hit);
    ck_assert(rule->found);
    ck_assert_uint_eq(rule->function, place + ELF_MAKER_CODE);
    return rule;
}

START_TEST(a_rule_is_built_once)
{
    map_file(usual, sizeof usual);
    const struct cached_rule *first = find(0, places[0]);
    ck_assert(!first->is_shared);
    for (int i = 0; i < PLACES; i++) {
        const struct cached_rule *second = find(1, places[i]);
        ck_assert(second->is_shared);
        ck_assert_ptr_eq(second->rule, first->rule);
    }
    ck_assert_uint_eq(elf_store_counters(store)->files, 1);
}
END_TEST

START_TEST(a_rule_lives_as_long_as_it_is_used)
{
    map_file(usual, sizeof usual);
    (void)find(0, places[0]);
    const struct cached_rule *second = find(1, places[0]);
    caches[0] = rule_cache_free(caches[0]);
    ck_assert_int_eq(second->rule->cfa.offset, 8);
    caches[1] = rule_cache_free(caches[1]);
    caches[0] = rule_cache_new(modules[0]);
    ck_assert(!find(0, places[0])->is_shared);
}
END_TEST

static uint64_t cfa_of(const struct cached_rule *rule)
{
    static const struct snapshot nothing;
    struct regs regs = {0};
    struct stack_view view;
    uint64_t cfa;
    stack_view_init(&view, &nothing);
    ck_assert_int_eq(rule_cfa(rule->rule, &regs, &view, &cfa), 0);
    return cfa;
}

START_TEST(addresses_in_a_rule_are_those_of_the_place)
{
    map_file(with_address, sizeof with_address);
    const struct cached_rule *first = find(0, places[0]);
    const struct cached_rule *second = find(1, places[1]);
    ck_assert_uint_ne(places[0], places[1]);
    ck_assert_uint_eq(cfa_of(first), places[0] + ADDRESS);
    ck_assert_uint_eq(cfa_of(second), places[1] + ADDRESS);
}
END_TEST

CHECK_MAIN_WITH("file_rules", 20, set_up, tear_down, a_rule_is_built_once,
                a_rule_lives_as_long_as_it_is_used, addresses_in_a_rule_are_those_of_the_place)
