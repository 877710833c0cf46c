#include "pyframes/py_layout.h"

#include <errno.h>
#include <string.h>

#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"

enum { BYTES_313 = 584 };

static void put(uint8_t *block, size_t position, uint64_t value)
{
    memcpy(block + position, &value, sizeof value);
}

/* Values as in CPython 3.13.0; positions by its headers. */
static void fill_313(uint8_t block[BYTES_313])
{
    memset(block, 0, BYTES_313);
    memcpy(block, PY_DEBUG_COOKIE, 8);
    put(block, 40, 632);
    put(block, 112, 8);
    put(block, 120, 1000);
    put(block, 136, 1016);
    put(block, 144, 1008);
    put(block, 184, 72);
    put(block, 232, 8);
    put(block, 248, 56);
    put(block, 264, 70);
    put(block, 312, 68);
    put(block, 560, 40);
}

START_TEST(tables_cover_every_version)
{
    for (uint32_t minor = PY_OLDEST_MINOR; minor <= 12; minor++) {
        const struct py_layout *l = py_layout_of(minor);
        ck_assert_ptr_nonnull(l);
        ck_assert_uint_eq(l->minor, minor);
        ck_assert_uint_le(l->frame.bytes, PY_FRAME_MAX_BYTES);
    }
    ck_assert_ptr_null(py_layout_of(5));
    ck_assert_ptr_null(py_layout_of(13));
    uint32_t after = PY_OLDEST_MINOR;
    while (py_traits_of(after))
        after++;
    ck_assert_uint_ge(after, 16);
    ck_assert_ptr_null(py_traits_of(PY_OLDEST_MINOR - 1));
}
END_TEST

START_TEST(debug_offsets_are_decoded)
{
    uint8_t block[BYTES_313];
    struct py_layout l;
    fill_313(block);
    ck_assert_int_eq(py_layout_decode(13, block, sizeof block, &l, NULL), 0);
    ck_assert_uint_eq(l.runtime.interpreters, 632);
    ck_assert_uint_eq(l.runtime.main_interpreter, 640);
    ck_assert_uint_eq(l.runtime.gil, PY_ABSENT);
    ck_assert_uint_eq(l.thread.frame, 72);
    ck_assert_uint_eq(l.thread.base_frame, PY_ABSENT);
    ck_assert_uint_eq(l.frame.bytes, 71);
    ck_assert_uint_eq(l.code.first_line, 68);
    ck_assert_uint_eq(l.code.version, 92);
    ck_assert_uint_eq(l.code.names, PY_ABSENT);
    ck_assert_uint_eq(l.gil.last_holder, 8);
    ck_assert_uint_eq(l.gil.locked, 16);
    ck_assert_uint_eq(l.unicode.compact_bytes, 56);
    ck_assert_uint_eq(l.traits.executable_tags, 0);
    ck_assert(!l.free_threaded);
    ck_assert_uint_eq(l.type.cached_keys, 872);
}
END_TEST

/* A layout comes from a row or from a block; an unknown Python is refused. */
START_TEST(a_layout_is_loaded_from_row_or_block)
{
    enum { ADDR = 0x1000 };
    uint8_t block[PY_DEBUG_OFFSETS_MAX_BYTES] = {0};
    struct bytes_mem mem = bytes_mem_of(ADDR, block, sizeof block);
    struct py_layout l;
    struct err err = {0};
    fill_313(block);
    ck_assert_int_eq(py_layout_load(13, &mem.mem, ADDR, &l, &err), 0);
    ck_assert_uint_eq(l.thread.frame, 72);
    ck_assert_int_eq(py_layout_load(13, &mem.mem, ADDR + 8, &l, &err), -EAGAIN);
    ck_assert_int_eq(py_layout_load(12, &mem.mem, 0, &l, &err), 0);
    ck_assert_mem_eq(&l, py_layout_of(12), sizeof l);
    block[0] = 'y';
    ck_assert_int_eq(py_layout_load(13, &mem.mem, ADDR, &l, &err), -ENOTSUP);
    ck_assert_int_eq(py_layout_load(5, &mem.mem, 0, &l, &err), -ENOTSUP);
    ck_assert_str_eq(err.text, "CPython 3.5 is too old for this version");
}
END_TEST

