#include "pyframes/py_linetable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check_main.h"

struct case_ {
    const char *what;
    enum py_linetable_kind kind;
    const char *table;
    size_t len;
    int32_t offset;
    int r;
    int32_t line;
};
enum { FIRST = 10 };
#define TABLE(bytes) bytes, sizeof(bytes) - 1

static const struct case_ cases[] = {
    {"empty", PY_LNOTAB, TABLE(""), 0, 0, 10},
    {"not started", PY_LNOTAB, TABLE("\0\5"), -1, 0, 10},
    {"a pair at 0 counts", PY_LNOTAB, TABLE("\0\1\6\1"), 0, 0, 11},
    {"before the second pair", PY_LNOTAB, TABLE("\0\1\6\1"), 4, 0, 11},
    {"at the second pair", PY_LNOTAB, TABLE("\0\1\6\1"), 6, 0, 12},
    {"the last line goes on", PY_LNOTAB, TABLE("\0\1\6\1"), 60000, 0, 12},
    {"far in steps", PY_LNOTAB, TABLE("\xff\0\x2d\x7f\0\x49"), 300, 0, 210},
    {"back", PY_LNOTAB, TABLE("\4\5\4\xfe"), 8, 0, 13},
    {"half a pair", PY_LNOTAB, TABLE("\4\5\4"), 4, -EPROTO, 10},
    {"below line 0", PY_LNOTAB, TABLE("\4\x80"), 8, -EPROTO, 10},

    {"empty", PY_LINETABLE_310, TABLE(""), 0, 0, 10},
    {"not started", PY_LINETABLE_310, TABLE("\4\1"), -2, 0, 10},
    {"delta comes first", PY_LINETABLE_310, TABLE("\4\1\6\2"), 2, 0, 11},
    {"range without a line", PY_LINETABLE_310, TABLE("\4\1\2\x80\2\1"), 4, 0, 0},
    {"and after it", PY_LINETABLE_310, TABLE("\4\1\2\x80\2\1"), 6, 0, 12},
    {"empty range moves the line", PY_LINETABLE_310, TABLE("\0\x7f\0\x7f\4\1"), 0, 0, 265},
    {"past the end", PY_LINETABLE_310, TABLE("\4\1"), 4, 0, 10},
    {"half a pair", PY_LINETABLE_310, TABLE("\4\1\4"), 4, -EPROTO, 10},

    {"empty", PY_LOCATIONS, TABLE(""), 0, 0, 10},
    {"not started", PY_LOCATIONS, TABLE("\xe9\x02"), -2, 0, 10},
    {"short form keeps the line", PY_LOCATIONS, TABLE("\x80\x11"), 0, 0, 10},
    {"one line on", PY_LOCATIONS, TABLE("\xd8\x01\x02"), 0, 0, 11},
    {"two lines on, three units", PY_LOCATIONS, TABLE("\xe2\x01\x02\x80\x11"), 4, 0, 12},
    {"the next entry", PY_LOCATIONS, TABLE("\xd8\x01\x02\xd8\x01\x02"), 2, 0, 12},
    {"no columns, back three", PY_LOCATIONS, TABLE("\xe8\x07"), 0, 0, 7},
    {"line 0 of a module's RESUME", PY_LOCATIONS, TABLE("\xe8\x15"), 0, 0, 0},
    {"long, 100 on", PY_LOCATIONS, TABLE("\xf0\x48\x03\x00\x01\x02"), 0, 0, 110},
    {"no location", PY_LOCATIONS, TABLE("\xf9\xd8\x01\x02"), 2, 0, 0},
    {"after it", PY_LOCATIONS, TABLE("\xf9\xd8\x01\x02"), 4, 0, 11},
    {"past the end", PY_LOCATIONS, TABLE("\x80\x11"), 2, 0, 10},
    {"no header bit", PY_LOCATIONS, TABLE("\x10\x11"), 0, -EPROTO, 10},
    {"varint cut", PY_LOCATIONS, TABLE("\xe8\x47"), 0, -EPROTO, 10},
    {"varint missing", PY_LOCATIONS, TABLE("\xe8"), 0, -EPROTO, 10},
    {"varint without end", PY_LOCATIONS, TABLE("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f"), 0, -EPROTO, 10},
    {"malformed behind is no matter", PY_LOCATIONS, TABLE("\xd8\x01\x02\xe8"), 0, 0, 11},
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

CHECK_MAIN("py_linetable", 20, lines_as_tables_say, any_bytes_are_survived, lines_cannot_overflow)
