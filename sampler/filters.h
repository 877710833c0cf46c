/* Threads under seccomp filters, which a stop may harm (docs/interrupted-calls.md): some filters
 * do not allow restart_syscall(2), and some calls are answered by a supervisor, who is asked
 * again for a call that a stop interrupts.
 * Source: seccomp(2), seccomp_unotify(2), kernel/seccomp.c seccomp_do_user_notification(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampler;
struct stop;
struct task;

/* Must T not be stopped in call NUMBER, in which it is blocked, though that restarts cleanly
 * elsewhere? */
bool filters_forbid_stop(struct sampler *s, struct task *t, int64_t number);
/* T is blocked in call NUMBER: does it wait for a supervisor? */
void filters_look(struct sampler *s, struct task *t, int64_t number);
/* T is to be asked to stop: whether a call that would go on as restart_syscall(2) is to begin
 * anew. */
bool filters_want_renewal(struct sampler *s, struct task *t);
/* T was held, as STOP says.  Async-signal-safe. */
void filters_note(struct sampler *s, struct task *t, const struct stop *stop);
/* T was let go: if its last stop may have interrupted a call for a supervisor, looks whether it
 * did. */
void filters_settle(struct sampler *s, struct task *t);
