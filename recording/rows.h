/* The rows of a recording's tables, one after the other, checked for what every table promises. */
#pragma once

#include "recording/database.h"
#include "recording/schema.h"

enum { ROWS_MOST_COLUMNS = 128 };
struct rows { /* of one table */
    struct database *db;
    struct profile *p; /* gets the texts */
    const struct row_table *table;
    sqlite3_stmt *s;
    int keys[TABLE_KEYS];          /* their columns */
    int fields[ROWS_MOST_COLUMNS]; /* those of the fields, part after part; −1: it has none */
    /* The keys of the present row; 0 for none. */
    uint32_t numbers[TABLE_KEYS];
    uint32_t n;      /* rows so far */
    int64_t last_id; /* where ids have gaps */
    char wrong[160]; /* what is wrong with the file; "": nothing so far */
};

/* Is NAME a table, and neither a view nor one that a module makes up?  Those may run for ever, and
 * are none of ours. */
bool rows_is_table(struct database *db, const char *name);
/* Is a column of table NAME computed when it is read?  The functions for that may run for hours,
 * and nothing interrupts one. */
bool rows_are_computed(struct database *db, const char *name);
/* Begins to read T.  Columns that T does not know are left out, and those that the file lacks keep
 * their zeros. */
void rows_begin(struct rows *ret, struct database *db, struct profile *p,
                const struct row_table *t);
/* Reads the next row's fields into ITEM, a zeroed struct.  False: there is none, or WRONG or the
 * database's error says why not. */
bool rows_next(struct rows *rows, void *item);
/* Says what is wrong with the present row; returns false. */
bool rows_fail(struct rows *rows, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rows_end(struct rows *rows);
