#include "target/elf_dynamic.h"

#include <errno.h>
#include <string.h>

#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

/* Symbols 1 to 3, "a", "b" and "c", in one bucket; as ELF addresses from BASE on. */
enum {
    BASE = 0x1000,
    HASH = BASE,
    SYMBOLS = BASE + 0x100,
    STRINGS = BASE + 0x200,
    BYTES = 0x210,
    NAMED = 3,
    FIRST_VALUE = 0x5000,
};

static uint8_t bytes[BYTES];
static struct bytes_mem image;
static size_t reads;

static int read_image(void *ctx, uint64_t addr, void *buf, size_t len)
{
    reads++;
    return mem_read(&((struct bytes_mem *)ctx)->mem, addr, buf, len);
}

static void put_u32(uint64_t addr, uint32_t value)
{
    memcpy(bytes + (addr - BASE), &value, sizeof value);
}

static void put_words(const uint32_t *words, size_t n)
{
    memset(bytes, 0, sizeof bytes);
    image = bytes_mem_of(BASE, bytes, sizeof bytes);
    for (size_t i = 0; i < n; i++)
        put_u32(HASH + i * sizeof *words, words[i]);
    for (uint32_t i = 1; i <= NAMED; i++) {
        Elf64_Sym symbol = {.st_name = 2 * i, .st_shndx = 1, .st_value = FIRST_VALUE + i};
        memcpy(bytes + (SYMBOLS - BASE) + i * sizeof symbol, &symbol, sizeof symbol);
        bytes[STRINGS - BASE + 2 * i] = (uint8_t)('a' + i - 1);
    }
}

static int find(bool gnu, const char *name)
{
    struct elf_dynamic d = {.symbols = SYMBOLS, .strings = STRINGS, .strings_bytes = BYTES};
    struct addr_range range;
    *(gnu ? &d.gnu_hash : &d.hash) = HASH;
    int r = elf_dynamic_symbol(&d, read_image, &image, name, &range);
    return r < 0 ? r : (int)range.start - FIRST_VALUE;
}

static uint32_t count(bool gnu)
{
    struct elf_dynamic d = {.symbols = SYMBOLS, .strings = STRINGS, .strings_bytes = BYTES};
    *(gnu ? &d.gnu_hash : &d.hash) = HASH;
    return elf_dynamic_count(&d, read_image, &image);
}

/* The hash of a name of one letter is 5381 * 33 + the letter; its last bit ends the chain. */
static uint32_t gnu(char letter, bool last)
{
    return ((5381 * 33 + (uint32_t)letter) & ~1U) | last;
}

enum { BUCKET = HASH + 24, CHAIN = BUCKET + 4 };

static void begin_gnu(void)
{
    const uint32_t words[] = {
        1, 1, 1, 0, 0, 0, 1, gnu('a', false), gnu('b', false), gnu('c', true)};
    put_words(words, sizeof words / sizeof *words);
    ck_assert_int_eq(find(true, "a"), 1);
    ck_assert_int_eq(find(true, "c"), 3);
    ck_assert_uint_eq(count(true), 1 + NAMED);
}

START_TEST(broken_gnu_tables_end)
{
    begin_gnu();
    ck_assert_int_eq(find(true, "d"), -ENOENT);
    put_u32(BUCKET, 0); /* before the first symbol of the table */
    ck_assert_int_eq(find(true, "a"), -ENOENT);
    ck_assert_uint_eq(count(true), 0);
    begin_gnu();
    put_u32(HASH + 4, 2); /* its chain begins behind the bucket's first symbol */
    ck_assert_int_eq(find(true, "a"), -ENOENT);
    ck_assert_uint_eq(count(true), 0);
    begin_gnu();
    put_u32(HASH, 0); /* no buckets */
    ck_assert_int_eq(find(true, "a"), -ENOENT);
    ck_assert_uint_eq(count(true), 0);
    begin_gnu();
    image.len = CHAIN + 4 - BASE;
    ck_assert_int_eq(find(true, "b"), -ENOENT);
    ck_assert_uint_eq(count(true), 2); /* as far as the chain can be read */
    image.len = 8;
    ck_assert_int_eq(find(true, "a"), -ENOENT);
    ck_assert_uint_eq(count(true), 0);
}
END_TEST

/* Names of one bucket, none of which ends it. */
START_TEST(a_gnu_chain_without_end_ends)
{
    enum { MAX_CHAIN = 1 << 16, LONG = 5 * MAX_CHAIN };
    static uint8_t chain[LONG];
    begin_gnu();
    memcpy(chain, bytes, CHAIN - BASE);
    image = bytes_mem_of(BASE, chain, sizeof chain);
    reads = 0;
    ck_assert_int_eq(find(true, "a"), -ENOENT);
    ck_assert_uint_ge(reads, MAX_CHAIN);
    ck_assert_uint_le(reads, MAX_CHAIN + 2);
}
END_TEST

static void begin_sysv(void)
{
    const uint32_t words[] = {1, 1 + NAMED, 1, 0, 2, 3, 0};
    put_words(words, sizeof words / sizeof *words);
    ck_assert_int_eq(find(false, "a"), 1);
    ck_assert_int_eq(find(false, "c"), 3);
    ck_assert_uint_eq(count(false), 1 + NAMED);
}

START_TEST(broken_sysv_tables_end)
{
    enum { LINK_OF_3 = HASH + 24 };
    begin_sysv();
    ck_assert_int_eq(find(false, "d"), -ENOENT);
    put_u32(LINK_OF_3, 1); /* round and round */
    ck_assert_int_eq(find(false, "d"), -ENOENT);
    put_u32(LINK_OF_3, UINT32_MAX);
    ck_assert_int_eq(find(false, "d"), -ENOENT);
    begin_sysv();
    put_u32(HASH, 0);
    ck_assert_int_eq(find(false, "a"), -ENOENT);
    begin_sysv();
    image.len = 8;
    ck_assert_int_eq(find(false, "a"), -ENOENT);
    image.len = 4;
    ck_assert_int_eq(find(false, "a"), -ENOENT);
    ck_assert_uint_eq(count(false), 0);
    begin_sysv();
    put_u32(HASH + 4, UINT32_MAX);
    ck_assert_uint_eq(count(false), ELF_MAX_DYNAMIC_SYMBOLS);
}
END_TEST

START_TEST(names_are_bounded)
{
    char name[600];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    begin_sysv();
    ck_assert_int_eq(find(false, name), -ENOENT);
}
END_TEST

CHECK_MAIN("elf_dynamic", 20, broken_gnu_tables_end, a_gnu_chain_without_end_ends,
           broken_sysv_tables_end, names_are_bounded)
