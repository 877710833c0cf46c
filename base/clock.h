/* Time in nanoseconds. */
#pragma once

#include <stdint.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

int64_t clock_now_ns(void); /* CLOCK_MONOTONIC: all time lines of wallspy */
int64_t clock_cpu_ns(void); /* CLOCK_THREAD_CPUTIME_ID: what the calling thread computed */
