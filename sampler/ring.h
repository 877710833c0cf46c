/* A bounded queue of messages of any size from one thread to another.  A message is contiguous, so
 * that it is written and read in place.  No call waits: a full ring refuses, an empty one returns
 * NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

struct ring *ring_new(size_t bytes); /* rounded up to a power of two; pages are touched as used */
/* A child that is forked while KEEP is true does not have the ring, so that the producer's writes
 * after the fork fault no page.  Any thread. */
void ring_keep_from_children(struct ring *r, bool keep);
/* Producer: room for a message of up to MAX_BYTES, 16-aligned, in memory that is faulted in; NULL:
 * the ring is full.  A second call replaces the reservation. */
void *ring_reserve(struct ring *r, size_t max_bytes);
/* Producer: publishes the first BYTES of the reservation.  Async-signal-safe. */
void ring_commit(struct ring *r, size_t bytes);
/* Producer: has the consumer released all that was committed? */
bool ring_is_empty(const struct ring *r);
/* Consumer: the oldest message, or NULL.  Valid until ring_release(). */
const void *ring_peek(struct ring *r, size_t *ret_bytes);
void ring_release(struct ring *r);
struct ring *ring_free(struct ring *r);
