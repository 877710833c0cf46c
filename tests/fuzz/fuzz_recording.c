/* A recording that somebody changed: its bytes, or the values in its tables.  It gives a profile or
 * one error, and whatever is printed and written of the profile is well-formed.
 *
 * Input: a byte that says how; then changes of five bytes each. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "cli/brief.h"
#include "cli/quality.h"
#include "cli/report_json.h"
#include "cli/report_tables.h"
#include "cli/why.h"
#include "exporter/exporter.h"
#include "recording/recording_file.h"
#include "summary/findings.h"
#include "summary/ledger.h"
#include "tests/fuzz/check_json.h"
#include "tests/fuzz/check_xml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/profile_builder.h"

enum { MOST_CHANGES = 16, MOST_COLUMNS = 400, WIDTH = 79 };

struct bytes {
    char *s;
    size_t len;
};
static struct bytes whole; /* a recording that is right */
static struct {
    char *table, *column;
} columns[MOST_COLUMNS];
static size_t n_columns;

static void fill(struct profile_builder *b)
{
    const struct blocker pipe = {.kind = BLOCKER_PROCESS, .thing = THING_PIPE, .pid = 9, .n = 1};
    struct wait_side events = {.thing = THING_EVENTS, .more = 2};
    events.list = profile_list_blocker(b->p, &pipe, (blocker_list){0});
    const struct wait_side held = {.thing = THING_MUTEX,
                                   .addr = 4096,
                                   .blocker = {.kind = BLOCKER_THREAD, .pid = 100, .tid = 101}};
    thread_id one = builder_thread(b, 100, NULL);
    thread_id two = builder_thread(b, 101, "worker");
    profile_name_lock(b->p, 100, 4096, "table");
    for (int i = 0; i < 3; i++) {
        builder_run(b, one, "step@/src/train.py:7:9 > run!libmge.so", 400, 400);
        builder_held(b, one, "step@/src/train.py:7:9 > lock!libc.so.6", &held, 600);
        builder_run(b, two, "main!app|/src/a.c:7 > 0x7f0010", 500, 500);
        builder_polls(b, two, "main!app|/src/a.c:7 > wait!libc.so.6", &events, 400);
        builder_missed(b, two, 100);
        profile_mark_counts(b->p, one, (i + 1) * INT64_C(1000000000));
    }
    const struct profile_child child = {.pid = 9, .comm = profile_string(b->p, "sh")};
    profile_set_children(b->p, b->process, &child, 1);
    const struct profile_task_wait tasks = {
        .process = b->process, .n = 3, .stack = builder_stack(b, "get@/src/q.py:1:2")};
    profile_add_task_wait(b->p, &tasks);
    profile_get_host(b->p)->over_ns = INT64_C(3) * NS_PER_S;
    profile_set_text(b->p, "host", "vm");
    profile_end(b->p, INT64_C(3) * NS_PER_S);
}

static struct bytes record(const struct profile *p)
{
    struct bytes ret = {NULL, 0};
    FILE *file = open_memstream(&ret.s, &ret.len);
    FUZZ_CHECK(recording_file_write(p, NULL, file, NULL) == 0);
    (void)fclose(file);
    return ret;
}

static sqlite3 *open_copy(void)
{
    sqlite3 *db = NULL;
    unsigned char *copy = sqlite3_malloc64(whole.len);
    FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK && copy);
    memcpy(copy, whole.s, whole.len);
    FUZZ_CHECK(sqlite3_deserialize(
                   db, "main", copy, (sqlite3_int64)whole.len, (sqlite3_int64)whole.len,
                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK);
    return db;
}

static void list_columns(void)
{
    static const char sql[] =
        "SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c "
        "WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1, c.cid";
    sqlite3 *db = open_copy();
    sqlite3_stmt *s = NULL;
    FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW && n_columns < MOST_COLUMNS) {
        columns[n_columns].table = strdup((const char *)sqlite3_column_text(s, 0));
        columns[n_columns++].column = strdup((const char *)sqlite3_column_text(s, 1));
    }
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(db);
}

