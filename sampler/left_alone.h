/* A process whose memory did not arrive while a thread of it was held is left alone for a while,
 * longer each time: no thread of it is looked at.  Its time lines have gaps then, which count as
 * not seen.  Private to sampler/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct process;
struct sampler;

/* From now on, for ten seconds at first, then for twice as long.  Returns for how long. */
int64_t left_alone_begin(struct sampler *s, struct process *p);
/* Is P left alone in this tick? */
bool left_alone(struct sampler *s, struct process *p);
/* Counts the time until NOW_NS for which P was left alone, if it is. */
void left_alone_end(struct sampler *s, struct process *p, int64_t now_ns);
