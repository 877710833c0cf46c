/* Small profiles for tests, with stacks written as text, outermost first, split at " > ":
 *
 *     step@/src/train.py:7:9        Python: function@file:first line:current line
 *     mge::Worker::run!libmge.so    native: function!module, located; function?!module: guessed
 *     0x7f0010                      native: in no module, nameless
 *     futex [blocked]               anything else: a mark; of file "[off-cpu]" if it is a wait
 */
#pragma once

#include "profile/profile.h"

struct profile_builder {
    struct profile *p;
    process_id process;
};
struct profile_builder builder_start(pid_t pid, const char *comm); /* with one process */
/* NAME NULL: the process's; MAIN if TID is the process's. */
thread_id builder_thread(struct profile_builder *b, pid_t tid, const char *name);
stack_id builder_stack(struct profile_builder *b, const char *text);
/* Appends a run after the thread's last one; its samples are WALL_MS / 10. */
void builder_run(struct profile_builder *b, thread_id t, const char *stack, int64_t wall_ms,
                 int64_t cpu_ms);
void builder_missed(struct profile_builder *b, thread_id t, int64_t wall_ms);
