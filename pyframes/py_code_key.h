/* The fields by which a code object differs from an earlier one at its address: private to
 * pyframes/.  Source: CPython Include/cpython/code.h, Include/code.h (≤ 3.7). */
#pragma once

#include "pyframes/py_layout.h"

struct py_code_key {
    uint64_t type, filename, name, qualname, linetable; /* addresses */
    uint64_t bytecode; /* ≤ 3.10 its address, later its length in units */
    /* These tell exec'd strings apart whose other fields are all the same. */
    uint64_t consts, names; /* ≤ 3.11: addresses */
    uint32_t version;       /* 3.12+: unique */
    int32_t first_line;
};

/* How many bytes of a code object contain its key. */
size_t py_code_key_bytes(const struct py_layout *l);
/* CODE: that many bytes, from the start of the object. */
struct py_code_key py_code_key_of(const struct py_layout *l, const uint8_t *code);
bool py_code_key_same(const struct py_code_key *a, const struct py_code_key *b);
/* The address of the name to show: qualified from 3.11 on. */
uint64_t py_code_key_name(const struct py_layout *l, const struct py_code_key *key);
/* How many units the bytecode has; UINT64_MAX: not known (up to 3.10). */
uint64_t py_code_key_units(const struct py_layout *l, const struct py_code_key *key);
/* Equal for equal keys; for others only by an unlikely chance. */
uint64_t py_code_key_hash(const struct py_code_key *key);
