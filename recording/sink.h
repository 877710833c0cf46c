/* A recording that is being written: takes things that are final, one by one, in any order but that
 * what a thing refers to came before it.  Process, thread, host, metric and text may come again:
 * the last one counts.  The first error stays, and sink_end() returns it. */
#pragma once

#include "base/err.h"
#include "profile/kept.h"
#include "profile/moments.h"

struct sink;
/* Creates the file PATH, which must not be there; NULL: in memory.  TEXTS has the texts of all ids
 * that come, and is borrowed.  Never NULL. */
struct sink *sink_new(const char *path, const struct profile *texts);

void sink_text(struct sink *s, const char *key, const char *text);
void sink_metric(struct sink *s, enum metric m, double value);
void sink_origin(struct sink *s, const struct profile_origin *origin);
void sink_exact_time(struct sink *s, const struct exact_time *e);
void sink_host(struct sink *s, const struct profile_host *host);
void sink_mount(struct sink *s, mount_id id, const struct profile_mount *m);
void sink_module(struct sink *s, module_id id, const struct profile_module *m);
void sink_function(struct sink *s, func_id id, const struct func *f); /* of Python's */
void sink_frame(struct sink *s, frame_id id, const struct frame *f);
/* Innermost first; for a frame that came. */
void sink_locations(struct sink *s, frame_id id, const struct location *l, size_t n);
void sink_stack(struct sink *s, stack_id id, stack_id parent, frame_id frame);
/* With its list, as it is in TEXTS. */
void sink_wait(struct sink *s, wait_id id, const struct wait *w);
void sink_lock(struct sink *s, uint32_t id, const struct lock_name *lock);
/* With its children. */
void sink_process(struct sink *s, process_id id, const struct profile_process *process);
void sink_thread(struct sink *s, thread_id id, const struct profile_thread *thread);
void sink_count(struct sink *s, thread_id id, size_t position, const struct count_mark *mark);
void sink_run(struct sink *s, thread_id id, const struct run *run);
void sink_mark(struct sink *s, uint32_t id, const struct user_mark *mark);
void sink_pause(struct sink *s, uint32_t id, const struct user_pause *pause);
void sink_tasks(struct sink *s, uint32_t id, const struct profile_task_wait *tasks);

/* Makes the file whole: END_NS, sums, indexes, statistics for SQLite's planner.  Returns 0, or a
 * negative errno with ERR. */
int sink_end(struct sink *s, int64_t end_ns, struct err *err);
/* Of one in memory that has ended: its file, LEN bytes, valid as long as S. */
const unsigned char *sink_bytes(struct sink *s, size_t *ret_len);
struct sink *sink_free(struct sink *s);
