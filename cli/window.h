/* The part of a recording that --from and --to ask for. */
#pragma once

#include "cli/options.h"
#include "profile/cut.h"

/* Of which part of P, from FROM_NS to TO_NS of its time, O asks.  Returns 0, or -EINVAL with ERR:
 * there is no such part. */
int window_of(const struct options *o, const struct profile *p, int64_t *ret_from_ns,
              int64_t *ret_to_ns, struct err *err);
/* Cuts P to it, and says so in WORDS, a line without its end; nothing is done or said where O asks
 * for all of it.  Returns as window_of() does. */
int window_cut(const struct options *o, struct profile *p, struct text *words, struct err *err);
