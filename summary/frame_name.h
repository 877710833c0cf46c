/* Names of frames and threads in a table or a sentence, and functions known by name. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "summary/view.h"

/* Is PART the end of NAME, from the beginning of a component ("WorkerLoop" of
 * "arrow::internal::WorkerLoop", "run" of "Thread.run", "<a::Thread>::run" and "run::<a::B>"), but
 * for what compilers append?  With a '*' at its end any name may follow. */
bool frame_name_has(const char *name, const char *part);
/* Appends F's name without the parts that say nothing: "memcpy" for "__memcpy_avx_unaligned_erms",
 * "Pool::run" for "Pool::run(int)::{lambda()#1}::operator()".  Nothing in it is an order to a
 * terminal. */
void frame_add_name(struct text *out, const struct shown_frame *f);
/* NAME, of a function of the C library, from where it says something: "read" of "__GI_read". */
const char *frame_libc_name(const char *name);
/* Is INNER, which OUTER calls, the same function of the C library by another name
 * ("__libc_read" below "read")? */
bool frame_is_alias(const struct shown_frame *outer, const struct shown_frame *inner);
/* Appends a name for the threads that F is the first function of: as above, but "lambda in main",
 * because "main" is another thread. */
void frame_add_thread_name(struct text *out, const struct shown_frame *f);
/* The function that a std::thread was made of, LEN bytes, if F is libstdc++'s frame that runs it
 * and says so; lambdas have that of the function they are in.  NULL: it does not. */
const char *frame_thread_function(const struct shown_frame *f, size_t *ret_len);
