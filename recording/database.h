/* SQLite as a recording needs it: open, prepared statements, errors.  The first error stays, and
 * nothing is done after it. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct database {
    sqlite3 *db;
    int code;       /* SQLITE_OK, or the first error */
    char why[400];  /* that one, in words */
    int64_t end_ns; /* by clock_now_ns(): nothing goes on beyond it; 0: no end */
    int64_t text_bytes, most_text_bytes; /* of the texts that were taken; and that may be */
};

/* Opens an empty one in memory, of any size. */
void database_create(struct database *d);
/* Opens the empty file PATH for what comes bit by bit: what was committed is kept when its process
 * is killed, but not when the machine goes down.  WAL: others may read meanwhile; else nobody.  Its
 * folder is where SQLite's temporary files go, in all of this process. */
void database_grow(struct database *d, const char *path, bool wal);
/* Opens the file PATH, or the LEN bytes BYTES where PATH is NULL, for reading alone.  Whoever made
 * it may be hostile: its views and triggers are nothing to us, its functions do not run, and what
 * takes longer than MOST_S seconds fails.  Its -wal and its journal are looked at if it is one that
 * grows, by its name. */
void database_open(struct database *d, const char *path, const void *bytes, size_t len, int most_s);
void database_close(struct database *d);

void database_run(struct database *d, const char *sql);
/* NULL after an error. */
sqlite3_stmt *database_prepare(struct database *d, const char *sql);
/* Is there another row?  At the end of all, and at an error, not. */
bool database_step(struct database *d, sqlite3_stmt *s);
/* Runs S to its end, and makes it ready for another time. */
void database_finish(struct database *d, sqlite3_stmt *s);
/* The first whole number that SQL gives; 0: none. */
int64_t database_number(struct database *d, const char *sql);
/* From now on database_takes_text() holds for as many bytes as the file has. */
void database_bound_texts(struct database *d);
/* A text of BYTES was read.  False: those so far are more than the file, which has each once.  Rows
 * of a hostile one may share the pages of a long text: some kilobytes would fill the memory. */
bool database_takes_text(struct database *d, int bytes);
/* Keeps CODE as the error, if it is one and the first. */
void database_note(struct database *d, int code);
/* The bytes of one in memory, which are valid until it is closed; NULL: an error. */
const unsigned char *database_bytes(struct database *d, size_t *ret_len);
