/* Which code objects a capture must record: short-lived ones (modules being imported, exec'd
 * strings, lambdas) are gone when the worker looks.  Each is recorded when first seen.  Used by the
 * sampler's thread only. */
#pragma once

#include "pyframes/py_walk.h"

struct py_code_keep;
struct py_code_keep *py_code_keep_new(const struct py_runtime *rt); /* borrows RT */
/* While the thread of STACK cannot move: reads through RECORDING, which keeps every byte, what
 * py_code_resolve() needs of the code objects that were not seen yet: some 3 µs each, so a few at a
 * time; the others' turn comes with the next capture.  The key of one that was seen, lest another
 * has taken its address, is read again with each of its first captures, then ever less often.
 * Allocates nothing.  What cannot be read is left to the worker. */
void py_code_keep_stack(struct py_code_keep *k, struct mem *recording,
                        const struct py_stack *stack);
/* The last call's recording is thrown away: what was recorded is to be recorded again. */
void py_code_keep_undo(struct py_code_keep *k, const struct py_stack *stack);
struct py_code_keep *py_code_keep_free(struct py_code_keep *k); /* NULL is fine; returns NULL */
