/* What is known of a thread of a dump. */
#pragma once

#include "dump/dump.h"

/* Adds THREAD, which is not in D.  The caller sets it. */
struct dump_thread *dump_thread_add(struct dump *d, thread_id thread);
process_id dump_thread_process(const struct dump *d, const struct dump_thread *t);
/* Which of D's threads is the first of the process after that of thread I; D's number of threads:
 * it is the last. */
size_t dump_next_process(const struct dump *d, size_t i);
/* The wait, or spin, that T's stack as shown ends in; NULL: none. */
const struct shown_frame *dump_thread_leaf(const struct dump *d, const struct dump_thread *t);
/* Is T's wait, as the profile has it, of KIND? */
bool dump_thread_is_of_kind(const struct dump *d, const struct dump_thread *t, enum wait_kind kind);
long dump_thread_rank(const struct dump *d,
                      const struct dump_thread *t); /* of T's process; −1: none */
/* Is T a main thread that waits for a child which is in the dump, too?  It says nothing of the
 * work. */
bool dump_thread_launches(const struct dump *d, const struct dump_thread *t);
void dump_thread_release(struct dump_thread *t);
/* To be called when no thread is held: the wchan of a held thread is ptrace_stop. */
void dump_thread_read_wchan(struct dump_thread *t);
/* Which of T's Python frames is shown at AT of STACK, N frames, the outermost being 0; SIZE_MAX: it
 * is none, or their variables are not known. */
size_t dump_thread_python_frame(const struct dump_thread *t, const struct shown_frame *stack,
                                size_t n, size_t at);
/* The arguments of that frame; NULL: it has none, or they are not known. */
const char *dump_thread_arguments(const struct dump_thread *t, const struct shown_frame *stack,
                                  size_t n, size_t at);
/* The thread of process PID that runs Python's thread state STATE; NULL: none does. */
const struct dump_thread *dump_thread_of_state(const struct dump *d, pid_t pid, uint64_t state);