START_TEST(bad_debug_offsets_are_refused)
{
    uint8_t block[BYTES_313];
    struct py_layout l;
    struct err err = {0};
    fill_313(block);
    ck_assert_int_eq(py_layout_decode(99, block, sizeof block, &l, &err), -ENOTSUP);
    ck_assert_str_eq(err.text, "CPython 3.99 is unknown to this version");
    ck_assert_int_eq(py_layout_decode(13, block, sizeof block - 1, &l, NULL), -EPROTO);
    block[0] = 'y';
    ck_assert_int_eq(py_layout_decode(13, block, sizeof block, &l, NULL), -EPROTO);
}
END_TEST

START_TEST(every_field_is_bounded)
{
    uint8_t block[BYTES_313];
    struct py_layout l;
    /* Whatever a field says, a frame must not become larger than the buffer for it. */
    for (size_t position = 16; position + 8 <= BYTES_313; position += 8) {
        fill_313(block);
        put(block, position, UINT64_MAX - 1);
        if (py_layout_decode(13, block, sizeof block, &l, NULL) == 0)
            ck_assert_uint_le(l.frame.bytes, PY_FRAME_MAX_BYTES);
    }
    fill_313(block);
    put(block, 264, 250); /* frame.owner */
    ck_assert_int_eq(py_layout_decode(13, block, sizeof block, &l, NULL), -EPROTO);
}
END_TEST

START_TEST(free_threaded_builds_differ)
{
    uint8_t block[BYTES_313];
    struct py_layout l;
    fill_313(block);
    put(block, 16, 1);
    put(block, 128, 0);
    put(block, 136, 1024);
    put(block, 144, 1016);
    ck_assert_int_eq(py_layout_decode(13, block, sizeof block, &l, NULL), 0);
    ck_assert(l.free_threaded);
    ck_assert_uint_eq(l.gil.enabled, 0);
    ck_assert_uint_eq(l.gil.bytes, 216);
    ck_assert_uint_eq(l.unicode.kind_shift, 2);
    ck_assert_uint_eq(l.frame.copy, PY_ABSENT);
}
END_TEST

START_TEST(threads_have_bytecode_of_their_own_from_3_14_on)
{
    enum { BYTES = 760, TLBC_INDEX = 304, CO_TLBC = 392 };
    uint8_t block[BYTES] = PY_DEBUG_COOKIE;
    struct py_layout l;
    put(block, CO_TLBC, 176);
    put(block, TLBC_INDEX, 72);
    ck_assert_int_eq(py_layout_decode(14, block, sizeof block, &l, NULL), 0);
    ck_assert_uint_eq(l.frame.copy, PY_ABSENT); /* free_threaded is 0 */
    put(block, 16, 1);
    ck_assert_int_eq(py_layout_decode(14, block, sizeof block, &l, NULL), 0);
    ck_assert_uint_eq(l.frame.copy, 72);
    ck_assert_uint_eq(l.frame.bytes, 76);
    ck_assert_uint_eq(l.code.copies, 176);
}
END_TEST

START_TEST(trace_refs_moves_objects_only)
{
    struct py_layout old = *py_layout_of(7), new = *py_layout_of(12);
    py_layout_shift_objects(&old, 16);
    py_layout_shift_objects(&new, 16);
    ck_assert_uint_eq(old.frame.previous, 40);
    ck_assert_uint_eq(old.frame.bytes, 124);
    ck_assert_uint_eq(old.thread.frame, 24);
    ck_assert_uint_eq(old.frame.instr, PY_ABSENT);
    ck_assert_uint_eq(new.frame.previous, 8);
    ck_assert_uint_eq(new.code.qualname, 144);
    ck_assert_uint_eq(new.code.version, 108);
    ck_assert_uint_eq(new.code.names, PY_ABSENT);
    ck_assert_uint_eq(new.unicode.ascii_bytes, 56);
}
END_TEST

CHECK_MAIN("py_layout", 20, tables_cover_every_version, debug_offsets_are_decoded,
           a_layout_is_loaded_from_row_or_block, bad_debug_offsets_are_refused,
           every_field_is_bounded, free_threaded_builds_differ,
           threads_have_bytecode_of_their_own_from_3_14_on, trace_refs_moves_objects_only)
