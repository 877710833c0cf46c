/* Messages that wait for the worker while it names and writes a snapshot, which may take seconds: a
 * thread moves them out of the ring, so that the sampler always finds room. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/ring.h"

struct stored_message;

/* Zero-initialise. */
struct backlog {
    struct ring *ring; /* borrowed, while the thread runs */
    struct stored_message *first, **end;
    size_t bytes;
    pthread_t thread;
    bool started;
    atomic_bool stop;
};

/* From now on until backlog_end() a thread of its own, and no other, takes messages out of RING.
 * Messages without room (BACKLOG_BYTES) stay there.  If no thread can be started all stay there. */
void backlog_begin(struct backlog *b, struct ring *ring);
void backlog_end(struct backlog *b);
/* The oldest message, of those that were moved or else of RING: ring_peek(), ring_release(). */
const void *backlog_peek(const struct backlog *b, struct ring *ring, size_t *ret_bytes);
void backlog_release(struct backlog *b, struct ring *ring);
void backlog_release_all(struct backlog *b); /* ends it, and drops the rest */
