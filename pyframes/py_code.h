/* Code objects → function, file, line.  Cached by address; an entry is checked against what the
 * capture recorded, or else the live object, so that a reused address is noticed.  Used by the
 * worker. */
#pragma once

#include "profile/profile.h"
#include "pyframes/py_walk.h"

struct py_codes;
/* LIVE: the target's live memory, for what captures did not record.  Borrows all. */
struct py_codes *py_codes_new(const struct py_runtime *rt, struct mem *live,
                              struct profile *profile);
/* Call before the frames of one stack are resolved.  RECORDED: its snapshot's memory; TAKEN_NS: when that
 * was taken, clock_now_ns().  Known code objects used by it are compared with what was recorded; those of
 * which nothing was with the live target, all in one read (MEM_MAX_SPANS a time), unless that was done
 * for another stack since TAKEN_NS.  They are forgotten if another object has taken their place.  One
 * that was freed meanwhile stays known. */
void py_codes_check(struct py_codes *c, struct mem *recorded, int64_t taken_ns,
                    const struct py_stack *stack);
/* Interns F (function, file, current line) in the profile.  The function's name is its qualified
 * name from 3.11 on.  RECORDED: as above; live memory has to serve for what is not there.  *RET_HIDDEN: an interpreter's internal frame (`<shim>`, the `__init__`
 * helper) that users must not see.  Returns 0; -ESTALE: the object is gone or was replaced, RET is
 * then the frame "[unknown code]"; -EPROTO: malformed, or more of line tables and names than one
 * stack is worth (256 MiB; of names alone 16 MiB), likewise, or RET is F without its line.  The caller counts all.  The target may be running. */
int py_code_resolve(struct py_codes *c, struct mem *recorded, const struct py_frame *f,
                    frame_id *ret, bool *ret_hidden);
/* F's lasti; looked for in LIVE where the thread runs a copy of the bytecode of its own.  May be
 * PY_LASTI_UNKNOWN.  The target may be running. */
int32_t py_code_lasti(const struct py_runtime *rt, struct mem *live, const struct py_frame *f);
/* How often an object was looked for that was not known, or forgotten.  While it grows, the program makes code
 * objects that may not live long: stacks are to be resolved soon. */
uint64_t py_codes_changes(const struct py_codes *c);
struct py_codes *py_codes_free(struct py_codes *c);
