/* A bounded queue of messages of any size from one thread to one other.  A message is contiguous,
 * so it can be written and read in place.  Nobody waits inside: a full ring refuses, an empty one
 * gives NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

struct ring *ring_new(size_t bytes); /* rounded up to a power of two; pages are touched as used */
/* Producer: room for a message of up to MAX_BYTES, 16-aligned, in memory that is already faulted
 * in. NULL: full.  One reservation at a time; a second call replaces it. */
void *ring_reserve(struct ring *r, size_t max_bytes);
/* Producer: publishes the first BYTES of the reservation.  Async-signal-safe. */
void ring_commit(struct ring *r, size_t bytes);
/* Producer: has the consumer released all that was committed? */
bool ring_is_empty(const struct ring *r);
/* Consumer: the oldest message, or NULL.  Valid until ring_release(). */
const void *ring_peek(struct ring *r, size_t *ret_bytes);
void ring_release(struct ring *r);
struct ring *ring_free(struct ring *r);
