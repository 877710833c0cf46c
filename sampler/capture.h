/* How a thread's place and stack are read and told of (docs/sampling.md).  Private to sampler/. */
#pragma once

#include "sampler/message.h"
#include "sampler/state.h"
#include "sampler/tracer.h"

/* Tells of T as of NOW without a stack; of a sample, that its state was t->state.  False: the ring is
 * full, which is counted. */
bool capture_tell(struct sampler *s, struct task *t, enum message_kind kind, uint32_t flags,
                  int64_t now_ns);
/* T is off the CPU as VIEW says: reads its stack without a stop.  One that was asked to stop is taken to have been here
 * since.  0: told.  -EAGAIN: it runs now.
 * -ESRCH: it is gone. */
int capture_off_cpu(struct sampler *s, struct task *t, struct syscall_state *view);
/* Where T is as of VIEW. */
struct wait_place capture_place(const struct task *t, const struct syscall_state *view);
bool capture_same_place(const struct wait_place *a, const struct wait_place *b);
/* Is T, which was stopped while it was blocked, back in the same call, and has done nothing else? */
bool capture_resumed(const struct task *t, const struct syscall_state *view);
/* T's sample holds until NOW, all the time since it was asked to stop.  The stop will tell of what comes after. */
void capture_still_pending(struct task *t, int64_t now_ns);
/* T will be held: makes room, so that its capture neither allocates nor waits for a page. */
void capture_prepare(struct sampler *s, struct task *t);
/* T is held: reads its memory. */
void capture_held(struct sampler *s, struct task *t, const struct stop *stop);
/* T is not held any more: publishes what capture_held() read, if that was of T.  NOW: T's counts; NULL: not known.
 * Async-signal-safe. */
void capture_released(struct sampler *s, struct task *t, const struct schedstat *now);
/* T runs, and must not be held: what can be read all the same. */
void capture_not_held(struct sampler *s, struct task *t, int64_t now_ns);
