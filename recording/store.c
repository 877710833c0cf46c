#include "recording/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "recording/database.h"
#include "recording/recording_views.h"

struct store {
    struct database db;
    sqlite3_stmt *statements[ENTRY_STORE_LAST];
    size_t n_values[ENTRY_STORE_LAST];
    bool doomed[TABLE_KINDS]; /* some rows of it are */
};

static const char more_tables[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value);\n"
    "CREATE TABLE text (id INTEGER PRIMARY KEY, key TEXT UNIQUE, value TEXT);\n"
    "CREATE TABLE metric (key TEXT PRIMARY KEY, value REAL, unit TEXT, effect TEXT, meaning "
    "TEXT);\n"
    "CREATE TABLE state (id INTEGER PRIMARY KEY, name TEXT);\n"
    /* Sums over the runs, for the views. */
    "CREATE TABLE spot (thread INTEGER, state INTEGER, stack INTEGER, wait INTEGER, runs INTEGER, "
    "wall INTEGER, samples INTEGER, waits INTEGER, near_faults INTEGER, around_faults INTEGER, "
    "put_on_cpu INTEGER);\n"
    "CREATE TEMP TABLE doomed (kind INTEGER, id INTEGER);\n";

static const char sums[] =
    "INSERT INTO spot SELECT thread, state, stack, wait, count(*), sum(wall), sum(samples), "
    "sum(max(waits, state = 3)), sum(near_faults), sum(around_faults), sum(put_on_cpu) FROM run "
    "GROUP BY thread, state, stack, wait;\n"
    "CREATE INDEX run_by_thread ON run (thread);\n" /* their ids rise with time */
    "CREATE INDEX spot_by_wait ON spot (wait);\n"
    "CREATE INDEX location_by_frame ON location (frame);\n"
    "CREATE INDEX wait_for_by_wait ON wait_for (wait);\n"
    "ANALYZE;\n";

static const char set_text[] = "INSERT INTO text (key, value) VALUES (?1, ?2) "
                               "ON CONFLICT (key) DO UPDATE SET value = ?2";
static const char add_recent[] = "INSERT OR REPLACE INTO recent SELECT * FROM run WHERE start + "
                                 "wall > ? AND start + wall <= ? AND "
                                 "thread NOT IN (SELECT id FROM thread WHERE n_folded > 0)";
/* Ids rise with time, but for the part of a thread's runs that is sent together. */
static const char set_recent_since[] =
    "INSERT OR REPLACE INTO meta "
    "VALUES ('recent_since_ns', max(?1, coalesce((SELECT start FROM recent ORDER BY id "
    "LIMIT (SELECT count(*) > ?2 FROM recent) OFFSET (SELECT count(*) - ?2 FROM recent)), 0)))";
static const char trim_recent[] =
    "DELETE FROM recent WHERE start + wall <= (SELECT value FROM meta "
    "WHERE key = 'recent_since_ns')";
/* The last one before may be some seconds older. */
static const char trim_recent_counts[] =
    "DELETE FROM recent_count WHERE at_ns < (SELECT value - 10000000000 FROM meta "
    "WHERE key = 'recent_since_ns')";
static const char *const more_statements[ENTRY_STORE_LAST] = {
    [ENTRY_META] = "INSERT OR REPLACE INTO meta VALUES (?, ?)",
    [ENTRY_TEXT] = set_text,
    [ENTRY_METRIC] = "INSERT OR REPLACE INTO metric VALUES (?, ?, ?, ?, ?)",
    [ENTRY_NO_TEXTS] = "DELETE FROM text",
    [ENTRY_NO_TASKS] = "DELETE FROM tasks",
    [ENTRY_NO_MARKS] = "DELETE FROM mark",
    [ENTRY_DOOM] = "INSERT INTO temp.doomed VALUES (?, ?)",
    [ENTRY_PURGE] = "DELETE FROM temp.doomed",
    [ENTRY_RECENT_ADD] = add_recent,
    [ENTRY_RECENT_COUNTS] = "INSERT INTO recent_count SELECT * FROM count",
    [ENTRY_RECENT_SINCE] = set_recent_since,
    [ENTRY_RECENT_TRIM] = trim_recent,
    [ENTRY_RECENT_TRIM_COUNTS] = trim_recent_counts,
};

