#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int64_t spend_computing(int64_t ns);
int64_t spend_in_vdso(int64_t ns);
int64_t spend_sleeping(int64_t ns);

/* A thread that never runs Python and follows a plan of its own (spend_thread.cc): slices of
 * MIN_NS to MAX_NS until TOTAL_NS are used up.  Returns NULL if no thread can be made. */
struct spend_thread;
struct spend_thread *spend_thread_start(uint32_t seed, int64_t total_ns, int64_t min_ns,
                                        int64_t max_ns);
/* Waits for its end.  RET_NS and RET_VISITS, three each: what was spent in spend_computing,
 * spend_in_vdso and spend_sleeping, and in how many slices. */
void spend_thread_join(struct spend_thread *thread, int64_t *ret_ns, int64_t *ret_visits);

#ifdef __cplusplus
}
#endif
