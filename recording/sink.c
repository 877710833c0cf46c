#include "recording/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/metric_info.h"
#include "recording/columns.h"
#include "recording/database.h"
#include "recording/recording_views.h"
#include "recording/schema.h"

struct sink {
    struct database db;
    const struct profile *texts;
    sqlite3_stmt *inserts[TABLE_KINDS];
    sqlite3_stmt *text, *metric, *meta;
    int64_t n_runs;
    stack_id *python; /* by stack: the nearest one, itself or a caller, that ends in Python */
    size_t n_python, python_capacity;
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
    "put_on_cpu INTEGER);\n";

static const char sums[] =
    "INSERT INTO spot SELECT thread, state, stack, wait, count(*), sum(wall), sum(samples), "
    "sum(max(waits, state = 3)), sum(near_faults), sum(around_faults), sum(put_on_cpu) FROM run "
    "GROUP BY thread, state, stack, wait;\n"
    "CREATE INDEX run_by_thread ON run (thread, start);\n"
    "CREATE INDEX spot_by_wait ON spot (wait);\n"
    "CREATE INDEX location_by_frame ON location (frame);\n"
    "CREATE INDEX wait_for_by_wait ON wait_for (wait);\n"
    "ANALYZE;\n";

/* ---- the beginning ---- */

static void set_meta(struct sink *s, const char *key, int64_t value)
{
    if (!s->meta)
        return;
    (void)sqlite3_bind_text(s->meta, 1, key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(s->meta, 2, value);
    database_finish(&s->db, s->meta);
}

static void create_tables(struct sink *s)
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
    database_run(&s->db, sql.s);
    text_release(&sql);
}

static void prepare(struct sink *s)
{
    struct text sql = {0};
    for (size_t i = 0; i < TABLE_KINDS; i++) {
        text_clear(&sql);
        schema_add_insert(&sql, &recording_tables[i]);
        s->inserts[i] = database_prepare(&s->db, sql.s);
    }
    text_release(&sql);
    s->meta = database_prepare(&s->db, "INSERT OR REPLACE INTO meta VALUES (?, ?)");
    s->text = database_prepare(&s->db, "INSERT INTO text (key, value) VALUES (?1, ?2) "
                                       "ON CONFLICT (key) DO UPDATE SET value = ?2");
    s->metric = database_prepare(&s->db, "INSERT OR REPLACE INTO metric VALUES (?, ?, ?, ?, ?)");
}

struct sink *sink_new(const char *path, const struct profile *texts)
{
    struct sink *s = xcalloc(1, sizeof *s);
    s->texts = texts;
    database_create(&s->db, path);
    create_tables(s);
    prepare(s);
    set_meta(s, "schema_major", SCHEMA_MAJOR);
    set_meta(s, "schema_minor", SCHEMA_MINOR);
    set_meta(s, "complete", 0);
    return s;
}

/* ---- things ---- */

/* A 0 that is a position is one; as an id it stands for none. */
static void bind_key(sqlite3_stmt *insert, int index, const char *name, int64_t key)
{
    if (key || str_eq(name, "position"))
        (void)sqlite3_bind_int64(insert, index, key);
    else
        (void)sqlite3_bind_null(insert, index);
}

struct keys {
    int64_t of[TABLE_KEYS];
};

/* Adds the row of ITEM with KEYS. */
static void put(struct sink *s, enum table_kind kind, struct keys keys, const void *item)
{
    const struct table *t = &recording_tables[kind];
    sqlite3_stmt *insert = s->inserts[kind];
    int index = 0;
    if (!insert)
        return;
    for (size_t i = 0; i < t->n_keys; i++)
        bind_key(insert, ++index, t->keys[i], keys.of[i]);
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct table_part *part = &t->parts[i];
        const struct row_keys *rows = &row_keys[part->rows];
        bool has = !part->of_kind || *(const uint32_t *)item == part->of_kind;
        for (size_t k = 0; k < rows->n; k++) {
            index++;
            if (has)
                column_bind(insert, index, &rows->fields[k], s->texts,
                            (const char *)item + part->at, t->numbered);
            else
                (void)sqlite3_bind_null(insert, index);
        }
    }
    database_finish(&s->db, insert);
}

static void put_one(struct sink *s, enum table_kind kind, int64_t id, const void *item)
{
    put(s, kind, (struct keys){{id}}, item);
}

static void put_of(struct sink *s, enum table_kind kind, int64_t of, size_t position,
                   const void *item)
{
    put(s, kind, (struct keys){{of, (int64_t)position}}, item);
}

void sink_text(struct sink *s, const char *key, const char *text)
{
    if (!s->text)
        return;
    (void)sqlite3_bind_text(s->text, 1, key, -1, SQLITE_TRANSIENT);
    (void)sqlite3_bind_text(s->text, 2, text, -1, SQLITE_TRANSIENT);
    database_finish(&s->db, s->text);
}

