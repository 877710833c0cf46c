/* The recording as data: strings, modules, functions, frames, the tree of stacks, processes,
 * threads and each thread's time line of runs.  Everything is interned, so memory grows with what
 * changes, not with time.  Knows nothing of capturing or of file formats.  Ids are checked: a wrong
 * one is our bug and aborts.  Pointers returned stay valid until the next thing of their kind is
 * added (texts: as long as the profile).  One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/exact_time.h"
#include "profile/frame.h"
#include "profile/ids.h"
#include "profile/metrics.h"
#include "profile/process.h"
#include "profile/task_wait.h"
#include "profile/thread.h"
#include "profile/wait.h"

struct profile;

/* ---- frames ---- */

/* LIMIT in bytes for all that the profile holds; 0: none.  Half of the limit is for time, half
 * for stacks and names.  Where time does not fit, the time lines become coarser (runs in like
 * states are joined within steps of time, profile_time_step_ns(), but for a part of the time,
 * profile_exact_time()), and ended threads become one per
 * name: no sum is lost.  Where stacks do not fit, new ones end in "[storage full]" from where they
 * are new, and new waits keep only their call, counted as METRIC_STACKS_REFUSED,
 * METRIC_FRAMES_REFUSED, METRIC_NAMES_REFUSED, METRIC_WAITS_REFUSED; older ones lose whom they were
 * for where a step of a minute does not make room enough.  When no step makes room for
 * runs, they become one such stack, counted as METRIC_RUNS_REFUSED. */
struct profile *profile_new(size_t limit);
/* Within steps of this length the order of runs is lost; 0: nowhere. */
int64_t profile_time_step_ns(const struct profile *p);
/* Where it is not lost all the same; valid as long as P. */
const struct exact_time *profile_exact_time(const struct profile *p);
struct profile *profile_free(struct profile *p);

string_id profile_string(struct profile *p, const char *s); /* copies; "" is a string, not none */
string_id profile_string_n(struct profile *p, const char *s, size_t len); /* cut at the first NUL */
const char *profile_text(const struct profile *p, string_id id); /* "" for none; it is P's */
const char *profile_text_or_null(const struct profile *p, string_id id); /* NULL for none */

module_id profile_module(struct profile *p, const struct profile_module *m);
const struct profile_module *profile_get_module(const struct profile *p, module_id id);
func_id profile_func(struct profile *p, const struct func *f);
const struct func *profile_get_func(const struct profile *p, func_id id);
frame_id profile_frame(struct profile *p, const struct frame *f);
const struct frame *profile_get_frame(const struct profile *p, frame_id id);
void profile_flag_frame(struct profile *p, frame_id id,
                        uint32_t flags);               /* adds FLAGS; it stays the same frame */
uint32_t profile_frame_count(const struct profile *p); /* ids run from 1 to this */
frame_id profile_mark(struct profile *p, const char *name, const char *file); /* FILE NULL: none */

/* Sets the locations of a native frame; LOC innermost first, N ≥ 1.  Replaces. */
void profile_locate(struct profile *p, frame_id f, const struct location *loc, size_t n);
/* NULL and *RET_N 0 while nothing is known. */
const struct location *profile_locations(const struct profile *p, frame_id f, size_t *ret_n);

/* ---- stacks: a prefix tree, outermost frame first ---- */

stack_id profile_push(struct profile *p, stack_id parent, frame_id f); /* same pair, same id */
frame_id profile_stack_frame(const struct profile *p, stack_id s);     /* innermost frame of S */
stack_id profile_stack_parent(const struct profile *p, stack_id s);
uint32_t profile_stack_depth(const struct profile *p, stack_id s);
uint32_t profile_stack_count(const struct profile *p);

/* ---- processes, threads, runs ---- */

