/* What all fuzz targets share: the entry point that libFuzzer and replay.c call, and a reader that
 * takes values off the input.  docs/fuzzing.md tells how to run them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* libFuzzer's name.  Runs the code under test on BYTES; a check that fails aborts.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* What is left of an input.  A value past its end is 0, so that every input means something. */
struct feed {
    const uint8_t *at;
    size_t left;
};
uint8_t feed_u8(struct feed *f);
uint16_t feed_u16(struct feed *f);
uint32_t feed_u32(struct feed *f);
uint64_t feed_u64(struct feed *f);
/* The next LEN bytes, fewer at the end of the input. */
const uint8_t *feed_bytes(struct feed *f, size_t len, size_t *ret_len);
/* The next bytes, up to 255, their number first, as a string the caller frees; NULs cut it. */
char *feed_string(struct feed *f);

/* Aborts, and says where, unless WHAT holds; also in builds without assertions. */
#define FUZZ_CHECK(what) fuzz_check((what), #what, __FILE__, __LINE__)
void fuzz_check(bool holds, const char *what, const char *file, int line);
/* Goes behind WORD if that comes first of what is left, from *AT to END. */
bool take_word(const char **at, const char *end, const char *word);
/* Is TEXT well-formed UTF-8 in which a terminal finds nothing to obey, but for newlines? */
bool is_plain_text(const char *text, size_t len);
