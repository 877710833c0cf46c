/* The part of a recording that --from and --to ask for. */
#pragma once

#include "cli/options.h"
#include "profile/cut.h"

/* Of which part of P, from FROM_NS to TO_NS of its time, O asks.  Returns 0, or -EINVAL with ERR:
 * there is no such part. */
int window_of(const struct options *o, const struct profile *p, int64_t *ret_from_ns,
              int64_t *ret_to_ns, struct err *err);
struct window {
    bool asked; /* for less than all */
    int64_t from_ns, to_ns, whole_ns;
    int64_t started_utc_ns; /* the recording; 0: unknown */
    struct profile_cut cut;
};
/* Cuts P to it; nothing is done where O asks for all of it.  Returns as window_of() does. */
int window_cut(const struct options *o, struct profile *p, struct window *ret, struct err *err);
/* Cuts P, which has ended, to what a ring keeps (profile/ageing.h).  False: that is all of it.
 * *RET_WHOLE_NS: its time before. */
bool window_cut_ring(struct profile *p, const struct view_options *view, int64_t *ret_whole_ns);
/* Appends what was taken of P, which is cut, a line without its end; nothing of all.  BRIEF:
 * in one line, with what matters most of what is not exact. */
void window_add_words(struct text *out, const struct profile *p, const struct window *w,
                      bool brief);
