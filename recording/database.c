#include "recording/database.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "recording/recording_file.h"

enum {
    STEPS_A_LOOK = 10000, /* of SQLite's machine, some microseconds to a millisecond */
    MOST_TEXT_BYTES = 1 << 24,
    MOST_SQL_BYTES = 1 << 20,
    MOST_COLUMNS = 200,
    OPEN_FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, /* one thread uses it */
    MOST_READER_MS = 2000, /* that who reads a growing file is waited for, or who writes it */
};
static const int64_t most_bytes_in_memory = INT64_C(1) << 40;

/* SQLite's words may hold names of the file's. */
static void keep_words(struct database *d, const char *words)
{
    struct text tame = {0};
    text_add_tame(&tame, words, strlen(words));
    if (tame.len)
        (void)snprintf(d->why, sizeof d->why, "%.*s",
                       (int)utf8_cut(tame.s, tame.len, sizeof d->why / 4), tame.s);
    text_release(&tame);
}

void database_note(struct database *d, int code)
{
    bool good = code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE;
    if (good || d->code != SQLITE_OK)
        return;
    d->code = code;
    keep_words(d, d->db && code != SQLITE_NOMEM ? sqlite3_errmsg(d->db) : sqlite3_errstr(code));
}

static void limit(struct database *d)
{
    static const struct {
        int id, most;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, MOST_TEXT_BYTES},  {SQLITE_LIMIT_SQL_LENGTH, MOST_SQL_BYTES},
        {SQLITE_LIMIT_COLUMN, MOST_COLUMNS},     {SQLITE_LIMIT_EXPR_DEPTH, 20},
        {SQLITE_LIMIT_COMPOUND_SELECT, 10},      {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 0},         {SQLITE_LIMIT_WORKER_THREADS, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100}, {SQLITE_LIMIT_FUNCTION_ARG, 8}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        (void)sqlite3_limit(d->db, limits[i].id, limits[i].most);
}

