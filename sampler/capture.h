/* How a thread's registers, stack and Python frames are read and sent to the worker
 * (docs/sampling.md).  Private to sampler/. */
#pragma once

#include "capture/message.h"
#include "sampler/state.h"
#include "sampler/tracer.h"

/* Emits a message about T without a stack, as of NOW_NS.  A sample has the state of t->sampled.
 * False: the ring is full, which is counted. */
bool capture_emit(struct sampler *s, struct thread *t, enum message_kind kind, uint32_t flags,
                  int64_t now_ns);
/* The same of a sample of T, which was asked to stop and has had no CPU since. */
bool capture_emit_never_stopped(struct sampler *s, struct thread *t);
/* Emits a message about P, or about all processes, as of NOW_NS.  False: as above. */
bool capture_emit_process(struct sampler *s, const struct process *p, enum message_kind kind,
                          int64_t now_ns);
/* Emits LOCK, of a process whose threads wait for it.  False: as above. */
bool capture_emit_lock(struct sampler *s, const struct process *p, const struct lock_message *lock);
/* Reads the stack of T, which is off the CPU as VIEW says, without a stop, and emits it.  A thread
 * that was asked to stop counts as having been there since.  0: emitted; -EAGAIN: T runs now;
 * -ESRCH: T is gone. */
int capture_off_cpu(struct sampler *s, struct thread *t, struct syscall_state *view);
/* T will be asked to stop: makes room, so that its capture neither allocates nor faults. */
void capture_prepare(struct sampler *s, struct thread *t);
/* T is held: reads its memory.  Async-signal-safe. */
void capture_held(struct sampler *s, struct thread *t, const struct stop *stop);
/* T is let go: emits the capture of capture_held(), if there is one.  NOW: T's counts; NULL:
 * unknown.  Async-signal-safe. */
void capture_released(struct sampler *s, struct thread *t, const struct schedstat *now);
/* T waits for a CPU, and is not asked to stop: emits its Python frames, which stand still
 * meanwhile, as of NOW_NS.  PROVEN: t->sched is of a moment when T waited; else it is looked at
 * once more.  False: it runs now, and nothing was emitted. */
bool capture_waiting(struct sampler *s, struct thread *t, bool proven, int64_t now_ns);
/* T runs and must not be held: emits its Python frames alone. */
void capture_not_held(struct sampler *s, struct thread *t, int64_t now_ns);
