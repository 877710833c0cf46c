/* CPython's str and bytes objects, copied out of a target.
 * Source: CPython Include/cpython/unicodeobject.h (PEP 393), bytesobject.h. */
#pragma once

#include "base/text.h"
#include "pyframes/py_layout.h"

enum {
    /* Names are short; paths end at PATH_MAX (4096).  What is longer is cut and ends in "…". */
    PY_STRING_MAX_CHARACTERS = 4096,
    PY_STRING_MAX_BYTES = 4 * PY_STRING_MAX_CHARACTERS,
};

/* Appends the str at ADDR to OUT as UTF-8; what UTF-8 cannot hold (lone surrogates, numbers that
 * are no character) and NUL is written as Python would escape it: \udc80.  The target may be
 * running. Returns 0; -EPROTO (no str there); what mem_read() says.  OUT is unchanged on
 * failure. */
int py_string_read(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                   struct text *out);
/* Copies the bytes object at ADDR, at most MAX bytes.  *RET is the caller's to free.  Returns 0;
 * -EPROTO (longer, or a negative length); what mem_read() says. */
int py_bytes_read(const struct py_layout *layout, struct mem *mem, uint64_t addr, size_t max,
                  uint8_t **ret, size_t *ret_len);
/* Where the characters are that py_string_read() takes of the str at ADDR (at most
 * PY_STRING_MAX_BYTES), and the bytes of py_bytes_read(); allocate nothing.  Errors: as those. */
int py_string_find(const struct py_layout *layout, struct mem *mem, uint64_t addr,
                   uint64_t *ret_data, size_t *ret_len);
int py_bytes_find(const struct py_layout *layout, struct mem *mem, uint64_t addr, size_t max,
                  uint64_t *ret_data, size_t *ret_len);
