/* CPython's ints: private to pyframes/. */
#pragma once

#include "pyframes/py_layout.h"
#include "target/mem.h"

enum { PY_INT_DIGITS_READ = 2 }; /* with these any address fits */
struct py_int {
    uint64_t digits; /* how many there are, PY_DIGIT_BITS each; 0: the number is 0 */
    bool negative;
    uint64_t number; /* its absolute value; known up to PY_INT_DIGITS_READ digits, else 0 */
};
/* Reads the int, or bool, at ADDR: hostile.  MEM: live or recorded.  Returns 0 or a negative
 * errno.  Source: Include/longintrepr.h, cpython/longintrepr.h: up to 3.11 the size is negative for
 * negative numbers; 3.12 added lv_tag, the size << 3, and 2 for them. */
int py_int_read(const struct py_layout *l, struct mem *mem, uint64_t addr, struct py_int *ret);