/* Source: sqlite.org/security.html. */
static void distrust(struct database *d)
{
    static const struct {
        int id, on;
    } settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        database_note(d, sqlite3_db_config(d->db, settings[i].id, settings[i].on, NULL));
    limit(d);
    database_run(d, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON;");
}

static int is_over(void *ctx)
{
    const struct database *d = ctx;
    return d->end_ns && clock_now_ns() > d->end_ns;
}

static void open_memory(struct database *d, const void *bytes, size_t len)
{
    unsigned flags = bytes ? SQLITE_DESERIALIZE_READONLY : SQLITE_DESERIALIZE_RESIZEABLE;
    sqlite3_int64 most = most_bytes_in_memory;
    database_note(d, sqlite3_open_v2(":memory:", &d->db, OPEN_FLAGS, NULL));
    if (d->code == SQLITE_OK)
        database_note(d, sqlite3_deserialize(d->db, "main", (unsigned char *)bytes,
                                             (sqlite3_int64)len, (sqlite3_int64)len,
                                             flags | (bytes ? 0 : SQLITE_DESERIALIZE_FREEONCLOSE)));
    if (d->code == SQLITE_OK && !bytes)
        database_note(d, sqlite3_file_control(d->db, "main", SQLITE_FCNTL_SIZE_LIMIT, &most));
    database_run(d, "PRAGMA temp_store=MEMORY;"); /* no file of its own in /var/tmp */
}

void database_create(struct database *d)
{
    *d = (struct database){.code = SQLITE_OK};
    open_memory(d, NULL, 0);
}

/* The file's folder has room for what is sorted, if there is room at all. */
static void sort_beside(const char *path)
{
    size_t len = (size_t)(path_base(path) - path);
    char *folder = len ? xasprintf("%.*s", (int)len, path) : xstrdup(".");
    (void)setenv("SQLITE_TMPDIR", folder, 1);
    free(folder);
}

void database_grow(struct database *d, const char *path, bool wal)
{
    int flags = OPEN_FLAGS | SQLITE_OPEN_NOFOLLOW;
    *d = (struct database){.code = SQLITE_OK};
    sort_beside(path);
    database_note(d, sqlite3_open_v2(path, &d->db, flags, NULL));
    if (d->code == SQLITE_OK)
        (void)sqlite3_busy_timeout(d->db, MOST_READER_MS);
    database_run(d, "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA cache_size=-8000; "
                    "PRAGMA synchronous=OFF; PRAGMA temp_store=FILE; "
                    "PRAGMA journal_size_limit=8000000;");
    database_run(d, wal ? "PRAGMA journal_mode=WAL;" : "PRAGMA locking_mode=EXCLUSIVE;");
}

/* Is there a journal of PATH, which names no other file?  SQLite would remove that one, whoever
 * wrote its name.  Source: sqlite.org/fileformat2.html, "The Rollback Journal";
 * readSuperJournal() in its pager.c. */
static bool has_own_journal(const char *path)
{
    static const unsigned char names_another[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char last[sizeof names_another];
    struct stat st = {0};
    char *journal = xasprintf("%s-journal", path);
    int fd = open(journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    bool own =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof last &&
        pread(fd, last, sizeof last, st.st_size - (off_t)sizeof last) == (ssize_t)sizeof last &&
        memcmp(last, names_another, sizeof last) != 0;
    if (fd >= 0)
        close(fd);
    free(journal);
    return own;
}

/* Of a file that grew until it was killed a journal is to be played back.  One that has ended is
 * not changed any more: what lies beside it under such names is another's. */
static const char *mode_of(const char *path)
{
    if (!str_ends(path, recording_part_suffix))
        return "ro&immutable=1";
    return has_own_journal(path) ? "rw" : "ro";
}

static void add_uri(struct text *out, const char *path, bool alone)
{
    text_add(out, "file:");
    for (const char *s = path; *s; s++)
        if (strchr("?#%", *s))
            text_addf(out, "%%%02x", (unsigned char)*s);
        else
            text_add_bytes(out, s, 1);
    text_addf(out, "?mode=%s", alone ? "ro&immutable=1" : mode_of(path));
}

static void open_uri(struct database *d, const char *path, bool alone)
{
    struct text uri = {0};
    add_uri(&uri, path, alone);
    database_note(d, sqlite3_open_v2(uri.s, &d->db, OPEN_FLAGS | SQLITE_OPEN_URI, NULL));
    text_release(&uri);
}

/* Who may not write to its folder cannot have the memory that a -wal is read by, and gets what is
 * in the file itself. */
static void open_file(struct database *d, const char *path)
{
    open_uri(d, path, false);
    if (d->code != SQLITE_OK ||
        sqlite3_exec(d->db, "PRAGMA schema_version", NULL, NULL, NULL) != SQLITE_CANTOPEN)
        return;
    database_close(d);
    open_uri(d, path, true);
}

void database_open(struct database *d, const char *path, const void *bytes, size_t len, int most_s)
{
    *d =
        (struct database){.code = SQLITE_OK, .end_ns = clock_now_ns() + most_s * (int64_t)NS_PER_S};
    if (path)
        open_file(d, path);
    else
        open_memory(d, bytes, len);
    if (d->code != SQLITE_OK)
        return;
    (void)sqlite3_busy_timeout(d->db, MOST_READER_MS); /* who writes may be at its end */
    sqlite3_progress_handler(d->db, STEPS_A_LOOK, is_over, d);
    distrust(d);
}

void database_close(struct database *d)
{
    (void)sqlite3_close(d->db);
    d->db = NULL;
}

void database_run(struct database *d, const char *sql)
{
    if (d->code == SQLITE_OK)
        database_note(d, sqlite3_exec(d->db, sql, NULL, NULL, NULL));
}

sqlite3_stmt *database_prepare(struct database *d, const char *sql)
{
    sqlite3_stmt *s = NULL;
    if (d->code == SQLITE_OK)
        database_note(d, sqlite3_prepare_v2(d->db, sql, -1, &s, NULL));
    return s;
}

bool database_step(struct database *d, sqlite3_stmt *s)
{
    if (d->code != SQLITE_OK)
        return false;
    int code = sqlite3_step(s);
    database_note(d, code);
    return code == SQLITE_ROW;
}

void database_finish(struct database *d, sqlite3_stmt *s)
{
    if (d->code != SQLITE_OK)
        return;
    while (database_step(d, s))
        ;
    (void)sqlite3_reset(s);
}

int64_t database_number(struct database *d, const char *sql)
{
    sqlite3_stmt *s = database_prepare(d, sql);
    int64_t number = database_step(d, s) ? sqlite3_column_int64(s, 0) : 0;
    (void)sqlite3_finalize(s);
    return number;
}

/* A file may have holes, and seem to be of any length. */
void database_bound_texts(struct database *d)
{
    static const int64_t most = INT64_C(1) << 32;
    int64_t page_bytes = database_number(d, "PRAGMA page_size");
    d->most_text_bytes = min_i64(database_number(d, "PRAGMA page_count") * page_bytes, most);
}

bool database_takes_text(struct database *d, int bytes)
{
    d->text_bytes += bytes;
    return d->text_bytes <= d->most_text_bytes;
}

const unsigned char *database_bytes(struct database *d, size_t *ret_len)
{
    sqlite3_int64 len = 0;
    unsigned char *bytes = NULL;
    if (d->code == SQLITE_OK)
        bytes = sqlite3_serialize(d->db, "main", &len, SQLITE_SERIALIZE_NOCOPY);
    *ret_len = bytes ? (size_t)len : 0;
    return bytes;
}
