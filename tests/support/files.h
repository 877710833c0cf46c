/* Files for tests: what lies beside the test's binary, and copies of it in a directory that goes
 * away with the test. */
#pragma once

#include <stddef.h>

enum { TEST_PATH_BYTES = 512 };

/* The path of NAME in the directory of the running binary. */
void beside_binary(const char *name, char ret[TEST_PATH_BYTES]);
/* Copies FROM to TO, replacing it by rename, so that TO is a new file. */
void copy_file(const char *from, const char *to);
/* Overwrites LEN bytes at OFFSET of PATH. */
void patch_file(const char *path, long offset, const void *bytes, size_t len);
