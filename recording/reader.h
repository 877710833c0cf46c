/* A profile that is made of a file's rows: what the readers of all tables share. */
#pragma once

#include "base/hash.h"
#include "profile/kept.h"
#include "recording/facts.h"
#include "recording/rows.h"

struct ids { /* the profile's, by the file's minus 1 */
    uint32_t *items;
    size_t n, capacity;
};
struct reader {
    struct database db;
    struct profile *p;
    struct rows rows; /* of the present table */
    struct ids ids[TABLE_KINDS];
    int64_t runs_ns, counts_ns, paused_ns; /* sums */
    struct facts facts;
    bool recent; /* reads the tables recent and recent_count, too, for [FROM_NS, TO_NS) */
    bool none;   /* those have nothing of it */
    int64_t from_ns, to_ns;
    struct map recent_ends; /* by the profile's thread, the end of its last run in table recent */
    struct map threads;     /* the profile's, by the file's */
    struct map lists;       /* what waits are for, by the file's wait */
    /* Rows that gather for one other thing: its number, and how many. */
    uint32_t gathered_for;
    size_t n_gathered, gathered_capacity;
    union {
        void *gathered;
        struct location *locations;
        struct profile_child *children;
        struct blocker *blockers;
    };
};
union item {
    struct profile_mount mount;
    struct profile_module module;
    struct func func;
    struct frame frame;
    struct location location;
    struct wait wait;
    struct blocker blocker;
    struct lock_name lock;
    struct listener listener;
    struct profile_host host;
    struct profile_process process;
    struct profile_child child;
    struct profile_task_wait tasks;
    struct user_mark user_mark;
    struct user_pause user_pause;
    struct profile_thread thread;
    struct count_mark mark;
    struct run run;
};

/* ID is the profile's of the present row of KIND. */
void reader_remember(struct reader *r, enum table_kind kind, uint32_t id);
/* The file's number of a row of KIND, 0 if it may be none, becomes the profile's.  False: there is
 * no such row. */
bool reader_translate(struct reader *r, enum table_kind kind, uint32_t *id);
bool reader_translate_one(struct reader *r, enum table_kind kind, uint32_t *id); /* never none */
/* Is NS between 0 and nine years?  WHAT: its column. */
bool reader_is_time(struct reader *r, const char *what, int64_t ns);
