/* The role of a frame for the reader of a stack: their own code, a library's, or glue on the
 * way. */
#pragma once

#include "base/text.h"
#include "summary/view.h"

enum frame_role {
    ROLE_GLUE,    /* entry frames, wrappers, code without a name: passed over */
    ROLE_LIBC,    /* a function of the C library: never the culprit */
    ROLE_LIBRARY, /* the standard library, installed packages, system libraries */
    ROLE_OWN,     /* the user's */
};
/* The role of F, which is no wait.  BLOCKED: the stack ends in a wait, so that the C library is
 * only the way to it, except for malloc and its kin, whose locks are theirs. */
enum frame_role frame_role(const struct shown_frame *f, bool blocked);
/* Code that is only on the way to a wait or to a thread's first function: entry frames, the C
 * library but for malloc, C++'s and Rust's standard libraries, the interpreter, threading.py; no
 * frames of pools' loops (known.def). */
bool is_glue_frame(const struct shown_frame *f);
/* Where every program and thread begins, before any function of its own. */
bool frame_is_entry(const struct shown_frame *f);
/* The C library, the maths library, the dynamic linker or the vdso. */
bool module_is_libc(const char *module);
/* malloc, free and what they are made of. */
bool frame_is_malloc(const struct shown_frame *f);
/* Is F a function of Python's in a file whose path ends in FILE_END, called NAME as
 * frame_name_has() says?  NULL: any. */
bool frame_is(const struct shown_frame *f, const char *file_end, const char *name);
/* What imports in Python, and what finds, reads and compiles modules, which others call, too
 * (py_compile).  Source: CPython Lib/importlib/_bootstrap.py, _bootstrap_external.py, both
 * frozen. */
bool frame_is_importlib(const struct shown_frame *f);
/* The first of these alone: every import has such a frame. */
bool frame_is_import(const struct shown_frame *f);
/* What starts a thread; Python's start() waits until it has begun.
 * Source: CPython Lib/threading.py; pthread_create(3). */
bool frame_starts_thread(const struct shown_frame *f);
/* What waits until a thread has ended.  Source: pthread_join(3); CPython Lib/threading.py. */
bool frame_joins_thread(const struct shown_frame *f);
/* What pickles, sends, receives or unpickles a message.  Other files of multiprocessing's call the
 * user's functions.  Source: CPython Lib/multiprocessing; loky's backend is made like it. */
bool frame_passes_data(const struct shown_frame *f);
/* SQLite, which sleeps only to try again for a lock that another connection has.
 * Source: SQLite's main.c (sqliteDefaultBusyCallback), wal.c (walTryBeginRead). */
bool frame_is_sqlite(const struct shown_frame *f);
