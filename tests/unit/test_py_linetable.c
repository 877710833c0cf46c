#include "pyframes/py_linetable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"

struct case_ {
    const char *what, *table;
    size_t len;
    enum py_linetable_kind kind;
    int32_t offset, r, line;
};
enum { FIRST = 10 };
#define TABLE(bytes) bytes, sizeof(bytes) - 1

static const struct case_ cases[] = {
    {"empty", TABLE(""), PY_LNOTAB, 0, 0, 10},
    {"not started", TABLE("\0\5"), PY_LNOTAB, -1, 0, 10},
    {"a pair at 0 counts", TABLE("\0\1\6\1"), PY_LNOTAB, 0, 0, 11},
    {"before the second pair", TABLE("\0\1\6\1"), PY_LNOTAB, 4, 0, 11},
    {"at the second pair", TABLE("\0\1\6\1"), PY_LNOTAB, 6, 0, 12},
    {"the last line goes on", TABLE("\0\1\6\1"), PY_LNOTAB, 60000, 0, 12},
    {"far in steps", TABLE("\xff\0\x2d\x7f\0\x49"), PY_LNOTAB, 300, 0, 210},
    {"back", TABLE("\4\5\4\xfe"), PY_LNOTAB, 8, 0, 13},
    {"half a pair", TABLE("\4\5\4"), PY_LNOTAB, 4, -EPROTO, 10},
    {"below line 0", TABLE("\4\x80"), PY_LNOTAB, 8, -EPROTO, 10},

    {"empty", TABLE(""), PY_LINETABLE_310, 0, 0, 10},
    {"not started", TABLE("\4\1"), PY_LINETABLE_310, -2, 0, 10},
    {"delta comes first", TABLE("\4\1\6\2"), PY_LINETABLE_310, 2, 0, 11},
    {"range without a line", TABLE("\4\1\2\x80\2\1"), PY_LINETABLE_310, 4, 0, 0},
    {"and after it", TABLE("\4\1\2\x80\2\1"), PY_LINETABLE_310, 6, 0, 12},
    {"empty range moves the line", TABLE("\0\x7f\0\x7f\4\1"), PY_LINETABLE_310, 0, 0, 265},
    {"past the end", TABLE("\4\1"), PY_LINETABLE_310, 4, 0, 10},
    {"half a pair", TABLE("\4\1\4"), PY_LINETABLE_310, 4, -EPROTO, 10},

    {"empty", TABLE(""), PY_LOCATIONS, 0, 0, 10},
    {"not started", TABLE("\xe9\x02"), PY_LOCATIONS, -2, 0, 10},
    {"short form keeps the line", TABLE("\x80\x11"), PY_LOCATIONS, 0, 0, 10},
    {"one line on", TABLE("\xd8\x01\x02"), PY_LOCATIONS, 0, 0, 11},
    {"two lines on, three units", TABLE("\xe2\x01\x02\x80\x11"), PY_LOCATIONS, 4, 0, 12},
    {"the next entry", TABLE("\xd8\x01\x02\xd8\x01\x02"), PY_LOCATIONS, 2, 0, 12},
    {"no columns, back three", TABLE("\xe8\x07"), PY_LOCATIONS, 0, 0, 7},
    {"line 0 of a module's RESUME", TABLE("\xe8\x15"), PY_LOCATIONS, 0, 0, 0},
    {"long, 100 on", TABLE("\xf0\x48\x03\x00\x01\x02"), PY_LOCATIONS, 0, 0, 110},
    {"no location", TABLE("\xf9\xd8\x01\x02"), PY_LOCATIONS, 2, 0, 0},
    {"after it", TABLE("\xf9\xd8\x01\x02"), PY_LOCATIONS, 4, 0, 11},
    {"past the end", TABLE("\x80\x11"), PY_LOCATIONS, 2, 0, 10},
    {"no header bit", TABLE("\x10\x11"), PY_LOCATIONS, 0, -EPROTO, 10},
    {"varint cut", TABLE("\xe8\x47"), PY_LOCATIONS, 0, -EPROTO, 10},
    {"varint missing", TABLE("\xe8"), PY_LOCATIONS, 0, -EPROTO, 10},
    {"varint without end", TABLE("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f"), PY_LOCATIONS, 0, -EPROTO, 10},
    {"malformed behind is no matter", TABLE("\xd8\x01\x02\xe8"), PY_LOCATIONS, 0, 0, 11},
};

START_TEST(lines_as_tables_say)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct case_ *c = &cases[i];
        int32_t line = -99;
        int r =
            py_linetable_line(c->kind, (const uint8_t *)c->table, c->len, FIRST, c->offset, &line);
        ck_assert_msg(r == c->r && line == c->line, "kind %d, %s: %d, line %d", c->kind, c->what, r,
                      line);
    }
}
END_TEST

/* The same tables are malformed for py_linetable_line_shown(). */
START_TEST(lines_that_are_shown)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct case_ *c = &cases[i];
        int32_t line = -99;
        int r = py_linetable_line_shown(c->kind, (const uint8_t *)c->table, c->len, FIRST,
                                        c->offset, 0, &line);
        ck_assert_msg(r == c->r && (line == c->line || (c->line == 0 && line == FIRST)),
                      "kind %d, %s: %d, line %d", c->kind, c->what, r, line);
    }
}
END_TEST

START_TEST(a_kind_that_is_not_known)
{
    const uint8_t table[] = {0x80, 0x11};
    int32_t line = 0;
    int kind = PY_LOCATIONS + 1;
    ck_assert_int_eq(
        py_linetable_line((enum py_linetable_kind)kind, table, sizeof table, FIRST, 0, &line),
        -EPROTO);
    ck_assert_int_eq(line, FIRST);
}
END_TEST

/* Any bytes: an answer, and no read outside of them (run under a sanitizer or valgrind). */
START_TEST(any_bytes_are_survived)
{
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        size_t len = (size_t)round % 40;
        uint8_t *table = malloc(len + 1);
        for (size_t i = 0; i < len; i++) {
            random = random * 1664525 + 1013904223;
            table[i] = (uint8_t)(random >> 24);
        }
        for (int kind = PY_LNOTAB; kind <= PY_LOCATIONS; kind++) {
            int32_t line = -1;
            int r = py_linetable_line((enum py_linetable_kind)kind, table, len, FIRST, round % 97,
                                      &line);
            ck_assert(r == 0 || r == -EPROTO);
            ck_assert(line >= 0 && (r == 0 || line == FIRST));
        }
        free(table);
    }
}
END_TEST

START_TEST(lines_cannot_overflow)
{
    int32_t line = 0;
    const uint8_t far[] = {0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x3};
    ck_assert_int_eq(py_linetable_line(PY_LOCATIONS, far, sizeof far, INT32_MAX, 0, &line),
                     -EPROTO);
    ck_assert_int_eq(line, INT32_MAX);
}
END_TEST

CHECK_MAIN("py_linetable", 20, lines_as_tables_say, lines_that_are_shown, a_kind_that_is_not_known,
           any_bytes_are_survived, lines_cannot_overflow)