void sink_metric(struct sink *s, enum metric m, double value)
{
    static const char *const effects[] = {[EFFECT_NONE] = "",
                                          [EFFECT_LOSS] = "loss",
                                          [EFFECT_DOUBT] = "doubt",
                                          [EFFECT_NOTE] = "note"};
    const struct metric_info *info = metric_info(m);
    if (!s->metric)
        return;
    (void)sqlite3_bind_text(s->metric, 1, info->key, -1, SQLITE_STATIC);
    (void)sqlite3_bind_double(s->metric, 2, value);
    (void)sqlite3_bind_text(s->metric, 3, metric_unit_text(info->unit), -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s->metric, 4, effects[info->effect], -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(s->metric, 5, info->meaning, -1, SQLITE_STATIC);
    database_finish(&s->db, s->metric);
}

void sink_origin(struct sink *s, const struct profile_origin *origin)
{
    set_meta(s, "start_utc_ns", origin->utc_ns);
    set_meta(s, "start_monotonic_ns", origin->monotonic_ns);
}

void sink_exact_time(struct sink *s, const struct exact_time *e)
{
    set_meta(s, "step_ns", e->step_ns);
    set_meta(s, "exact_every", e->every);
    set_meta(s, "exact_since_ns", e->since_ns);
}

void sink_host(struct sink *s, const struct profile_host *host)
{
    put_one(s, TABLE_HOST, 1, host);
}

void sink_mount(struct sink *s, mount_id id, const struct profile_mount *m)
{
    put_one(s, TABLE_MOUNT, id.ix, m);
}

void sink_module(struct sink *s, module_id id, const struct profile_module *m)
{
    put_one(s, TABLE_MODULE, id.ix, m);
}

void sink_function(struct sink *s, func_id id, const struct func *f)
{
    put_one(s, TABLE_FUNCTION, id.ix, f);
}

void sink_frame(struct sink *s, frame_id id, const struct frame *f)
{
    put_one(s, TABLE_FRAME, id.ix, f);
}

void sink_locations(struct sink *s, frame_id id, const struct location *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_of(s, TABLE_LOCATION, id.ix, i, &l[i]);
}

/* Views ask for the innermost Python function of each stack: to climb for it again and again would
 * take them a minute. */
static stack_id nearest_python(struct sink *s, stack_id id, stack_id parent, frame_id frame)
{
    bool python = profile_get_frame(s->texts, frame)->kind == FRAME_PYTHON;
    stack_id nearest = python ? id : parent.ix < s->n_python ? s->python[parent.ix] : (stack_id){0};
    s->python = array_reserve(s->python, &s->python_capacity, id.ix + (size_t)1, sizeof *s->python);
    while (s->n_python <= id.ix)
        s->python[s->n_python++] = (stack_id){0};
    s->python[id.ix] = nearest;
    return nearest;
}

void sink_stack(struct sink *s, stack_id id, stack_id parent, frame_id frame)
{
    int64_t python = nearest_python(s, id, parent, frame).ix;
    put(s, TABLE_STACK, (struct keys){{id.ix, parent.ix, frame.ix, python}}, NULL);
}

void sink_wait(struct sink *s, wait_id id, const struct wait *w)
{
    const struct listed_blocker *of = profile_see_blocker(s->texts, w->side.list);
    put_one(s, TABLE_WAIT, id.ix, w);
    for (size_t i = 0; of; i++, of = profile_see_blocker(s->texts, of->next))
        put_of(s, TABLE_WAIT_FOR, id.ix, i, &of->blocker);
}

void sink_lock(struct sink *s, uint32_t id, const struct lock_name *lock)
{
    put_one(s, TABLE_LOCK, id, lock);
}

void sink_process(struct sink *s, process_id id, const struct profile_process *process)
{
    put_one(s, TABLE_PROCESS, id.ix, process);
    for (size_t i = 0; i < process->n_children; i++)
        put_of(s, TABLE_CHILD, id.ix, i, &process->children[i]);
}

void sink_thread(struct sink *s, thread_id id, const struct profile_thread *thread)
{
    put_one(s, TABLE_THREAD, id.ix, thread);
}

void sink_count(struct sink *s, thread_id id, size_t position, const struct count_mark *mark)
{
    put_of(s, TABLE_COUNT, id.ix, position, mark);
}

void sink_run(struct sink *s, thread_id id, const struct run *run)
{
    put(s, TABLE_RUN, (struct keys){{++s->n_runs, id.ix, run->at.stack.ix, run->at.wait.ix}}, run);
}

void sink_mark(struct sink *s, uint32_t id, const struct user_mark *mark)
{
    put_one(s, TABLE_MARK, id, mark);
}

void sink_pause(struct sink *s, uint32_t id, const struct user_pause *pause)
{
    put_one(s, TABLE_PAUSE, id, pause);
}

void sink_tasks(struct sink *s, uint32_t id, const struct profile_task_wait *tasks)
{
    put(s, TABLE_TASKS, (struct keys){{id, tasks->stack.ix}}, tasks);
}

/* ---- the end ---- */

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
    default:
        return -EIO;
    }
}

int sink_end(struct sink *s, int64_t end_ns, struct err *err)
{
    set_meta(s, "end_ns", end_ns);
    database_run(&s->db, sums);
    set_meta(s, "complete", 1);
    database_run(&s->db, "COMMIT");
    if (s->db.code == SQLITE_OK)
        return 0;
    return err_set(err, errno_of(s->db.code), "SQLite: %s", s->db.why);
}

const unsigned char *sink_bytes(struct sink *s, size_t *ret_len)
{
    return database_bytes(&s->db, ret_len);
}

struct sink *sink_free(struct sink *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < TABLE_KINDS; i++)
        (void)sqlite3_finalize(s->inserts[i]);
    (void)sqlite3_finalize(s->text);
    (void)sqlite3_finalize(s->metric);
    (void)sqlite3_finalize(s->meta);
    database_close(&s->db);
    free(s->python);
    free(s);
    return NULL;
}
