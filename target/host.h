/* The machine that the observed processes run on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What the hypervisor took of all CPUs together since the start, as /proc/stat says in ticks of USER_HZ; 0: nothing, or unknown.
 * Source: proc_stat(5), "steal". */
int64_t host_stolen_ns(void);
/* The same from the file's TEXT.  HZ: ticks a second.  0 if it is malformed. */
int64_t host_stolen_parse(const char *text, size_t len, int64_t hz);
