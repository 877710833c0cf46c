/* Reads CPython's three formats of line tables.  Each entry only says how far address and line move
 * on: all are read from the start. */
#include "pyframes/py_linetable.h"

#include <errno.h>

enum { NO_LINE_310 = -128, CODE_UNIT_BYTES = 2 };

/* 3.11+: what the header byte of an entry says. */
enum {
    LOCATION_HEADER = 0x80,
    LOCATION_ONE_LINE = 10, /* 10, 11, 12: that many lines less ten, then two columns */
    LOCATION_NO_COLUMNS = 13,
    LOCATION_LONG = 14,
    LOCATION_NONE = 15,
};

/* One entry: the code [end of the previous entry, END) is of line LINE; 0: of none. */
struct linetable_cursor {
    const uint8_t *next, *limit;
    int64_t end, line_register;
    int64_t line;
};

/* Pairs (address += u8, line += s8).  A line is that of the code which FOLLOWS the pair, so an
 * entry here is: the address part of a pair, with the lines of the pairs before it. */
static int next_lnotab(struct linetable_cursor *c)
{
    if (c->limit - c->next < 2)
        return -EPROTO;
    c->line = c->line_register;
    c->end += c->next[0];
    c->line_register += (int8_t)c->next[1];
    c->next += 2;
    return 0;
}

static int next_310(struct linetable_cursor *c)
{
    if (c->limit - c->next < 2)
        return -EPROTO;
    int8_t delta = (int8_t)c->next[1];
    c->end += c->next[0];
    if (delta != NO_LINE_310)
        c->line_register += delta;
    c->line = delta == NO_LINE_310 ? 0 : c->line_register;
    c->next += 2;
    return 0;
}

/* Six bits a byte, the least significant first; bit 6: more follow. */
static int read_varint(struct linetable_cursor *c, uint32_t *ret)
{
    uint32_t value = 0;
    for (unsigned shift = 0; c->next < c->limit && shift < 32; shift += 6) {
        uint8_t byte = *c->next++;
        value |= (uint32_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40)) {
            *ret = value;
            return 0;
        }
    }
    return -EPROTO;
}

static int read_signed_varint(struct linetable_cursor *c, int64_t *ret)
{
    uint32_t value = 0;
    int r = read_varint(c, &value);
    if (r < 0)
        return r;
    *ret = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
    return 0;
}

static int next_location(struct linetable_cursor *c)
{
    if (c->next == c->limit || !(*c->next & LOCATION_HEADER))
        return -EPROTO;
    unsigned kind = (*c->next >> 3) & 0xf;
    int64_t delta = 0;
    c->end += (int64_t)((*c->next & 7) + 1) * CODE_UNIT_BYTES;
    c->next++;
    if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG) {
        int r = read_signed_varint(c, &delta);
        if (r < 0)
            return r;
    } else if (kind >= LOCATION_ONE_LINE && kind != LOCATION_NONE) {
        delta = kind - LOCATION_ONE_LINE;
    }
    /* The rest of the entry are columns: none of its bytes looks like a header. */
    while (c->next < c->limit && !(*c->next & LOCATION_HEADER))
        c->next++;
    c->line_register += delta;
    c->line = kind == LOCATION_NONE ? 0 : c->line_register;
    return 0;
}

static int next_entry(enum py_linetable_kind kind, struct linetable_cursor *c)
{
    switch (kind) {
    case PY_LNOTAB:
        return next_lnotab(c);
    case PY_LINETABLE_310:
        return next_310(c);
    case PY_LOCATIONS:
        return next_location(c);
    }
    return -EPROTO;
}

/* The line of the code at an offset, and that of the last code before it that has one. */
struct linetable_lines {
    int64_t line;
    int64_t before, before_end; /* that line, 0 if there is none; the end of its code */
};

static int find_entry(enum py_linetable_kind kind, const uint8_t *table, size_t len,
                      int32_t first_line, int32_t offset, struct linetable_lines *ret)
{
    struct linetable_cursor c = {.next = table, .limit = table + len, .line_register = first_line};
    *ret = (struct linetable_lines){.line = first_line};
    if (offset < 0)
        return 0;
    while (c.next < c.limit && c.end <= offset) {
        int64_t begin = c.end;
        int r = next_entry(kind, &c);
        if (r < 0)
            return r;
        if (c.line != 0 && c.end > begin && c.end <= offset) {
            ret->before = c.line;
            ret->before_end = c.end;
        }
    }
    ret->line = c.line;
    if (c.end <= offset) /* past the table: the last line of a co_lnotab goes on */
        ret->line = kind == PY_LNOTAB ? c.line_register : first_line;
    return 0;
}

static int take_line(int64_t line, int32_t *ret)
{
    if (line < 0 || line > INT32_MAX)
        return -EPROTO;
    *ret = (int32_t)line;
    return 0;
}

int py_linetable_line(enum py_linetable_kind kind, const uint8_t *table, size_t len,
                      int32_t first_line, int32_t offset, int32_t *ret)
{
    struct linetable_lines found;
    *ret = first_line;
    int r = find_entry(kind, table, len, first_line, offset, &found);
    return r < 0 ? r : take_line(found.line, ret);
}

int py_linetable_line_shown(enum py_linetable_kind kind, const uint8_t *table, size_t len,
                            int32_t first_line, int32_t offset, int32_t reach, int32_t *ret)
{
    struct linetable_lines found;
    *ret = first_line;
    int r = find_entry(kind, table, len, first_line, offset, &found);
    if (r < 0)
        return r;
    if (found.line == 0 && offset - reach < found.before_end)
        found.line = found.before;
    return take_line(found.line ? found.line : first_line, ret);
}
