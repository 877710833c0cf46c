/* Time that several processes share: each has its part of what those before it have left. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct turns {
    int64_t end_ns; /* of all of them */
    size_t left;    /* turns that have not begun */
};
/* N turns from NOW_NS on, LONGEST_NS in all. */
struct turns turns_of(size_t n, int64_t longest_ns, int64_t now_ns);
/* How long the turn that begins at NOW_NS may take; 0: no time is left. */
int64_t turns_next_ns(struct turns *t, int64_t now_ns);
