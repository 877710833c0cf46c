#include "recording/facts.h"

#include <stdio.h>
#include <string.h>

#include "profile/metric_info.h"

enum { MOST_EVERY = 1 << 28 /* profile/exact_time.h */, MOST_KEY_BYTES = 40, MOST_TEXTS = 100 };

static bool say(struct rows *rows, const char *wrong)
{
    (void)snprintf(rows->wrong, sizeof rows->wrong, "%s", wrong);
    return false;
}

static bool check_kind(struct rows *rows, struct database *db)
{
    int64_t id = database_number(db, "PRAGMA application_id");
    int64_t major = database_number(db, "PRAGMA user_version");
    if (db->code != SQLITE_OK)
        return false;
    if (id != SCHEMA_APPLICATION_ID)
        return say(rows, "a SQLite file, but no recording of wallspy's");
    if (major == SCHEMA_MAJOR)
        return true;
    (void)snprintf(rows->wrong, sizeof rows->wrong,
                   "a recording of schema version %lld: this wallspy reads version %d",
                   (long long)major, SCHEMA_MAJOR);
    return false;
}

static bool has_tables(struct rows *rows, struct database *db)
{
    static const char *const names[] = {"meta", "text", "metric"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!rows_is_table(db, names[i]))
            return say(rows, "damaged: one of its tables is missing");
        if (rows_are_computed(db, names[i]))
            return say(rows, "damaged: one of its tables has a computed column");
    }
    return true;
}

static int64_t meta(struct database *db, const char *key)
{
    char sql[80];
    (void)snprintf(sql, sizeof sql, "SELECT value FROM main.meta WHERE key = '%s'", key);
    return database_number(db, sql);
}

static bool read_meta(struct facts *ret, struct rows *rows, struct database *db)
{
    const int64_t most = INT64_C(1) << 58;
    const int64_t most_utc_ns = INT64_C(1) << 62; /* the year 2116 */
    ret->minor = meta(db, "schema_minor");
    ret->end_ns = meta(db, "end_ns");
    ret->exact = (struct exact_time){.step_ns = meta(db, "step_ns"),
                                     .every = meta(db, "exact_every"),
                                     .since_ns = meta(db, "exact_since_ns")};
    ret->recent_since_ns = database_number(
        db, "SELECT value FROM main.meta WHERE key IN ('recent_since_ns', 'exact_since_ns') "
            "ORDER BY key = 'exact_since_ns'");
    ret->origin = (struct profile_origin){meta(db, "start_utc_ns"), meta(db, "start_monotonic_ns")};
    ret->complete = meta(db, "complete") == 1;
    bool good = ret->end_ns >= 0 && ret->end_ns <= most && ret->exact.step_ns >= 0 &&
                ret->exact.step_ns <= most && ret->exact.every >= 0 &&
                ret->exact.every <= MOST_EVERY && ret->exact.since_ns >= -most &&
                ret->exact.since_ns <= most && ret->recent_since_ns >= -most &&
                ret->recent_since_ns <= most && ret->origin.utc_ns >= 0 &&
                ret->origin.utc_ns <= most_utc_ns && ret->origin.monotonic_ns >= 0 &&
                ret->origin.monotonic_ns <= most_utc_ns;
    return good || say(rows, "damaged: a time in table meta is none");
}

static const char *column_text(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

static enum metric metric_called(const char *key)
{
    enum metric m = METRIC_NONE + 1;
    while (m < METRIC_COUNT && !str_eq(metric_info(m)->key, key))
        m++;
    return m;
}

/* As wallspy's own are: they become keys of JSON beside others. */
static bool is_key(const char *key)
{
    static const char *const taken[] = {"version", "processes", "host_cpu", "machine",
                                        "mounts",  "threads",   "findings", "no_findings",
                                        "marks",   "pauses",    NULL};
    size_t len = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return len && !key[len] && len <= MOST_KEY_BYTES && !str_is_one_of(key, taken) &&
           metric_called(key) == METRIC_COUNT;
}

/* They are printed as they are. */
static void read_texts(struct rows *rows, struct database *db, struct profile *p)
{
    sqlite3_stmt *s = database_prepare(db, "SELECT key, value FROM main.text");
    struct text tame = {0};
    for (size_t n = 0; !*rows->wrong && database_step(db, s); n++) {
        const char *key = column_text(s, 0);
        if (!is_key(key) || n == MOST_TEXTS) {
            (void)say(rows, "damaged: a key in table text is none");
            break;
        }
        key = profile_text(p, profile_string(p, key)); /* the profile keeps the pointer */
        const char *value = column_text(s, 1);
        if (!database_takes_text(db, sqlite3_column_bytes(s, 1))) {
            (void)say(rows, "damaged: more text than the file has room for");
            break;
        }
        text_clear(&tame);
        text_add_tame(&tame, value, strlen(value));
        profile_set_text(p, key, tame.s ? tame.s : "");
    }
    text_release(&tame);
    (void)sqlite3_finalize(s);
}

static void read_metrics(struct facts *ret, struct rows *rows, struct database *db)
{
    sqlite3_stmt *s = database_prepare(db, "SELECT key, value FROM main.metric");
    while (!*rows->wrong && database_step(db, s)) {
        enum metric m = metric_called(column_text(s, 0));
        double value = sqlite3_column_double(s, 1);
        if (m == METRIC_COUNT)
            continue; /* of another version's */
        if (metric_may_be(m, value))
            ret->numbers[m] = value;
        else
            (void)say(rows, "damaged: a value in table metric is out of range");
    }
    (void)sqlite3_finalize(s);
}

bool facts_read(struct facts *ret, struct rows *rows, struct database *db, struct profile *p)
{
    *ret = (struct facts){.end_ns = 0};
    if (!check_kind(rows, db) || !has_tables(rows, db) || !read_meta(ret, rows, db))
        return false;
    read_texts(rows, db, p);
    read_metrics(ret, rows, db);
    return !*rows->wrong && db->code == SQLITE_OK;
}

void facts_set(const struct facts *facts, struct profile *p)
{
    for (enum metric m = METRIC_NONE + 1; m < METRIC_COUNT; m++)
        profile_set_number(p, m, facts->numbers[m]);
}