static struct bytes bytes_of(sqlite3 *db)
{
    sqlite3_int64 len = 0;
    unsigned char *bytes = sqlite3_serialize(db, "main", &len, 0);
    FUZZ_CHECK(bytes);
    struct bytes ret = {malloc((size_t)len), (size_t)len};
    memcpy(ret.s, bytes, ret.len);
    sqlite3_free(bytes);
    (void)sqlite3_close(db);
    return ret;
}

/* As if the runs before second 2 had been joined. */
static void add_recent(void)
{
    static const char sql[] = "INSERT INTO recent SELECT * FROM run;"
                              "INSERT INTO meta VALUES ('recent_since_ns', 500000000);"
                              "UPDATE meta SET value = 2000000000 WHERE key = 'exact_since_ns'";
    sqlite3 *db = open_copy();
    FUZZ_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    struct bytes more = bytes_of(db);
    free(whole.s);
    whole = more;
}

static void make_whole(void)
{
    struct profile_builder b = builder_start(100, "python3");
    fill(&b);
    whole = record(b.p);
    profile_free(b.p);
    add_recent();
    list_columns();
}

/* ---- changes ---- */

static void bind_any(sqlite3_stmt *s, uint8_t kind, uint8_t value)
{
    static const double reals[] = {0.5, -1, 1e300, 1e15};
    static const char *const texts[] = {"", "x", "\x1b[31m", "call", "\xff", "python"};
    static const int64_t numbers[] = {-1,         INT64_MIN,        INT64_MAX,  INT32_MAX,
                                      UINT32_MAX, INT64_C(1) << 57, 3000000000, 1};
    switch (kind % 6) {
    case 0:
        (void)sqlite3_bind_null(s, 1);
        return;
    case 1:
        (void)sqlite3_bind_int(s, 1, value);
        return;
    case 2:
        (void)sqlite3_bind_int64(s, 1, numbers[value % 8]);
        return;
    case 3:
        (void)sqlite3_bind_double(s, 1, reals[value % 4]);
        return;
    case 4:
        (void)sqlite3_bind_text(s, 1, texts[value % 6], -1, SQLITE_STATIC);
        return;
    default:
        (void)sqlite3_bind_zeroblob(s, 1, value);
    }
}

/* Sets a value of a row, or of all. */
static void change_value(sqlite3 *db, struct feed *f)
{
    char sql[200];
    sqlite3_stmt *s = NULL;
    size_t column = feed_u16(f) % n_columns;
    uint8_t row = feed_u8(f);
    uint8_t kind = feed_u8(f);
    (void)snprintf(sql, sizeof sql,
                   "UPDATE OR IGNORE \"%s\" SET \"%s\" = ?1 WHERE ?2 = 0 OR rowid = ?2",
                   columns[column].table, columns[column].column);
    FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK);
    bind_any(s, kind, feed_u8(f));
    (void)sqlite3_bind_int(s, 2, row % 32);
    (void)sqlite3_step(s); /* an id that is no number is refused */
    (void)sqlite3_finalize(s);
}

static struct bytes with_other_values(struct feed *f)
{
    sqlite3 *db = open_copy();
    for (int i = 0; i < MOST_CHANGES && f->left; i++)
        change_value(db, f);
    return bytes_of(db);
}

static struct bytes with_other_bytes(struct feed *f, bool cut)
{
    struct bytes ret = {malloc(whole.len), whole.len};
    memcpy(ret.s, whole.s, whole.len);
    for (int i = 0; i < MOST_CHANGES && f->left; i++) {
        size_t at = feed_u32(f) % whole.len;
        ret.s[at] = (char)feed_u8(f);
        ret.len = cut && at ? at : ret.len;
    }
    return ret;
}

/* ---- checks ---- */

static void check_answer(const struct profile *p)
{
    struct groups groups;
    struct table table;
    struct findings findings;
    struct text said = {0};
    text_add(&said, "");
    groups_init(&groups, p, &(struct view_options){0});
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    findings_init(&findings, &groups);
    findings_write(&findings, WIDTH, &said);
    answer_write(&table, WIDTH, &said);
    ledger_write(&findings.ledger, WIDTH, &said);
    (void)quality_text(p, &said);
    FUZZ_CHECK(is_plain_text(said.s, said.len));
    findings_release(&findings);
    table_release(&table);
    groups_release(&groups);
    text_release(&said);
}

