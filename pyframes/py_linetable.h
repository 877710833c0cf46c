/* Line of a bytecode offset.  Pure.  Source: PEP 626, PEP 657; CPython Objects/lnotab_notes.txt,
 * Objects/codeobject.c (3.10: co_linetable, 3.11+: _PyCode_… location table). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum py_linetable_kind { PY_LNOTAB /* ≤ 3.9 */, PY_LINETABLE_310, PY_LOCATIONS /* 3.11+ */ };

/* OFFSET in bytes.  Fills RET with the line (FIRST_LINE if nothing covers OFFSET; 0 if the code
 * there has no line).  Returns 0 or -EPROTO (malformed: RET is FIRST_LINE). */
int py_linetable_line(enum py_linetable_kind kind, const uint8_t *table, size_t len,
                      int32_t first_line, int32_t offset, int32_t *ret);
