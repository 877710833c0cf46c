/* The variables of a process's environment as it is now: what getenv(3) finds.
 *
 * /proc/PID/environ is what a process was started with; its later changes are in its C library's
 * `environ` alone, as where a forked worker is given its rank, or where a title has been written
 * over the first ones (setproctitle).  Read from the target's memory while it runs: an answer is
 * given only if nothing has changed meanwhile.  Source: environ(7); glibc stdlib/setenv.c, musl
 * src/env/setenv.c, which replace the pointer to a string, never its text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/modules.h"

enum { ENVIRON_STRING_BYTES = 64 }; /* longer ones are left out */

/* The address of the variable `environ`, which the program has if it uses it, or else its C
 * library; 0: neither has one, as in a static program without symbols. */
uint64_t environ_address(struct modules *m);
/* Calls EACH for each string at ADDRESS, the variable; what it was told counts if this returns
 * true.  *SEEN: of the last true answer, 0 at first: false, without a call, if nothing has
 * changed since. */
bool environ_read(struct mem *live, uint64_t address, uint64_t *seen,
                  void (*each)(void *ctx, const char *string), void *ctx);
