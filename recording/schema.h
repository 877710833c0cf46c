/* The tables of a recording: which rows of the catalogue (profile/fields.h) each has, behind its
 * keys.  docs/recording.md explains them.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/fields.h"

enum {
    SCHEMA_MAJOR = 1,                   /* a reader of this one reads all files of it */
    SCHEMA_MINOR = 6,                   /* columns, tables and views that were added since */
    SCHEMA_APPLICATION_ID = 0x77737079, /* "wspy", in the file's header */
};

enum table_kind { /* in the order of being read: what others refer to comes first */
                  TABLE_MOUNT,
                  TABLE_MODULE,
                  TABLE_FUNCTION,
                  TABLE_FRAME,
                  TABLE_LOCATION,
                  TABLE_STACK,
                  TABLE_WAIT_FOR,
                  TABLE_WAIT,
                  TABLE_LOCK,
                  TABLE_LISTENER,
                  TABLE_HOST,
                  TABLE_PROCESS,
                  TABLE_CHILD,
                  TABLE_TASKS,
                  TABLE_MARK,
                  TABLE_PAUSE,
                  TABLE_THREAD,
                  TABLE_RECENT_COUNT,
                  TABLE_COUNT,
                  TABLE_RECENT,
                  TABLE_RUN,
                  TABLE_KINDS,
};
enum { TABLE_KEYS = 4, TABLE_PARTS = 4 };
/* The fields of one kind of row in a table. */
struct table_part {
    enum row_kind rows;
    size_t at;          /* where their struct begins in the table's item */
    const char *prefix; /* of the columns' names; NULL: none */
    uint32_t of_kind;   /* only items that begin with this enum have them; 0: all */
};
struct row_table {
    const char *name;
    const char *keys[TABLE_KEYS]; /* whole numbers; "id": 1, 2, 3, … without MOST_ID */
    struct table_part parts[TABLE_PARTS];
    size_t n_keys, n_parts;
    int since;       /* the SCHEMA_MINOR of the first files that have it */
    bool numbered;   /* words are kept as their numbers (table `state` has them) */
    int64_t most_id; /* ids rise, with gaps, up to this one */
};
extern const struct row_table recording_tables[TABLE_KINDS];
extern const char *const recording_states[]; /* of runs, by value; NULL at the end */

/* Appends the name of the column that field F of PART is. */
void schema_add_column(struct text *out, const struct table_part *part, const struct field *f);
/* Appends "CREATE TABLE …;" */
void schema_add_table(struct text *out, const struct row_table *t);
/* Appends "INSERT …" with a '?' for each key, then for each field of each part. */
void schema_add_insert(struct text *out, const struct row_table *t);
