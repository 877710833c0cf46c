/* A profile and a dump of three processes in which everything that others name is called by a list
 * of names; all else is always the same.  So two of them, with names of other lists, differ in
 * nothing but these. */
#pragma once

#include "dump/dump.h"

enum { HOSTILE_THREADS = 12, HOSTILE_TASKS = 2 };
struct hostile_stage {
    struct profile *p;
    struct dump dump;
    struct dump_thread threads[HOSTILE_THREADS];
    struct listed_task tasks[HOSTILE_TASKS];
    size_t task_threads[HOSTILE_TASKS];
    const char *const *names;
    size_t n_names, used; /* names are taken in turn */
    process_id process;
};
/* N ≥ 1; NAMES are copied.  DISTINCT: each name gets letters before it, so that none is equal to
 * another or is a word that has a meaning, and '/' becomes ':', because a path is no name. */
void hostile_stage_init(struct hostile_stage *s, const char *const *names, size_t n, bool distinct);
void hostile_stage_release(struct hostile_stage *s);
