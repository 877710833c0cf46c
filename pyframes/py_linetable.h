/* Line of a bytecode offset.  Pure.  Source: PEP 626, PEP 657; CPython Objects/lnotab_notes.txt (up
 * to 3.10), Objects/locations.md (3.11+), Objects/codeobject.c PyCode_Addr2Line per version. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum py_linetable_kind { PY_LNOTAB /* ≤ 3.9 */, PY_LINETABLE_310, PY_LOCATIONS /* 3.11+ */ };

/* OFFSET in bytes; negative: not started.  TABLE is co_lnotab, co_linetable: hostile, LEN bytes.
 * Fills RET with the line (FIRST_LINE if nothing covers OFFSET; 0 if the code there has no line).
 * Returns 0 or -EPROTO (malformed up to OFFSET: RET is FIRST_LINE). */
int py_linetable_line(enum py_linetable_kind kind, const uint8_t *table, size_t len,
                      int32_t first_line, int32_t offset, int32_t *ret);
/* The same, but code without a line gets the line of the code before it, at most REACH bytes back,
 * or else FIRST_LINE. */
int py_linetable_line_shown(enum py_linetable_kind kind, const uint8_t *table, size_t len,
                            int32_t first_line, int32_t offset, int32_t reach, int32_t *ret);
