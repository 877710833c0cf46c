/* The file of a recording, which entries fill (recording/entry.h).  It knows the schema, and
 * nothing of profiles.  The first error stays, and nothing is done after it but store_cut(). */
#pragma once

#include "base/err.h"
#include "recording/entry.h"

struct store;

enum store_journal {
    STORE_WAL,    /* readers see each commit while it grows */
    STORE_NO_WAL, /* a file system without shared memory: no reader until it ends */
};
/* In memory. */
struct store *store_new(void);
/* In the file PATH, which is there and empty.  Never NULL; store_error() says whether it is good.
 * Its folder is where SQLite's temporary files go, in all of this process. */
struct store *store_open(const char *path, enum store_journal journal);

/* Does what E says, which is of a kind below ENTRY_STORE_LAST.  An entry that no profile gives is
 * an error. */
void store_take(struct store *s, struct entry *e);
/* Keeps what came, which is whole in itself and reaches until END_NS. */
void store_commit(struct store *s, int64_t end_ns);
/* Makes the file whole: END_NS, sums, indexes, statistics for SQLite's planner.  Returns 0, or a
 * negative errno with ERR. */
int store_end(struct store *s, int64_t end_ns, struct err *err);
/* Makes it as whole as it can be without an end, also after an error: what came since the last
 * commit is dropped, and `complete` stays 0.  Returns the same, where the file is left as it is;
 * *RET_END_NS: until when it reaches. */
int store_cut(struct store *s, int64_t *ret_end_ns, struct err *err);
/* Leaves the file alone, without a -wal beside it.  False: one that reads it keeps it there. */
bool store_settle(struct store *s);
/* Writes all of it into the file PATH, which must not be there.  Returns whether that went well. */
bool store_copy(struct store *s, const char *path);
/* Its first error, as a negative errno with ERR; 0: none. */
int store_error(const struct store *s, struct err *err);
/* Of one in memory that has ended: its file, LEN bytes, valid as long as S. */
const unsigned char *store_bytes(struct store *s, size_t *ret_len);
struct store *store_free(struct store *s);
