/* Records code objects when a capture first sees them: short-lived ones (of modules being imported,
 * exec'd strings, lambdas) are gone when the worker looks.  Used by the sampler's thread only. */
#pragma once

#include "pyframes/py_walk.h"

enum { PY_CODE_RECORD_SCRATCH_BYTES = 32 << 10 };

struct py_code_record;
/* Borrows both.  SCRATCH: that many bytes, which several may share. */
struct py_code_record *py_code_record_new(const struct py_runtime *rt, uint8_t *scratch);
/* Call it between captures, with no thread held: makes room where it was short.  It takes 8 KB
 * at first, and 256 at most. */
void py_code_record_tick(struct py_code_record *r);
/* While the thread of STACK cannot move: reads through RECORDING, which keeps every byte, what
 * py_code_resolve() needs of the code objects that were not seen yet.  That costs some 3 µs each,
 * so one capture records a few and leaves the others to the next.  Another object may take the
 * address of one that was seen: its key is read again with each of its first captures, then ever
 * less often.  Allocates nothing.  The worker reads the rest. */
void py_code_record_stack(struct py_code_record *r, struct mem *recording,
                          const struct py_stack *stack);
/* The recording of the last call is thrown away: records its code objects again next time. */
void py_code_record_undo(struct py_code_record *r, const struct py_stack *stack);
/* NULL is fine; returns NULL. */
struct py_code_record *py_code_record_free(struct py_code_record *r);
