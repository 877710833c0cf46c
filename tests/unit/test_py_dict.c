#include "pyframes/py_dict.h"

#include <errno.h>
#include <string.h>

#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

/* A target's memory: a dict, its keys, its values, and strs at STRS + i * STR_BYTES. */
enum {
    BASE = 0x100000,
    DICT = BASE,
    KEYS = BASE + 0x100,
    VALUES = BASE + 0x400,
    STRS = BASE + 0x600,
    STR_BYTES = 0x80,
    OBJECT = BASE + 0x300,
    TYPE = BASE + 0x800,
    ARENA_BYTES = 0x1000,
};

static uint8_t bytes[ARENA_BYTES];
static struct bytes_mem arena;
static const struct py_layout *layout;

static void put(uint64_t addr, uint64_t value)
{
    memcpy(bytes + (addr - BASE), &value, sizeof value);
}

static uint64_t put_str(size_t i, const char *text)
{
    uint64_t addr = STRS + i * STR_BYTES;
    put(addr + layout->unicode.length, strlen(text));
    put(addr + layout->unicode.state,
        0x19 << layout->unicode.kind_shift); /* compact, ascii, 1 byte */
    memcpy(bytes + (addr - BASE) + layout->unicode.ascii_bytes, text, strlen(text));
    return addr;
}

/* Keys "a", "bc", "a longer one"; values 1 to 3, the second deleted, in VALUES if SHARED. */
static void fill(uint32_t minor, bool shared)
{
    static const char *const names[] = {"a", "bc", "a longer one"};
    enum { SLOTS = 8 };
    memset(bytes, 0, sizeof bytes);
    arena = bytes_mem_of(BASE, bytes, sizeof bytes);
    layout = py_layout_of(minor);
    bool old = minor <= 10;
    uint64_t entry = KEYS + (old ? 40 : 32) + SLOTS;
    size_t entry_bytes = old ? 24 : 16;
    put(DICT + 32, KEYS);
    put(DICT + 40, shared ? VALUES : 0);
    put(KEYS + 8, old ? SLOTS : 0x10303); /* 3.11+: log2 of slots and of bytes, kind unicode */
    put(KEYS + (old ? 32 : 24), 3);
    for (size_t i = 0; i < 3; i++, entry += entry_bytes) {
        uint64_t value = i == 1 ? 0 : i + 1;
        put(entry + entry_bytes - 16, put_str(i, names[i]));
        put(shared ? VALUES + i * 8 : entry + entry_bytes - 8, value);
    }
}

static uint64_t find(const char *name)
{
    struct py_dict d;
    if (py_dict_read(layout, &arena.mem, DICT, &d) < 0)
        return UINT64_MAX;
    uint64_t ret = py_dict_find(layout, &arena.mem, &d, name);
    py_dict_release(&d);
    return ret;
}

static void expect(const char *name, uint64_t value)
{
    ck_assert_uint_eq(find(name), value);
}

START_TEST(entries_are_found)
{
    for (uint32_t minor = 6; minor <= 12; minor++)
        for (int shared = 0; shared <= 1; shared++) {
            fill(minor, shared);
            expect("a", 1);
            expect("bc", 0);
            expect("a longer one", 3);
            expect("a longer", 0);
        }
}
END_TEST

START_TEST(garbage_is_survived)
{
    static const uint64_t garbage[] = {
        0, 1, KEYS, BASE + ARENA_BYTES - 8, UINT64_C(1) << 47, UINT64_MAX};
    for (uint32_t minor = 6; minor <= 12; minor++)
        for (uint64_t at = BASE; at < BASE + ARENA_BYTES; at += 8)
            for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
                struct py_dict d;
                fill(minor, i & 1);
                put(at, garbage[i]);
                (void)find("a longer one");
                if (py_attributes_read(layout, &arena.mem, DICT, &d) == 0)
                    py_dict_release(&d);
            }
}
END_TEST

/* 3.12: a word before the object leads to its values.  3.13+: they are behind it. */
START_TEST(attributes_without_a_dict_are_found)
{
    enum { TYPE_FIELDS = 8, BASICSIZE = 16, FLAGS = 152, BEFORE = 24, HEAD_BYTES = 8 };
    enum { MANAGED_DICT = 1 << 4 };
    for (uint32_t minor = 12; minor <= 15; minor++) {
        struct py_layout newer = *py_layout_of(12);
        uint64_t type = TYPE + newer.object.type + TYPE_FIELDS;
        struct py_dict d;
        fill(12, true);
        newer.traits = *py_traits_of(minor);
        put(OBJECT + newer.object.type, TYPE);
        put(type + BASICSIZE, VALUES - HEAD_BYTES - OBJECT);
        put(type + FLAGS, MANAGED_DICT);
        put(TYPE + newer.type.cached_keys, KEYS);
        put(OBJECT - BEFORE, minor == 12 ? VALUES - 1 : 0);
        ck_assert_int_eq(py_attributes_read(&newer, &arena.mem, OBJECT, &d), 0);
        ck_assert_uint_eq(py_dict_find(&newer, &arena.mem, &d, "a longer one"), 3);
        py_dict_release(&d);
        put(OBJECT - BEFORE, DICT);
        ck_assert_int_eq(py_attributes_read(&newer, &arena.mem, OBJECT, &d), 0);
        py_dict_release(&d);
    }
}
END_TEST

CHECK_MAIN("py_dict", 20, entries_are_found, garbage_is_survived,
           attributes_without_a_dict_are_found)
