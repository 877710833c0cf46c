/* The tid of the thread that a pthread_t of a target stands for.  The C library keeps it in the
 * block that pthread_self() points to, and each library elsewhere: glibc in struct pthread's `tid`
 * (x86-64, 2.4 to 2.41), musl in its `tid` (1.2).  The word at the other library's place is a
 * pointer or random, hardly ever a thread's tid: who reads all places asks which of them is one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/mem.h"

enum { PY_TID_PLACES = 2 };
extern const uint32_t py_tid_places[PY_TID_PLACES]; /* offsets */

bool py_is_tid(uint32_t word); /* may it be one? */
/* Fills TIDS with what may be the tid of THREAD.  Returns how many. */
size_t py_pthread_tids(struct mem *live, uint64_t thread, pid_t tids[PY_TID_PLACES]);
