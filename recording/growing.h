/* A profile that grows, into a sink bit by bit: each time what is new or has changed since the last
 * one.  What came until a sink_commit() is what recording_file_write() would have written then,
 * row for row, but for the numbers of runs and threads, which may have gaps: those of runs rise
 * with the time of a thread, and a thread keeps the profile's.  Threads whose runs were joined (at
 * --max-size) go and come again; what came of the last ten minutes stays beside them. */
#pragma once

#include "recording/sink.h"

struct growing;
/* P is borrowed. */
struct growing *growing_new(const struct profile *p, struct sink_to to);
/* Sends what is new until END_NS, for as long as HAS_ROOM(CTX) says so, which is asked before each
 * thing; NULL: all of it.  A commit follows once all was sent in one call.  Returns whether it
 * was; if not, call it again. */
bool growing_send(struct growing *g, int64_t end_ns, bool (*has_room)(void *ctx), void *ctx);
/* After all was sent: the recording has ended. */
void growing_end(struct growing *g, int64_t end_ns);
struct growing *growing_free(struct growing *g);