/* ---- the beginning ---- */

static void create_tables(struct store *s)
{
    struct text sql = {0};
    text_addf(&sql, "PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN;\n",
              SCHEMA_APPLICATION_ID, SCHEMA_MAJOR);
    text_add(&sql, more_tables);
    for (size_t i = 0; i < TABLE_KINDS; i++)
        schema_add_table(&sql, &recording_tables[i]);
    for (size_t i = 0; recording_states[i]; i++)
        text_addf(&sql, "INSERT INTO state VALUES (%zu, '%s');\n", i, recording_states[i]);
    text_add(&sql, recording_views);
    text_addf(&sql,
              "INSERT INTO meta VALUES ('schema_major', %d), ('schema_minor', %d), "
              "('complete', 0), ('end_ns', 0);\n",
              SCHEMA_MAJOR, SCHEMA_MINOR);
    database_run(&s->db, sql.s);
    text_release(&sql);
}

static void prepare(struct store *s)
{
    struct text sql = {0};
    for (size_t i = 0; i < ENTRY_STORE_LAST; i++) {
        text_clear(&sql);
        if (i < TABLE_KINDS)
            schema_add_insert(&sql, &recording_tables[i]);
        else
            text_add(&sql, more_statements[i]);
        s->statements[i] = database_prepare(&s->db, sql.s);
        s->n_values[i] = (size_t)sqlite3_bind_parameter_count(s->statements[i]);
    }
    text_release(&sql);
}

struct store *store_new(void)
{
    struct store *s = xcalloc(1, sizeof *s);
    database_create(&s->db);
    create_tables(s);
    prepare(s);
    return s;
}

/* What is there before the first commit is in the file itself, so that all who look at it see what
 * it is. */
struct store *store_open(const char *path, enum store_journal journal)
{
    struct store *s = xcalloc(1, sizeof *s);
    database_grow(&s->db, path, journal == STORE_WAL);
    create_tables(s);
    database_run(&s->db, "COMMIT");
    if (journal == STORE_WAL)
        database_run(&s->db, "PRAGMA wal_checkpoint(TRUNCATE)");
    database_run(&s->db, "BEGIN");
    prepare(s);
    return s;
}

/* ---- entries ---- */

static void refuse(struct store *s)
{
    database_note(&s->db, SQLITE_MISMATCH);
}

static void bind(sqlite3_stmt *statement, int index, const struct entry_value *v)
{
    switch (v->type) {
    case ENTRY_NUMBER:
        (void)sqlite3_bind_int64(statement, index, v->number);
        break;
    case ENTRY_REAL:
        (void)sqlite3_bind_double(statement, index, v->real);
        break;
    case ENTRY_STRING:
        (void)sqlite3_bind_text(statement, index, v->s, (int)v->len, SQLITE_STATIC);
        break;
    case ENTRY_NULL:
    case ENTRY_BYTE:
    case ENTRY_TYPES:
        (void)sqlite3_bind_null(statement, index);
        break;
    }
}

static void doom(struct store *s, const struct entry *e)
{
    struct entry copy = *e;
    struct entry_value kind;
    (void)entry_next(&copy, &kind);
    bool known = kind.type == ENTRY_NUMBER && kind.number >= 0 && kind.number < TABLE_KINDS &&
                 entry_dooms((uint32_t)kind.number);
    if (known)
        s->doomed[kind.number] = true;
    else
        refuse(s);
}

/* The rows have no index by their owner while the file grows: so each table is looked through once,
 * for all that go. */
static void purge(struct store *s)
{
    char sql[160];
    for (uint32_t i = 0; i < TABLE_KINDS; i++) {
        if (!s->doomed[i])
            continue;
        (void)snprintf(sql, sizeof sql,
                       "DELETE FROM main.%s WHERE %s IN (SELECT id FROM temp.doomed WHERE kind = "
                       "%u)",
                       recording_tables[i].name, entry_dooms(i), i);
        database_run(&s->db, sql);
        s->doomed[i] = false;
    }
}

