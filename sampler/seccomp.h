/* Threads under seccomp filters, which a stop may harm (docs/interrupted-calls.md).
 *
 * Some filters do not allow restart_syscall(2).  A supervisor answers some calls, and is asked a
 * second time for a call that a stop interrupts.
 * Source: seccomp(2), seccomp_unotify(2), kernel/seccomp.c seccomp_do_user_notification(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampler;
struct stop;
struct thread;

/* T is blocked in call NUMBER, which restarts cleanly without filters.  Must T not be stopped? */
bool seccomp_forbids_stop(struct sampler *s, struct thread *t, int64_t number);
/* T is blocked in call NUMBER: finds out whether T waits for a supervisor. */
void seccomp_check(struct sampler *s, struct thread *t, int64_t number);
/* T will be asked to stop.  Must a call begin anew that would go on as restart_syscall(2)? */
bool seccomp_wants_renewal(struct sampler *s, struct thread *t);
/* Notes what STOP did to T's call.  Async-signal-safe. */
void seccomp_note_stop(struct sampler *s, struct thread *t, const struct stop *stop);
/* T was let go: finds out whether its last stop interrupted a call for a supervisor. */
void seccomp_note_release(struct sampler *s, struct thread *t);
