/* Small profiles for tests, with stacks written as text, outermost first, split at " > ":
 *
 *     step@/src/train.py:7:9        Python: function@file:first line:current line
 *     mge::Worker::run!libmge.so    native: function!module, located; function?!module: guessed
 *     run!/opt/a/libmge.so          the module's path
 *     run!app|/src/run.cc:7         with a file and the current line
 *     0x7f0010                      native: in no module, nameless
 *     0x7f0010!libc.so.6            native: nameless, located
 *     futex [blocked]               a wait as summary/wait_text.h says it
 *     read /mnt//a/b [blocked]      for a file below a mount
 *     [truncated]                   anything else: a mark
 */
#pragma once

#include "profile/profile.h"
#include "summary/view.h"

struct profile_builder {
    struct profile *p;
    process_id process;
};
struct profile_builder builder_start(pid_t pid, const char *comm); /* with one process */
struct profile_builder builder_start_within(size_t limit, pid_t pid, const char *comm); /* bytes */
/* Adds a process, which later threads are of.  ENVIRONMENT: "RANK=1 …"; NULL: nothing is kept. */
void builder_process(struct profile_builder *b, pid_t pid, const char *comm,
                     const char *environment);
/* NAME NULL: the process's; MAIN if TID is the process's. */
thread_id builder_thread(struct profile_builder *b, pid_t tid, const char *name);
struct spot builder_spot(struct profile_builder *b, const char *text);
stack_id builder_stack(struct profile_builder *b, const char *text); /* that waits for nothing */
/* Appends a run after the thread's last one; its samples are WALL_MS / 10. */
void builder_run(struct profile_builder *b, thread_id t, const char *stack, int64_t wall_ms,
                 int64_t cpu_ms);
/* The same of a thread that waits for a CPU. */
void builder_runnable(struct profile_builder *b, thread_id t, const char *stack, int64_t wall_ms);
/* The same of a thread that waits in futex(2), called by STACK's innermost function, with the other
 * side SIDE.  It does not run meanwhile. */
void builder_held(struct profile_builder *b, thread_id t, const char *stack,
                  const struct wait_side *side, int64_t wall_ms);
/* The same in epoll_wait(2). */
void builder_polls(struct profile_builder *b, thread_id t, const char *stack,
                   const struct wait_side *side, int64_t wall_ms);
/* The same of a thread that is stopped in read(2) of FILE; NULL: outside of calls. */
void builder_stopped(struct profile_builder *b, thread_id t, const char *stack, const char *file,
                     int64_t wall_ms);
void builder_missed(struct profile_builder *b, thread_id t, int64_t wall_ms);

/* P's first thread TID; NULL: there is none. */
const struct profile_thread *builder_find(const struct profile *p, pid_t tid);

/* One stack of its own, as it is shown. */
struct shown_stack {
    struct profile *p;
    struct view *view;
    const struct shown_frame *frames;
    size_t n;
};
struct shown_stack builder_shown(const char *stack);
void builder_shown_release(struct shown_stack *s);
