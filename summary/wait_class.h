/* What a thread does, by what its stack ends in. */
#pragma once

#include "summary/call_tree.h"

enum wait_class {
    CLASS_NONE,     /* it runs, or waits for a CPU */
    CLASS_SPIN,     /* it runs, but only waits */
    CLASS_IDLE,     /* for work: in a known pool, in the poll of an event loop */
    CLASS_SLEEP,    /* for time to pass */
    CLASS_ORDINARY, /* for somebody: a lock, a message, a child */
    CLASS_GIL,
    CLASS_FILE,    /* in a call on a file */
    CLASS_PAGE,    /* in a page fault */
    CLASS_UNUSUAL, /* in any other call: a driver, a full pipe */
    CLASS_STOPPED,
    CLASS_KINDS,
};
enum wait_class class_of_node(const struct call_tree *t, uint32_t node);
enum wait_class class_of_run(struct call_tree *t, const struct run *run);
bool is_sleep(const struct shown_frame *f); /* a wait for time to pass, or for a signal */
/* Does RUN, of CLASS, do something itself, or is it in a wait that only the kernel can end? */
bool is_busy_class(enum wait_class class, const struct run *run);
/* Does NODE, a sleep, wait for a lock of SQLite's?  A program may call its sqlite3_sleep(), too. */
bool waits_for_sqlite(const struct call_tree *t, uint32_t node);
/* Is NODE a wait in futex(2) right below a function of the C library's, for a lock of its own? */
bool waits_for_libc(const struct call_tree *t, uint32_t node);
/* Is NODE in a library's function that known.def says to wait for results? */
bool is_for_known_result(const struct call_tree *t, uint32_t node);
/* Is it so, or by its function's name, that of what one of its own threads does: a result, an
 * event? */
bool is_for_result(const struct call_tree *t, uint32_t node);
/* What a wait at NODE means, where its function's name does not say so: at the end of Python's main
 * thread, of a queue's process, in SQLite.  NULL for others. */
const char *meaning_of(const struct call_tree *t, uint32_t node);
const char *meaning_of_stack(const struct shown_frame *stack, size_t n); /* that ends in a wait */
/* Is NODE a wait for a condition or a semaphore, which have no owner, and for no result? */
bool is_unowned_wait(const struct call_tree *t, uint32_t node);
/* Is NODE in a function of the user's? */
bool is_in_own_code(const struct call_tree *t, uint32_t node);
/* Is NODE a wait for a lock, of memory or of a file?  Who waits for one has work. */
bool is_for_lock(const struct call_tree *t, uint32_t node);
/* Is NODE a wait that a thread without work is in, too?  Several THREADS that poll in the user's
 * code wait for an answer: Python's sockets with a time-out poll. */
bool may_be_for_work(const struct call_tree *t, uint32_t node, size_t threads);
/* Is NODE a sleep in a function of the user's own? */
bool sleeps_in_own_code(const struct call_tree *t, uint32_t node);
