/* A stack in a few words: "numpy_of train.py:3 > mge::Worker::sync > [futex]".
 *
 * Of a stack of forty frames a reader needs three: the line of their own Python code (not of a
 * library's), the innermost function worth naming below it, and where it ends.  Without Python:
 * the function of a library that was called and who called it, as `TopK::exec >
 * cudaGetDeviceProperties`, whatever the library calls in itself; within one library the two
 * innermost functions worth naming.  Not worth naming is what is_way says (idle.h): libc,
 * the standard libraries, threading.py; and code without a name. */
#pragma once

#include "base/text.h"
#include "summary/view.h"

enum { SHORT_PATH_MAX_PARTS = 3 };
/* The frames of STACK to name, outermost first, by place; returns how many; 0 only if N is 0. */
size_t short_path_pick(const struct shown_frame *stack, size_t n,
                       size_t ret_places[SHORT_PATH_MAX_PARTS]);
/* Appends the picked frames, one a line, so that they can be set apart.  Nothing that a terminal
 * would obey gets through.  LINES: Python frames with the line being executed. */
void short_path_add(struct text *out, const struct shown_frame *stack, size_t n, bool lines);