void store_take(struct store *s, struct entry *e)
{
    struct entry_value value;
    if (s->db.code != SQLITE_OK)
        return;
    if (e->kind >= ENTRY_STORE_LAST || e->n != s->n_values[e->kind]) {
        refuse(s);
        return;
    }
    sqlite3_stmt *statement = s->statements[e->kind];
    if (e->kind == ENTRY_DOOM)
        doom(s, e);
    if (e->kind == ENTRY_PURGE)
        purge(s);
    for (int index = 1; entry_next(e, &value); index++)
        bind(statement, index, &value);
    database_finish(&s->db, statement);
}

/* ---- commits and the end ---- */

static void set_meta(struct store *s, const char *key, int64_t value)
{
    sqlite3_stmt *statement = s->statements[ENTRY_META];
    if (!statement)
        return;
    (void)sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 2, value);
    database_finish(&s->db, statement);
}

void store_commit(struct store *s, int64_t end_ns)
{
    set_meta(s, "end_ns", end_ns);
    database_run(&s->db, "COMMIT; BEGIN");
}

static int errno_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return -EACCES;
    case SQLITE_READONLY:
        return -EROFS;
    default:
        return -EIO;
    }
}

int store_error(const struct store *s, struct err *err)
{
    if (s->db.code == SQLITE_OK)
        return 0;
    return err_set(err, errno_of(s->db.code), "SQLite: %s", s->db.why);
}

static int finish(struct store *s, struct err *err)
{
    database_run(&s->db, sums);
    database_run(&s->db, "COMMIT");
    return store_error(s, err);
}

int store_end(struct store *s, int64_t end_ns, struct err *err)
{
    set_meta(s, "end_ns", end_ns);
    set_meta(s, "complete", 1);
    return finish(s, err);
}

/* Back to the last commit, whatever was wrong. */
static void roll_back(struct store *s)
{
    for (size_t i = 0; i < ENTRY_STORE_LAST; i++)
        (void)sqlite3_reset(s->statements[i]);
    s->db.code = SQLITE_OK;
    if (s->db.db && !sqlite3_get_autocommit(s->db.db))
        database_run(&s->db, "ROLLBACK");
    s->db.code = s->db.db ? SQLITE_OK : SQLITE_CANTOPEN;
}

int store_cut(struct store *s, int64_t *ret_end_ns, struct err *err)
{
    roll_back(s);
    *ret_end_ns = database_number(&s->db, "SELECT value FROM meta WHERE key = 'end_ns'");
    /* The ends of threads that were still there are nowhere else. */
    database_run(&s->db, "BEGIN; UPDATE thread SET end_ns = (SELECT value FROM meta WHERE key = "
                         "'end_ns') WHERE NOT ended AND NOT closed");
    int r = finish(s, err);
    if (r < 0)
        roll_back(s);
    return r;
}

/* Pages whose rows went are given back first. */
bool store_settle(struct store *s)
{
    database_run(&s->db, "PRAGMA incremental_vacuum");
    s->db.code = SQLITE_OK; /* without that it is as good as it was */
    sqlite3_stmt *mode = database_prepare(&s->db, "PRAGMA journal_mode=DELETE");
    bool settled =
        database_step(&s->db, mode) && str_eq((const char *)sqlite3_column_text(mode, 0), "delete");
    (void)sqlite3_finalize(mode);
    s->db.code = SQLITE_OK;
    return settled;
}

bool store_copy(struct store *s, const char *path)
{
    sqlite3_stmt *copy = database_prepare(&s->db, "VACUUM INTO ?");
    if (copy)
        (void)sqlite3_bind_text(copy, 1, path, -1, SQLITE_STATIC);
    database_finish(&s->db, copy);
    (void)sqlite3_finalize(copy);
    return s->db.code == SQLITE_OK;
}

const unsigned char *store_bytes(struct store *s, size_t *ret_len)
{
    return database_bytes(&s->db, ret_len);
}

struct store *store_free(struct store *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < ENTRY_STORE_LAST; i++)
        (void)sqlite3_finalize(s->statements[i]);
    database_close(&s->db);
    free(s);
    return NULL;
}
