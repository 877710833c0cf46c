/* Time in nanoseconds. */
#pragma once

#include <stdint.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

int64_t clock_now_ns(void);   /* CLOCK_MONOTONIC: all time lines of wallspy */
int64_t clock_utc_ns(void);   /* CLOCK_REALTIME: since 1970 */
int64_t clock_cpu_ns(void);   /* CLOCK_THREAD_CPUTIME_ID: CPU time of the calling thread */
void clock_sleep(int64_t ns); /* a signal may end it before */

enum { CLOCK_UTC_BYTES = 32 };
/* The time of day as ISO 8601 has it, "2024-02-29T23:59:59Z"; "" if the year does not fit. */
void clock_utc_text(char ret[CLOCK_UTC_BYTES]);
void clock_utc_text_of(int64_t utc_ns, char ret[CLOCK_UTC_BYTES]); /* UTC_NS ≥ 0, since 1970 */
/* The same with milliseconds: "2024-02-29T23:59:59.123Z". */
void clock_utc_ms_text(int64_t utc_ns, char ret[CLOCK_UTC_BYTES]);