static void check_reports(const struct profile *p, const struct window *w)
{
    const struct options o = {.json = true};
    const struct report_json json = {.o = &o, .p = p, .window = w};
    struct groups groups;
    struct findings findings;
    struct text said = {0};
    groups_init(&groups, p, &o.view);
    findings_init(&findings, &groups);
    brief_add(&groups, &findings, BRIEF_LINES, &said);
    for (size_t i = 0; i < groups.summaries.n; i++)
        why_add(&said, &groups, &groups.summaries.threads[i], WIDTH);
    text_clear(&said);
    FUZZ_CHECK(report_json_add(&said, &json, &groups, &findings) == 0);
    FUZZ_CHECK(is_json(said.s, said.len));
    text_release(&said);
    findings_release(&findings);
    groups_release(&groups);
}

/* Cuts P somewhere. */
static void check_part(struct profile *p, uint8_t from, uint8_t to)
{
    struct window w = {.asked = true, .whole_ns = profile_end_ns(p)};
    w.from_ns = w.whole_ns / 256 * (from < to ? from : to);
    w.to_ns = w.whole_ns / 256 * (from < to ? to : from);
    if (w.from_ns >= w.to_ns)
        return;
    profile_cut(p, w.from_ns, w.to_ns, &w.cut);
    FUZZ_CHECK(profile_end_ns(p) == w.to_ns - w.from_ns);
    check_reports(p, &w);
}

/* The terminal tames what is printed. */
static void check_tables(const struct profile *p)
{
    const struct options all = {.tables = {true, true, true, true}};
    struct text said = {0};
    report_tables_add(&all, p, WIDTH, &said);
    FUZZ_CHECK(said.len > 0);
    text_release(&said);
}

static void check_files(const struct profile *p)
{
    for (size_t i = 0; exporter_at(i); i++) {
        struct bytes file = {NULL, 0};
        struct export_notes notes;
        const struct exporter *e = exporter_at(i);
        FILE *out = open_memstream(&file.s, &file.len);
        FUZZ_CHECK(exporter_write(e, p, &(struct view_options){0}, NULL, 0, out, &notes) == 0);
        (void)fclose(out);
        FUZZ_CHECK(!str_eq(e->name, "speedscope") || is_json(file.s, file.len));
        FUZZ_CHECK(!str_eq(e->name, "flamegraph") || is_xml(file.s, file.len));
        FUZZ_CHECK(!str_eq(e->name, "folded") || is_plain_text(file.s, file.len));
        free(file.s);
    }
}

/* The newest time of FILE, which only a file on a disk has. */
static void check_recent(const struct bytes *file, bool changed)
{
    char path[] = "/tmp/wallspy-fuzz-recording.XXXXXX";
    struct err err = {0};
    int fd = mkstemp(path);
    FUZZ_CHECK(fd >= 0 && write(fd, file->s, file->len) == (ssize_t)file->len);
    struct profile *p = recording_file_read_part(path, NS_PER_S, INT64_MAX, &err);
    FUZZ_CHECK(changed || (p && profile_exact_time(p)->since_ns == NS_PER_S / 2));
    FUZZ_CHECK(p || is_plain_text(err.text, strlen(err.text)));
    if (p)
        check_part(p, 128, 255);
    profile_free(p);
    (void)unlink(path);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feed f = {bytes, len};
    struct err err = {0};
    if (!whole.s) {
        make_whole();
        check_recent(&whole, false);
    }
    uint8_t how = feed_u8(&f);
    struct bytes changed = how & 1 ? with_other_values(&f) : with_other_bytes(&f, how & 2);
    struct profile *p = recording_bytes_read(changed.s, changed.len, "x", &err);
    FUZZ_CHECK(p || (str_starts(err.text, "x: ") && is_plain_text(err.text, strlen(err.text))));
    if (p) {
        check_answer(p);
        check_tables(p);
        check_files(p);
        check_reports(p, &(struct window){.whole_ns = profile_end_ns(p)});
        check_part(p, (uint8_t)len, feed_u8(&f));
    }
    profile_free(p);
    check_recent(&changed, true);
    free(changed.s);
    return 0;
}