struct profile_process {
    pid_t pid;
    process_id parent; /* its parent when the process was found; none: not recorded */
    string_id command; /* the argument vector as one line, secrets masked */
    string_id comm;
    string_id title;          /* its title (setproctitle, prctl), at first its `comm` */
    string_id environment;    /* the few variables of it that are kept, "NAME=value …" */
    string_id allocator;      /* "glibc", "jemalloc (preloaded)"; none: unknown */
    string_id openmp;         /* "libgomp, libiomp5"; none: no such library */
    string_id python_version; /* none: no Python */
    string_id python_note;    /* why Python frames are missing, if they are */
    struct profile_cpu_limits cpu_limits;
    struct profile_memory_limit memory_limit;
    struct profile_net net;
    int64_t swapped_first, swapped_last;  /* bytes of it that were swapped out */
    uint64_t threads;                     /* that it had at the end; 0: unknown, or it ended */
    struct profile_usage usage;           /* switches: of its threads, as far as theirs is known */
    int64_t children_cpu_ns;              /* of its children that ended in that time */
    bool swapped_known, children_known;   /* SWAPPED_… are; whether it has any is */
    const struct profile_child *children; /* in the order of being seen; owned by the profile */
    size_t n_children;
    uint64_t children_seen; /* in all; only the first 64 are in CHILDREN */
};
/* Adds a process, a thread: always a new one, because pids and tids are used again. */
process_id profile_process(struct profile *p, const struct profile_process *process);
struct profile_process *profile_get_process(struct profile *p, process_id id);
const struct profile_process *profile_see_process(const struct profile *p, process_id id);
/* Copies the N CHILDREN, and replaces earlier ones. */
void profile_set_children(struct profile *p, process_id id, const struct profile_child *children,
                          size_t n);
uint32_t profile_process_count(const struct profile *p);
struct profile_host *profile_get_host(struct profile *p);
const struct profile_host *profile_see_host(const struct profile *p);
/* Same texts, same id; none for a new one beyond the first thousand. */
mount_id profile_mount(struct profile *p, const struct profile_mount *m);
const struct profile_mount *profile_see_mount(const struct profile *p, mount_id id);
uint32_t profile_mount_count(const struct profile *p);
/* Copies WAIT; those beyond MOST_TASK_WAITS are left out. */
void profile_add_task_wait(struct profile *p, const struct profile_task_wait *wait);
void profile_forget_task_waits(struct profile *p);
const struct profile_task_wait *profile_task_waits(const struct profile *p, size_t *ret_n);

thread_id profile_thread(struct profile *p, process_id process, pid_t tid, string_id name,
                         int64_t start_ns);
struct profile_thread *profile_get_thread(struct profile *p, thread_id id);
const struct profile_thread *profile_see_thread(const struct profile *p, thread_id id);
/* Ids run from 1 to this; an id that stands for no thread has no runs. */
uint32_t profile_thread_count(const struct profile *p);
/* Appends RUN; joins it to the last one if spot and state are equal and no time lies between. */
void profile_add_run(struct profile *p, thread_id id, const struct run *run);
/* Keeps the thread's counts as of AT_NS; call it about once in WEIGHTS_WINDOW samples. */
void profile_mark_counts(struct profile *p, thread_id id, int64_t at_ns);
/* Ends the thread's time line, so that its runs take no more room than they need: a program that
 * starts a thread per task leaves thousands of time lines of two runs each.  If the thread has
 * `ended` and is no main thread, its id may be another's from now on; else it may go on all the
 * same (execve). */
void profile_end_thread(struct profile *p, thread_id id, int64_t end_ns);

/* ---- the whole ---- */
/* Sets the end of all time lines, nanoseconds since the origin, each run's `counted_ns`, and the
 * numbers of profile_count_threads(). */
void profile_end(struct profile *p, int64_t end_ns);
int64_t profile_end_ns(const struct profile *p);
void profile_count_threads(struct profile *p); /* sets those of time and threads as of now */

/* Numbers about the recording, for the output's "wallspy" block and --stats. */
void profile_set_number(struct profile *p, enum metric m, double value);
void profile_add_number(struct profile *p, enum metric m, double delta);
double profile_number(const struct profile *p, enum metric m); /* 0 if never set */

/* Texts about the recording, for the same places: in the order of first set. */
struct profile_metadatum {
    const char *key; /* a literal, snake_case: "host"; no metric's key */
    string_id text;
};
void profile_set_text(struct profile *p, const char *key, const char *text);
void profile_forget_metadatum(struct profile *p, const char *key);
const struct profile_metadatum *profile_metadata(const struct profile *p, size_t *ret_n);
const char *profile_metadata_text(const struct profile *p, const char *key); /* "" if never set */
