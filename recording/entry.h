/* A row of a recording as bytes: what is to be done, and the values for it.  Whoever makes one
 * knows the profile, whoever takes one (recording/store.h) the file alone, in another process as a
 * rule.
 *
 * An entry is: the number of the bytes that follow (4), its kind (1), the number of its values (1),
 * and each value as a type (1) with what belongs to it.  All numbers are little-endian.  Both ends
 * are one program, so the bytes have no version; but the taker trusts none of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "recording/schema.h"

enum entry_kind {
    /* enum table_kind: a row of that table, its keys and then its fields.  One whose "id" is there
     * takes the place of that. */
    ENTRY_META = TABLE_KINDS, /* key, value; takes the place of that key's */
    ENTRY_TEXT,               /* the same */
    ENTRY_METRIC,             /* key, value, unit, effect, meaning; the same */
    ENTRY_NO_TEXTS,           /* nothing of that table counts any more */
    ENTRY_NO_TASKS,
    ENTRY_NO_MARKS,
    ENTRY_DOOM,       /* an enum table_kind, and whose rows of that table will go (entry_dooms()) */
    ENTRY_PURGE,      /* now they go, all in one look at each table */
    ENTRY_RECENT_ADD, /* from, to: copies the runs that end in between to table recent */
    ENTRY_RECENT_COUNTS,           /* copies all counts to table recent_count */
    ENTRY_RECENT_SINCE,            /* since when both have all, and the most runs: sets that time */
    ENTRY_RECENT_TRIM,             /* deletes the runs that ended before that time */
    ENTRY_RECENT_TRIM_COUNTS,      /* deletes the counts before it */
    ENTRY_STORE_LAST,              /* kinds from here on are for who has the store */
    ENTRY_OPEN = ENTRY_STORE_LAST, /* the path of the file; whether no other may be replaced */
    ENTRY_COMMIT,                  /* end_ns; what came until now belongs together */
    ENTRY_END,                     /* end_ns */
    ENTRY_KINDS,
};
/* The column of table KIND by which ENTRY_DOOM says whose rows go; NULL: they cannot. */
const char *entry_dooms(uint32_t kind);

enum {
    ENTRY_HEAD_BYTES = 4,
    ENTRY_MOST_BYTES = 1 << 24, /* without the head */
    ENTRY_MOST_VALUES = 128,
};

/* ---- making one ---- */

/* Begins one at the end of OUT; returns where, for entry_end(). */
size_t entry_begin(struct text *out, enum entry_kind kind);
void entry_add_null(struct text *out);
void entry_add_number(struct text *out, int64_t value);
void entry_add_real(struct text *out, double value);
void entry_add_string(struct text *out, const char *s); /* up to the first NUL */
void entry_end(struct text *out, size_t begun, size_t n_values);

/* ---- taking one ---- */

enum entry_type { ENTRY_NULL, ENTRY_BYTE, ENTRY_NUMBER, ENTRY_REAL, ENTRY_STRING, ENTRY_TYPES };
struct entry {
    enum entry_kind kind;
    size_t n;               /* values that are left */
    const char *next, *end; /* their bytes */
};
struct entry_value {
    enum entry_type type; /* no BYTE */
    int64_t number;
    double real;
    const char *s; /* LEN bytes, within those of the entry; no NUL at the end */
    size_t len;
};
/* The entry at the beginning of BYTES.  Returns how many bytes it has; 0: it is not whole yet;
 * negative: it is none. */
ssize_t entry_parse(struct entry *ret, const char *bytes, size_t len);
/* Its next value.  False: there is none. */
bool entry_next(struct entry *e, struct entry_value *ret);
