/* What a recording is made of, as entries (recording/entry.h): things that are final, one by one,
 * in any order but that what a thing refers to came before it.  What has an id of its own, texts,
 * metrics and the origin may come again: the last one counts.  Process, thread and host change for
 * as long as the recording goes on. */
#pragma once

#include "base/err.h"
#include "profile/kept.h"
#include "profile/moments.h"
#include "recording/entry.h"

/* Gets each entry, LEN bytes, valid for the call. */
struct sink_to {
    void (*take)(void *ctx, const char *entry, size_t len);
    void *ctx;
};

struct sink;
/* TEXTS has the texts of all ids that come, and is borrowed.  Never NULL. */
struct sink *sink_new(const struct profile *texts, struct sink_to to);
/* The next entry is left out if it is the one that left *SEEN, 0 at first. */
void sink_unless(struct sink *s, uint64_t *seen);

void sink_text(struct sink *s, const char *key, const char *text);
void sink_no_texts(struct sink *s); /* those that came do not count */
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
void sink_listener(struct sink *s, uint32_t id, const struct listener *l);
void sink_process(struct sink *s, process_id id, const struct profile_process *process);
void sink_children(struct sink *s, process_id id, const struct profile_process *process);
void sink_thread(struct sink *s, thread_id id, const struct profile_thread *thread);
void sink_count(struct sink *s, thread_id id, size_t position, const struct count_mark *mark);
/* NUMBER is the run's own, and rises with the time of a thread's runs. */
void sink_run(struct sink *s, uint64_t number, thread_id id, const struct run *run);
void sink_mark(struct sink *s, uint32_t id, const struct user_mark *mark);
void sink_pause(struct sink *s, uint32_t id, const struct user_pause *pause);
void sink_tasks(struct sink *s, uint32_t id, const struct profile_task_wait *tasks);
void sink_no_tasks(struct sink *s);
void sink_no_marks(struct sink *s);

/* The rows of table KIND that are of ID (entry_dooms()) will go, at sink_purge(). */
void sink_doom(struct sink *s, enum table_kind kind, uint32_t id);
void sink_purge(struct sink *s);
/* Keeps, in tables of their own, the runs that ended after FROM_NS and by TO_NS, which will come
 * again, joined, and all counts, which will go. */
void sink_add_recent(struct sink *s, int64_t from_ns, int64_t to_ns);
/* Deletes of those tables what ended before SINCE_NS, and the oldest of more than MOST runs. */
void sink_trim_recent(struct sink *s, int64_t since_ns, uint64_t most);
/* What came until now belongs together, and reaches until END_NS. */
void sink_commit(struct sink *s, int64_t end_ns);
void sink_end(struct sink *s, int64_t end_ns);
struct sink *sink_free(struct sink *s);
