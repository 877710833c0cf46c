/* Frames whose very bytes have been read before, but for their address: most of a large job's
 * dumps.  They are known by what followed the frame before them the last times. */
#pragma once

#include "fleet/byte_source.h"

struct memo_frame { /* what a frame came to */
    uint32_t function, line;
    bool note; /* it is no function */
};
enum { MEMO_WAYS = 4 };
struct frame_memo { /* zero-initialise */
    struct memo_entry *items;
    size_t n, capacity;
    uint32_t beginnings[MEMO_WAYS]; /* items + 1 that stacks began with */
    uint32_t at;                    /* of the frame before: item + 1; 0: a stack begins */
};

/* A stack begins. */
void frame_memo_begin(struct frame_memo *m);
/* Takes the object that begins at S->at if it is known.  False: it is to be read. */
bool frame_memo_take(struct frame_memo *m, struct byte_source *s, struct memo_frame *ret);
/* That object, LEN bytes at RAW, came to FRAME.  It is copied; not if it is a long one. */
void frame_memo_add(struct frame_memo *m, const char *raw, size_t len,
                    const struct memo_frame *frame);
void frame_memo_release(struct frame_memo *m);
