/* CPython's str and bytes objects, copied out of a target, and where a tuple has its items.
 * Source: CPython Include/cpython/unicodeobject.h (PEP 393), bytesobject.h, tupleobject.h. */
#pragma once

#include "base/text.h"
#include "pyframes/py_layout.h"

enum {
    /* Names are short; paths end at PATH_MAX (4096).  A longer str is cut and ends in "…". */
    PY_STRING_MAX_CHARACTERS = 4096,
    PY_STRING_MAX_BYTES = 4 * PY_STRING_MAX_CHARACTERS,
};

/* Appends the str at ADDR to OUT as UTF-8.  NUL and what UTF-8 cannot express (lone surrogates,
 * numbers that are no character) are written as Python escapes them: \udc80.  The target may be
 * running.  Returns 0; -EPROTO (no str there); what mem_read() says: then OUT is unchanged. */
int py_string_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                   struct text *out);
/* Copies the bytes object at ADDR, at most MAX bytes.  *RET is the caller's to free.  Returns 0;
 * -EPROTO (longer, or a negative length); what mem_read() says. */
int py_bytes_read(const struct py_layout *layout, struct mem *mem, uint64_t addr, size_t max,
                  uint8_t **ret, size_t *ret_len);
/* The beginning of a str, as CPython keeps it. */
enum { PY_CHARS_MAX = 256 };
struct py_chars {
    uint8_t bytes[4 * PY_CHARS_MAX];
    size_t kind, n; /* bytes per character, characters */
    bool cut;       /* there are more */
};
/* Reads the str at ADDR, or PY_CHARS_MAX characters of it.  No allocation.  Errors: as above. */
int py_chars_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                  struct py_chars *ret);
/* Appends them as py_string_read() does, without a mark for the rest. */
void py_chars_add(const struct py_chars *c, struct text *out);
/* Where the characters are that py_string_read() reads (at most PY_STRING_MAX_BYTES), and the bytes
 * that py_bytes_read() reads.  They allocate nothing.  Errors: the same. */
int py_string_find(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                   uint64_t *ret_data, size_t *ret_len);
int py_bytes_find(const struct py_layout *layout, struct mem *mem, uint64_t addr, size_t max,
                  uint64_t *ret_data, size_t *ret_len);
/* The address of the first item of the tuple at TUPLE. */
uint64_t py_tuple_items(const struct py_layout *layout, uint64_t tuple);
