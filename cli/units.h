/* Times, shares and sizes as users write them.  Pure; no locale. */
#pragma once

#include <stdint.h>

/* "500ms", "30" (seconds), "1.5s", "2m", "1h" → nanoseconds, more than 0 and at most ten years.
 * Returns 0 or -EINVAL. */
int parse_duration(const char *s, int64_t *ret_ns);
/* "0.5" or "0.5%" → 0.005; more than 0 and at most 100 percent.  Returns 0 or -EINVAL. */
int parse_percent(const char *s, double *ret_share);
/* "67108864", "64M", "1.5G", "512k", "64MB", "64MiB" → bytes, in powers of 1024; more than 0 and at
 * most an exabyte.  Returns 0 or -EINVAL. */
int parse_size(const char *s, uint64_t *ret_bytes);
