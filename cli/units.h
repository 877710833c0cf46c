/* Times, shares and sizes as users write them.  Pure; no locale. */
#pragma once

#include <stdint.h>

/* "500ms", "30" (seconds), "1.5s", "2m", "1h" → nanoseconds, more than 0 and at most ten years.
 * Returns 0 or -EINVAL. */
int parse_duration(const char *s, int64_t *ret_ns);
/* A moment of a recording, as users write it. */
enum moment_kind {
    MOMENT_NONE,
    MOMENT_SINCE_START, /* "+12.5s", "12.5", "2m" */
    MOMENT_BEFORE_END,  /* "-10s" */
    MOMENT_OF_DAY,      /* "09:00:36.7", UTC, as it is printed */
    MOMENT_UTC,         /* "2026-11-28T09:00:36Z", or with a space */
};
struct moment {
    enum moment_kind kind;
    int64_t ns; /* UTC: since 1970 */
};
/* Returns 0 or -EINVAL. */
int parse_moment(const char *s, struct moment *ret);
/* "0.5" or "0.5%" → 0.005; more than 0 and at most 100 percent.  Returns 0 or -EINVAL. */
int parse_percent(const char *s, double *ret_share);
/* "67108864", "64M", "1.5G", "512k", "64MB", "64MiB" → bytes, in powers of 1024; more than 0 and at
 * most an exabyte.  Returns 0 or -EINVAL. */
int parse_size(const char *s, uint64_t *ret_bytes);
