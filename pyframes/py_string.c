#include "pyframes/py_string.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pyframes/py_fixed.h"

struct shape {
    uint64_t data;
    size_t kind; /* bytes per character */
    size_t length;
};

static int read_shape(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                      struct shape *ret, bool *ret_cut)
{
    uint64_t length = 0;
    uint32_t state = 0;
    int r = mem_read_u64(mem, addr + layout->unicode.length, &length);
    if (r == 0)
        r = mem_read_u32(mem, addr + layout->unicode.state, &state);
    if (r < 0)
        return r;
    state >>= layout->unicode.kind_shift;
    unsigned kind = state & 7;
    bool compact = state & 8;
    bool ascii = state & 16;
    if ((kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1) || length > INT64_MAX)
        return -EPROTO;
    uint64_t data =
        addr + (compact && ascii ? layout->unicode.ascii_bytes : layout->unicode.compact_bytes);
    /* The characters of a subclass of str (numpy.str_) lie elsewhere. */
    if (!compact && (r = mem_read_u64(mem, data, &data)) < 0)
        return r;
    *ret_cut = length > PY_STRING_MAX_CHARACTERS;
    *ret = (struct shape){
        .data = data,
        .kind = kind,
        .length = *ret_cut ? PY_STRING_MAX_CHARACTERS : (size_t)length,
    };
    return 0;
}

static void add_utf8(struct text *out, uint32_t c)
{
    char s[4];
    text_add_bytes(out, s, utf8_put(c, s));
}

static void add_character(struct text *out, uint32_t c)
{
    if (c == 0)
        text_add(out, "\\x00");
    else if (c >= 0xd800 && c <= 0xdfff)
        text_addf(out, "\\u%04x", c);
    else if (c > 0x10ffff)
        text_addf(out, "\\U%08x", c);
    else
        add_utf8(out, c);
}

int py_string_find(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                   uint64_t *ret_data, size_t *ret_len)
{
    struct shape shape;
    bool cut = false;
    int r = read_shape(layout, mem, addr, &shape, &cut);
    if (r == 0) {
        *ret_data = shape.data;
        *ret_len = shape.length * shape.kind;
    }
    return r;
}

int py_string_read(const struct py_layout *layout, struct mem *mem, uint64_t addr, struct text *out)
{
    struct shape shape;
    bool cut = false;
    uint8_t bytes[PY_STRING_MAX_BYTES];
    int r = read_shape(layout, mem, addr, &shape, &cut);
    if (r == 0 && shape.length > 0)
        r = mem_read(mem, shape.data, bytes, shape.length * shape.kind);
    if (r < 0)
        return r;
    for (size_t i = 0; i < shape.length; i++) {
        uint32_t c = 0;
        memcpy(&c, bytes + i * shape.kind, shape.kind); /* both sides are little-endian */
        add_character(out, c);
    }
    text_add(out, cut ? "…" : "");
    return 0;
}

int py_chars_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                  struct py_chars *ret)
{
    struct shape shape;
    bool cut = false;
    int r = read_shape(layout, mem, addr, &shape, &cut);
    if (r < 0)
        return r;
    ret->cut = cut || shape.length > PY_CHARS_MAX;
    ret->n = ret->cut ? PY_CHARS_MAX : shape.length;
    ret->kind = shape.kind;
    return ret->n ? mem_read(mem, shape.data, ret->bytes, ret->n * ret->kind) : 0;
}

void py_chars_add(const struct py_chars *chars, struct text *out)
{
    for (size_t i = 0; i < chars->n; i++) {
        uint32_t c = 0;
        memcpy(&c, chars->bytes + i * chars->kind, chars->kind);
        add_character(out, c);
    }
}

int py_bytes_find(const struct py_layout *layout, struct mem *mem, uint64_t addr, size_t max,
                  uint64_t *ret_data, size_t *ret_len)
{
    uint64_t len = 0;
    int r = mem_read_u64(mem, addr + layout->bytes.size, &len);
    if (r < 0)
        return r;
    if (len > max)
        return -EPROTO;
    *ret_data = addr + layout->bytes.data;
    *ret_len = len;
    return 0;
}

int py_bytes_read(const struct py_layout *layout, struct mem *mem, uint64_t addr, size_t max,
                  uint8_t **ret, size_t *ret_len)
{
    uint64_t data;
    size_t len;
    int r = py_bytes_find(layout, mem, addr, max, &data, &len);
    if (r < 0)
        return r;
    uint8_t *bytes = xmalloc(len);
    r = len ? mem_read(mem, data, bytes, len) : 0;
    if (r < 0) {
        free(bytes);
        return r;
    }
    *ret = bytes;
    *ret_len = len;
    return 0;
}

uint64_t py_tuple_items(const struct py_layout *layout, uint64_t tuple)
{
    return tuple + layout->object.type +
           (layout->traits.hashed_tuples ? PY_HASHED_TUPLE_ITEMS : PY_TUPLE_ITEMS);
}
