/* A code object of CPython in a memory which can be written while it is being read. */
#pragma once

#include "profile/profile.h"
#include "pyframes/py_code.h"
#include "pyframes/py_layout.h"

enum { BASE = 0x100000, ARENA_BYTES = 0x20000, CODE = BASE + 0x100, TYPE = BASE + 0x10 };
enum { NAME = BASE + 0x1000, FILE_ = BASE + 0x2000, TABLE = BASE + 0x3000 };

struct stage {
    struct mem mem;
    size_t reads, fail_at, fail_n; /* FAIL_N reads fail from the FAIL_ATth on */
    int failure;
    size_t change_at; /* before this read the code object becomes another one */
    uint8_t bytes[ARENA_BYTES];
    struct mem *recorded; /* by the capture: nothing */
    struct py_runtime rt;
    struct profile *profile;
    struct py_codes *codes;
};

void put(struct stage *s, uint64_t addr, const void *bytes, size_t len);
void put_u64(struct stage *s, uint64_t addr, uint64_t value);
void put_u32(struct stage *s, uint64_t addr, uint32_t value);
/* Characters of KIND bytes; ASCII if kind is 0. */
void put_str(struct stage *s, uint64_t addr, unsigned kind, const void *data, size_t length);
void put_ascii(struct stage *s, uint64_t addr, const char *text);
void put_bytes(struct stage *s, uint64_t addr, const char *data, size_t len); /* a bytes object */
/* Op.run in /src/ops.py from line 10 on, in CPython 3.MINOR. */
void stage_open(struct stage *s, uint32_t minor);
void stage_close(struct stage *s);
