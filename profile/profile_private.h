/* A profile from within; private to profile/. */
#pragma once

#include "base/hash.h"
#include "profile/kept.h"
#include "profile/metadata.h"
#include "profile/moments.h"
#include "profile/profile.h"
#include "profile/stack_tree.h"
#include "profile/strings.h"
#include "profile/thread_table.h"

/* Where in `locations` those of one frame are. */
struct located {
    size_t first, n;
};

/* This bit of a text's id says that the rest is the id of one of struct moments' texts. */
static const uint32_t of_a_mark = (uint32_t)STRINGS_MOST + 1;

struct moments {
    struct user_mark *marks;
    size_t n_marks, marks_capacity;
    uint64_t n_aged;      /* of those that were, older than a ring */
    struct strings texts; /* of the marks, with which they go */
    struct user_pause *pauses;
    size_t n_pauses, pauses_capacity;
};

struct profile {
    size_t limit;
    int64_t end_ns;
    struct profile_origin origin;
    frame_id storage_full;
    struct strings strings;
    struct stack_tree stacks;
    struct metadata metadata;
    double numbers[METRIC_COUNT];

    struct profile_module *modules;
    size_t n_modules, modules_capacity;
    struct index module_index;

    struct func *funcs;
    size_t n_funcs, funcs_capacity;
    struct index func_index;

    struct frame *frames;
    size_t n_frames, frames_capacity;
    struct index frame_index;

    struct wait *waits;
    size_t n_waits, waits_capacity;
    struct index wait_index;
    struct listed_blocker *lists;
    size_t n_lists, lists_capacity;
    struct index list_index;

    struct located *located; /* by frame; shorter than frames until the last one is located */
    size_t n_located, located_capacity;
    struct location *locations;
    size_t n_locations, locations_capacity;

    struct profile_process *processes;
    size_t n_processes, processes_capacity;
    struct profile_host host;
    struct profile_mount *mounts;
    size_t n_mounts, mounts_capacity;
    struct index mount_index;
    struct profile_task_wait task_waits[MOST_TASK_WAITS];
    size_t n_task_waits;
    struct lock_name lock_names[MOST_LOCK_NAMES];
    size_t n_lock_names;
    struct listener listeners[MOST_LISTENERS];
    size_t n_listeners;
    struct moments moments;
    struct thread_table threads;
};
/* Drops the marks that are before NS. */
void profile_age_marks(struct profile *p, int64_t ns);
/* Is there no room for new stacks, frames and waits? */
bool profile_is_full(const struct profile *p);
/* Keeps the marks and pauses of [FROM_NS, TO_NS), which becomes all of P's time. */
void profile_cut_moments(struct profile *p, int64_t from_ns, int64_t to_ns);
