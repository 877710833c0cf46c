/* The names that threading.py gives to threads, of versions that do not tell the kernel (before
 * 3.14).  They are read live, from threading._active of the main interpreter.  Source: CPython
 * Lib/threading.py. */
#pragma once

#include "base/text.h"
#include "pyframes/py_runtime.h"

struct py_thread_names;
/* Borrows both.  For one thread: allocates, and reads live memory some 20 times a name. */
struct py_thread_names *py_thread_names_new(const struct py_runtime *rt, struct mem *live);
/* Appends to OUT the name of the thread THREAD_ID (its pthread_t, threading.get_ident()).  The
 * caller checks afterwards that the thread still lives: if not, the name may be that of a thread
 * that took over its pthread_t.  Returns 0; a negative errno: threading does not know it, or not
 * yet, or this version tells the kernel itself. */
int py_thread_names_find(struct py_thread_names *names, uint64_t thread_id, struct text *out);
/* The same in every version: the kernel has the main thread's name and 15 bytes of others' only. */
int py_thread_names_ask(struct py_thread_names *names, uint64_t thread_id, struct text *out);
/* As py_thread_names_find(), for the thread whose state THREAD_STATE was in RECORDED. */
int py_thread_names_of_state(struct py_thread_names *names, struct mem *recorded,
                             uint64_t thread_state, struct text *out);
struct py_thread_names *py_thread_names_free(struct py_thread_names *names); /* NULL is fine */
