/* recording/entry.h, growing.h, store.h: a file that grew bit by bit is the one that is written at
 * once, row for row; bytes that are no entries are refused.  All fixtures are compared by
 * situations/judge.c. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/ageing.h"
#include "profile/cut.h"
#include "profile/kept.h"
#include "recording/growing.h"
#include "recording/recording_file.h"
#include "recording/store.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_builder.h"

/* ---- entries ---- */

START_TEST(an_entry_comes_back)
{
    struct text t = {0};
    struct entry e;
    struct entry_value v;
    size_t begun = entry_begin(&t, ENTRY_METRIC);
    entry_add_null(&t);
    entry_add_number(&t, 255);
    entry_add_number(&t, -1);
    entry_add_real(&t, 0.75);
    entry_add_string(&t, "");
    entry_add_string(&t, "wait");
    entry_end(&t, begun, 6);
    for (size_t len = 0; len < t.len; len++)
        ck_assert_int_eq(entry_parse(&e, t.s, len), 0);
    ck_assert_int_eq(entry_parse(&e, t.s, t.len), (ssize_t)t.len);
    ck_assert_int_eq(e.kind, ENTRY_METRIC);
    ck_assert(entry_next(&e, &v) && v.type == ENTRY_NULL);
    ck_assert(entry_next(&e, &v) && v.type == ENTRY_NUMBER && v.number == 255);
    ck_assert(entry_next(&e, &v) && v.type == ENTRY_NUMBER && v.number == -1);
    ck_assert(entry_next(&e, &v) && v.type == ENTRY_REAL && v.real == 0.75);
    ck_assert(entry_next(&e, &v) && v.type == ENTRY_STRING && v.len == 0);
    ck_assert(entry_next(&e, &v) && v.type == ENTRY_STRING && v.len == 4);
    ck_assert(memcmp(v.s, "wait", 4) == 0);
    ck_assert(!entry_next(&e, &v));
    text_release(&t);
}
END_TEST

/* What is none, as its head and the rest. */
static const struct {
    unsigned char bytes[24];
    size_t len;
} none[] = {
    {{0}, 6},                                  /* shorter than its head */
    {{1, 0, 0, 0, 0}, 5},                      /* no number of values */
    {{255, 255, 255, 255, 0, 0}, 6},           /* longer than any */
    {{2, 0, 0, 0, 255, 0}, 6},                 /* no such kind */
    {{2, 0, 0, 0, 0, 255}, 6},                 /* more values than any has */
    {{2, 0, 0, 0, 0, 1}, 6},                   /* a value that is not there */
    {{3, 0, 0, 0, 0, 1, 9}, 7},                /* of no type */
    {{3, 0, 0, 0, 0, 1, ENTRY_NUMBER}, 7},     /* cut */
    {{8, 0, 0, 0, 0, 1, ENTRY_STRING, 9}, 12}, /* a text longer than the entry */
    {{11, 0, 0, 0, 0, 1, ENTRY_STRING, 255, 255, 255, 255}, 15},
    {{3, 0, 0, 0, 0, 0, ENTRY_NULL}, 7}, /* one value too many */
};

START_TEST(what_is_no_entry_is_refused)
{
    struct entry e;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_msg(entry_parse(&e, (const char *)none[i].bytes, none[i].len) < 0, "%zu", i);
}
END_TEST

static void take(struct store *store, const struct text *t)
{
    struct entry e;
    ck_assert_int_gt(entry_parse(&e, t->s, t->len), 0);
    store_take(store, &e);
}

/* Whole entries that no profile makes. */
START_TEST(a_store_refuses_what_does_not_fit)
{
    for (int i = 0; i < 4; i++) {
        struct store *store = store_new();
        struct text t = {0};
        struct err err = {0};
        size_t begun = entry_begin(&t, i == 0 ? ENTRY_META : i == 1 ? ENTRY_COMMIT : ENTRY_DOOM);
        for (int k = 0; k < i; k++)
            entry_add_number(&t, i == 2 ? TABLE_STACK : 200);
        entry_end(&t, begun, (size_t)i);
        take(store, &t);
        ck_assert_int_lt(store_error(store, &err), 0);
        ck_assert_int_lt(store_end(store, 1, &err), 0);
        text_release(&t);
        store_free(store);
    }
}
END_TEST

/* ---- the file that grew is the one that is written at once ---- */

/* Threads and runs have numbers of their own. */
static const char *const queries[] = {
    "SELECT key, value FROM meta WHERE key != 'recent_since_ns' ORDER BY key",
    "SELECT id, key, value FROM text ORDER BY id",
    "SELECT * FROM metric ORDER BY key",
    "SELECT * FROM mount ORDER BY id",
    "SELECT * FROM module ORDER BY id",
    "SELECT * FROM function ORDER BY id",
    "SELECT * FROM frame ORDER BY id",
    "SELECT * FROM location ORDER BY frame, position",
    "SELECT * FROM stack ORDER BY id",
    "SELECT * FROM wait ORDER BY id",
    "SELECT * FROM wait_for ORDER BY wait, position",
    "SELECT * FROM lock ORDER BY id",
    "SELECT * FROM host",
    "SELECT * FROM process ORDER BY id",
    "SELECT * FROM child ORDER BY of, position",
    "SELECT * FROM tasks ORDER BY id",
    "SELECT * FROM mark ORDER BY id",
    "SELECT * FROM pause ORDER BY id",
    "SELECT * FROM (SELECT dense_rank() OVER (ORDER BY id) AS n, thread.* FROM thread) ORDER BY n",
    "SELECT * FROM (SELECT dense_rank() OVER (ORDER BY thread) AS n, count.* FROM count) "
    "ORDER BY n, position",
    "SELECT * FROM (SELECT dense_rank() OVER (ORDER BY thread) AS n, id, run.* FROM run) "
    "ORDER BY n, id",
    "SELECT * FROM (SELECT dense_rank() OVER (ORDER BY thread) AS n, spot.* FROM spot) "
    "ORDER BY n, state, stack, wait",
};

static void add_row(struct text *out, sqlite3_stmt *s)
{
    for (int i = 0; i < sqlite3_column_count(s); i++) {
        const char *name = sqlite3_column_name(s, i);
        const char *value = (const char *)sqlite3_column_text(s, i);
        bool numbered = str_eq(sqlite3_column_name(s, 0), "n");
        if (numbered && (str_starts(name, "id") || str_eq(name, "thread")))
            continue;
        text_addf(out, "%s=%s ", name, value ? value : "-");
    }
    text_add(out, "\n");
}

/* All that is in the file of LEN BYTES. */
static void add_rows(struct text *out, const void *bytes, size_t len)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_deserialize(db, "main", (unsigned char *)bytes, (sqlite3_int64)len,
                                         (sqlite3_int64)len, SQLITE_DESERIALIZE_READONLY),
                     SQLITE_OK);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        sqlite3_stmt *s = NULL;
        int code = sqlite3_prepare_v2(db, queries[i], -1, &s, NULL);
        ck_assert_msg(code == SQLITE_OK, "%s: %s", queries[i], sqlite3_errmsg(db));
        text_addf(out, "%s\n", queries[i]);
        while (sqlite3_step(s) == SQLITE_ROW)
            add_row(out, s);
        (void)sqlite3_finalize(s);
    }
    (void)sqlite3_close(db);
}

struct growth {
    struct profile_builder b;
    struct store *store;
    struct growing *g;
    int64_t end_ns; /* of the last commit */
    int room;       /* things until there is none; then again so many */
};

static void store_entry(void *ctx, const char *bytes, size_t len)
{
    struct growth *growth = ctx;
    struct entry e;
    struct entry_value end;
    ck_assert_int_eq(entry_parse(&e, bytes, len), (ssize_t)len);
    if (e.kind == ENTRY_COMMIT && entry_next(&e, &end))
        growth->end_ns = end.number;
    else if (e.kind != ENTRY_END)
        store_take(growth->store, &e);
}

static void grow_begin(struct growth *ret, size_t limit)
{
    *ret = (struct growth){.b = builder_start_within(limit, 100, "python3")};
    ret->store = store_new();
    ret->g = growing_new(ret->b.p, (struct sink_to){store_entry, ret});
}

static bool has_room(void *ctx)
{
    struct growth *growth = ctx;
    return random() % 50 != 0 || growth->room-- > 0;
}

static void grow(struct growth *growth, int64_t end_ns)
{
    growth->room = 3;
    while (!growing_send(growth->g, end_ns, has_room, growth))
        growth->room = 3;
    ck_assert_int_eq(growth->end_ns, end_ns);
}

/* Its file, LEN bytes. */
static const unsigned char *end_growth(struct growth *growth, size_t *ret_len)
{
    struct err err = {0};
    int64_t end_ns = profile_end_ns(growth->b.p);
    grow(growth, end_ns);
    growing_end(growth->g, end_ns);
    ck_assert_msg(store_end(growth->store, end_ns, &err) == 0, "%s", err.text);
    return store_bytes(growth->store, ret_len);
}

static void release_growth(struct growth *growth)
{
    growing_free(growth->g);
    store_free(growth->store);
    profile_free(growth->b.p);
}

/* The rows of both. */
static void check_rows(struct growth *growth)
{
    struct profile *p = growth->b.p;
    struct text grown = {0};
    struct text whole = {0};
    struct err err = {0};
    char *bytes = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&bytes, &len);
    ck_assert_int_eq(recording_file_write(p, NULL, file, &err), 0);
    (void)fclose(file);
    add_rows(&whole, bytes, len);
    free(bytes);
    const unsigned char *of_store = end_growth(growth, &len);
    add_rows(&grown, of_store, len);
    struct profile *again = recording_bytes_read(of_store, len, "x", &err);
    ck_assert_msg(again != NULL, "%s", err.text);
    size_t at = 0;
    while (at < whole.len && grown.s[at] == whole.s[at])
        at++;
    ck_assert_msg(at == whole.len && at == grown.len, "from %zu on: %.300s, but %.300s", at,
                  grown.s + at, whole.s + at);
    profile_free(again);
    text_release(&grown);
    text_release(&whole);
}

static void check_same(struct growth *growth)
{
    check_rows(growth);
    release_growth(growth);
}

/* Every kind of thing that changes after it came: the last run, names of frames, texts, marks of
 * counts, children, tasks; and marks and pauses of the user's. */
START_TEST(what_changes_comes_again)
{
    struct growth growth;
    grow_begin(&growth, 0);
    struct profile *p = growth.b.p;
    thread_id id = builder_thread(&growth.b, 100, NULL);
    for (int step = 1; step <= 40; step++) {
        char name[16];
        (void)snprintf(name, sizeof name, "name %d", step / 7);
        builder_run(&growth.b, id, step % 4 ? "step@/a.py:7:9 > run!libx.so" : "0x7f0010", 10, 10);
        for (int i = 0; i < 20; i++)
            profile_mark_counts(p, id, step * 100 + i);
        profile_set_text(p, "host", name);
        if (step % 5 == 0)
            profile_forget_metadatum(p, "host");
        const struct location locations[] = {{.function = profile_string(p, name)},
                                             {.function = profile_string(p, "outer")}};
        for (uint32_t f = 1; f <= profile_frame_count(p); f++) {
            profile_flag_frame(p, (frame_id){f}, step == 20 ? FRAME_IS_GUESSED : 0);
            if (step % 6 == 0 && profile_get_frame(p, (frame_id){f})->kind == FRAME_NATIVE)
                profile_locate(p, (frame_id){f}, locations, step % 12 ? 2 : 1);
        }
        const struct profile_child children[] = {{.pid = step / 8}, {.pid = 7}};
        profile_set_children(p, (process_id){1}, children, step % 3 ? 2 : 1);
        profile_forget_task_waits(p);
        profile_add_task_wait(
            p, &(struct profile_task_wait){.process = {1}, .stack = {1}, .n = (size_t)step / 9});
        if (step % 10 == 0) {
            int64_t at_ns = step * INT64_C(10000000);
            ck_assert(profile_add_mark(p, at_ns, 1, name));
            profile_add_pause(p, &(struct user_pause){at_ns, 1, at_ns});
        }
        profile_set_number(p, METRIC_STACKS_MADE, step);
        grow(&growth, step * INT64_C(10000000));
    }
    profile_end(p, INT64_C(400000000));
    check_same(&growth);
}
END_TEST

START_TEST(marks_older_than_a_ring_go)
{
    enum { ALL_S = 60, KEPT_S = 10, EVERY_S = 4 };
    struct growth growth;
    grow_begin(&growth, 0);
    struct profile *p = growth.b.p;
    thread_id busy = builder_thread(&growth.b, 100, NULL);
    profile_keep_last(p, KEPT_S * (int64_t)NS_PER_S);
    for (int64_t s = 0; s < ALL_S; s++) {
        char text[] = "step 00";
        text[sizeof text - 3] = (char)('0' + s / 10);
        text[sizeof text - 2] = (char)('0' + s % 10);
        builder_run(&growth.b, busy, "main@/a.py:1:1 > f@/a.py:2:2", 1000, 1000);
        ck_assert(profile_add_mark(p, s * NS_PER_S, 1, text));
        profile_age(p, (s + 1) * NS_PER_S);
        if (s % EVERY_S == 0)
            grow(&growth, (s + 1) * NS_PER_S);
    }
    ck_assert_uint_gt(profile_marks_aged(p), 0);
    profile_end(p, ALL_S * (int64_t)NS_PER_S);
    check_same(&growth);
}
END_TEST

/* Within steps of time runs are joined; ended threads are folded, and their ids given again. */
START_TEST(what_is_joined_goes_and_comes_again)
{
    enum { LIMIT = 1 << 18, RUNS = 6000, CALLEES = 7, EVERY = 97, LIVES = 40 };
    struct growth growth;
    grow_begin(&growth, LIMIT);
    struct profile *p = growth.b.p;
    thread_id busy = builder_thread(&growth.b, 100, NULL);
    for (int i = 0; i < RUNS; i++) {
        char stack[] = "main@/a.py:1:1 > f0@/a.py:2:2";
        stack[strlen("main@/a.py:1:1 > f")] = (char)('0' + i % CALLEES);
        builder_run(&growth.b, busy, stack, 10, i % 3 ? 10 : 0);
        if (i % LIVES == 0) {
            thread_id id = builder_thread(&growth.b, 1000 + i, "job");
            if (i % 3)
                builder_run(&growth.b, id, "work!app", 10, 10);
            if (i % EVERY == 0)
                grow(&growth, i);
            profile_get_thread(p, id)->ended = true;
            profile_end_thread(p, id, i * INT64_C(10000000));
        }
        if (i % EVERY == 0)
            grow(&growth, i);
    }
    profile_end(p, RUNS * INT64_C(10000000));
    ck_assert_int_gt(profile_time_step_ns(p), 0);
    ck_assert(profile_number(p, METRIC_THREADS_FOLDED) > 0);
    ck_assert(profile_number(p, METRIC_THREADS_WITHOUT_A_SAMPLE) > 0);
    check_same(&growth);
}
END_TEST

/* ---- the file on the disk ---- */

static char folder[] = "/tmp/wallspy-test-growing.XXXXXX";
static char path[64];

static void make_file(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/wallspy-test-growing.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/run.wallspy.part", folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    (void)fclose(file);
}

static void remove_file(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[96];
        (void)snprintf(name, sizeof name, "%s%s", path, ends[i]);
        (void)unlink(name);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

/* What is after the last commit is no part of it, for a reader meanwhile and at the end. */
static void check_cut(enum store_journal journal)
{
    struct growth growth;
    struct err err = {0};
    int64_t end_ns = 0;
    bool complete = true;
    grow_begin(&growth, 0);
    make_file();
    store_free(growth.store);
    growth.store = store_open(path, journal);
    thread_id id = builder_thread(&growth.b, 100, NULL);
    builder_run(&growth.b, id, "step@/a.py:7:9 > run!libx.so", 10, 10);
    grow(&growth, 10000000);
    store_commit(growth.store, growth.end_ns);
    ck_assert_msg(store_error(growth.store, &err) == 0, "%s", err.text);
    builder_run(&growth.b, id, "step@/a.py:7:9 > run!liby.so", 10, 10);
    grow(&growth, 20000000);
    if (journal == STORE_WAL) {
        struct profile *now = recording_file_read(path, &complete, &err);
        ck_assert_msg(now != NULL, "%s", err.text);
        ck_assert(!complete);
        ck_assert_uint_eq(profile_see_thread(now, (thread_id){1})->n_runs, 1);
        profile_free(now);
    }
    ck_assert_int_eq(store_cut(growth.store, &end_ns, &err), 0);
    ck_assert_int_eq(end_ns, 10000000);
    ck_assert(store_settle(growth.store));
    store_free(growth.store);
    struct profile *p = recording_file_read(path, &complete, &err);
    ck_assert_msg(p != NULL, "%s", err.text);
    ck_assert(!complete);
    ck_assert_uint_eq(profile_see_thread(p, (thread_id){1})->n_runs, 1);
    ck_assert_int_eq(profile_see_thread(p, (thread_id){1})->end_ns, 10000000);
    profile_free(p);
    profile_free(growth.b.p);
    growing_free(growth.g);
    remove_file();
}

START_TEST(a_cut_file_reaches_until_its_last_commit)
{
    check_cut(STORE_WAL);
    check_cut(STORE_NO_WAL);
}
END_TEST

/* The process that writes is killed while what it has not committed is more than its cache, in part
 * in the file itself. */
static void grow_and_be_killed(enum store_journal journal)
{
    enum { MANY = 300000 };
    struct growth growth;
    grow_begin(&growth, 0);
    store_free(growth.store);
    growth.store = store_open(path, journal);
    thread_id id = builder_thread(&growth.b, 100, NULL);
    builder_run(&growth.b, id, "step@/a.py:7:9 > run!libx.so", 10, 10);
    (void)growing_send(growth.g, 10000000, NULL, NULL);
    store_commit(growth.store, growth.end_ns);
    for (int i = 0; i < MANY; i++)
        profile_add_run(growth.b.p, id,
                        &(struct run){.at = builder_spot(&growth.b, i % 2 ? "f@/a.py:1:1" : "g!x"),
                                      .start_ns = i * INT64_C(20000000),
                                      .weights.wall_ns = 10000000});
    (void)growing_send(growth.g, 20000000, NULL, NULL);
    _exit(store_error(growth.store, NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void check_killed(enum store_journal journal, const char *beside)
{
    struct err err = {0};
    bool complete = true;
    char name[96];
    int status = 0;
    make_file();
    pid_t pid = fork();
    if (pid == 0)
        grow_and_be_killed(journal);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    (void)snprintf(name, sizeof name, "%s%s", path, beside);
    ck_assert_int_eq(access(name, F_OK), 0);
    struct profile *p = recording_file_read(path, &complete, &err);
    ck_assert_msg(p != NULL, "%s", err.text);
    ck_assert(!complete);
    ck_assert_uint_eq(profile_see_thread(p, (thread_id){1})->n_runs, 1);
    profile_free(p);
    remove_file();
}

START_TEST(a_killed_writer_leaves_its_last_commit)
{
    check_killed(STORE_WAL, "-wal");
    check_killed(STORE_NO_WAL, "-journal");
}
END_TEST

/* SQLite would remove the other file that a journal names. */
START_TEST(a_journal_that_names_another_file_is_none)
{
    static const char names_another[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    struct err err = {0};
    char name[96];
    make_file();
    struct store *store = store_open(path, STORE_WAL);
    ck_assert_int_eq(store_end(store, 1, &err), 0);
    ck_assert(store_settle(store));
    store_free(store);
    (void)snprintf(name, sizeof name, "%s-journal", path);
    FILE *file = fopen(name, "w");
    ck_assert(file && fwrite(names_another, 1, 8, file) == 8 && fclose(file) == 0);
    profile_free(recording_file_read(path, NULL, &err));
    ck_assert_int_eq(access(name, F_OK), 0);
    remove_file();
}
END_TEST

/* ---- bytes of a growing file's entries, changed at random: an error or rows, and no fault ---- */

static void keep_entry(void *ctx, const char *bytes, size_t len)
{
    text_add_bytes(ctx, bytes, len);
}

/* False: they are no entries. */
static bool take_stream(struct store *store, const char *bytes, size_t len)
{
    struct entry e;
    ssize_t n;
    for (size_t at = 0; (n = entry_parse(&e, bytes + at, len - at)) > 0; at += (size_t)n)
        if (e.kind < ENTRY_STORE_LAST)
            store_take(store, &e);
    return n == 0;
}

START_TEST(changed_entries_do_no_harm)
{
    enum { ROUNDS = 300, CHANGES = 40 };
    struct profile_builder b = builder_start(100, "python3");
    struct text bytes = {0};
    unsigned refused = 0;
    thread_id id = builder_thread(&b, 100, NULL);
    builder_run(&b, id, "step@/a.py:7:9 > run!libx.so", 10, 10);
    struct growing *g = growing_new(b.p, (struct sink_to){keep_entry, &bytes});
    (void)growing_send(g, 1, NULL, NULL);
    growing_free(g);
    char *copy = malloc(bytes.len);
    srandom(41);
    for (int round = 0; round < ROUNDS; round++) {
        struct err err = {0};
        struct store *store = store_new();
        memcpy(copy, bytes.s, bytes.len);
        for (int i = 0; i < CHANGES; i++)
            copy[(size_t)random() % bytes.len] = (char)random();
        bool whole = take_stream(store, copy, bytes.len);
        refused += store_end(store, 1, &err) < 0 || !whole;
        store_free(store);
    }
    ck_assert_uint_gt(refused, 0);
    free(copy);
    text_release(&bytes);
    profile_free(b.p);
}
END_TEST

/* ---- the newest time ---- */

enum {
    RECENT_LIMIT = 4 << 20,
    RECENT_RUNS = 150000,
    TICK_MS = 10,
    TICKS_OF_SLEEP = 30000,
    TICKS_OF_EARLY = 50,
    TICKS_UNTIL_END = 120000, /* of the one that ends early */
};
static const int64_t tick_ns = TICK_MS * INT64_C(1000000);

static void make_runs(struct growth *growth)
{
    enum { CALLEES = 9, GROWS_EVERY = 200, MARKED_EVERY = 100 };
    struct profile *p = growth->b.p;
    thread_id busy = builder_thread(&growth->b, 100, NULL);
    thread_id sleeper = builder_thread(&growth->b, 101, "sleeper");
    thread_id still = builder_thread(&growth->b, 103, "still");
    thread_id early = builder_thread(&growth->b, 102, "early");
    char stack[] = "main@/a.py:1:1 > f0@/a.py:2:2";
    for (int i = 0; i < RECENT_RUNS; i++) {
        stack[strlen("main@/a.py:1:1 > f")] = (char)('0' + i % CALLEES);
        builder_run(&growth->b, busy, stack, TICK_MS, i % 3 ? TICK_MS : 0);
        bool wakes = i % TICKS_OF_SLEEP == TICKS_OF_SLEEP - 1;
        if (wakes)
            builder_run(&growth->b, sleeper, i / TICKS_OF_SLEEP % 2 ? "a!app" : "b!app",
                        TICKS_OF_SLEEP * TICK_MS, 0);
        if (wakes) /* on and on */
            builder_run(&growth->b, still, "wait!libc.so.6", TICKS_OF_SLEEP * TICK_MS, 0);
        if (i < TICKS_UNTIL_END && i % TICKS_OF_EARLY == 0)
            builder_run(&growth->b, early, i / TICKS_OF_EARLY % 2 ? "a!app" : "b!app",
                        TICKS_OF_EARLY * TICK_MS, 10);
        if (i == TICKS_UNTIL_END) {
            profile_get_thread(p, early)->ended = true;
            profile_end_thread(p, early, i * tick_ns);
        }
        if (i % MARKED_EVERY == 0)
            profile_mark_counts(p, busy, (i + 1) * tick_ns);
        if (i % GROWS_EVERY == 0)
            grow(growth, (i + 1) * tick_ns);
    }
    profile_end(p, RECENT_RUNS * tick_ns);
}

/* Are P's runs of thread TID those of all time from SINCE_NS to END_NS, of WALL_NS each?  0: of any
 * length. */
static void check_runs(const struct profile *p, pid_t tid, int64_t since_ns, int64_t end_ns,
                       int64_t wall_ns)
{
    const struct profile_thread *t = builder_find(p, tid);
    size_t first = 0;
    while (first < t->n_runs && run_end_ns(&t->runs[first]) <= since_ns)
        first++;
    ck_assert_uint_lt(first, t->n_runs);
    ck_assert_int_le(t->runs[first].start_ns, since_ns);
    for (size_t i = first; i < t->n_runs; i++) {
        if (wall_ns)
            ck_assert_int_eq(t->runs[i].weights.wall_ns, wall_ns);
        ck_assert_uint_eq(t->runs[i].samples, (uint64_t)(t->runs[i].weights.wall_ns / tick_ns));
        if (i)
            ck_assert_int_eq(t->runs[i].start_ns, run_end_ns(&t->runs[i - 1]));
    }
    ck_assert_int_eq(run_end_ns(&t->runs[t->n_runs - 1]), end_ns);
}

/* Ten seconds of the newest time have what the kernel counted in them. */
static void check_part(struct profile *p, int64_t from_ns)
{
    struct profile_cut cut;
    const int64_t run_ns = 667 * tick_ns;
    int64_t to_ns = from_ns + 10 * (int64_t)NS_PER_S;
    profile_cut(p, from_ns, to_ns, &cut);
    const struct profile_thread *t = builder_find(p, 100);
    ck_assert_uint_eq(t->n_runs, 1000);
    ck_assert_int_ge(t->counts.ns[COUNTED_CPU], run_ns - 2 * tick_ns);
    ck_assert_int_le(t->counts.ns[COUNTED_CPU], run_ns + 2 * tick_ns);
}

static void damage_recent(void)
{
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "UPDATE recent SET thread = 999", NULL, NULL, NULL),
                     SQLITE_OK);
    (void)sqlite3_close(db);
}

/* Of these threads one runs all the time, one sleeps and one never wakes, of which the file hears
 * late, and one ends. */
START_TEST(ten_minutes_stay_as_they_came)
{
    struct growth growth;
    struct err err = {0};
    size_t len = 0;
    grow_begin(&growth, RECENT_LIMIT);
    make_runs(&growth);
    check_rows(&growth);
    const unsigned char *bytes = store_bytes(growth.store, &len);
    make_file();
    FILE *file = fopen(path, "w");
    ck_assert(file && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
    int64_t end_ns = profile_end_ns(growth.b.p);
    int64_t since_ns = end_ns - 600 * (int64_t)NS_PER_S;
    ck_assert_int_gt(profile_exact_time(growth.b.p)->since_ns, since_ns + 300 * (int64_t)NS_PER_S);
    ck_assert_ptr_null(recording_file_read_part(path, 0, since_ns, &err));
    ck_assert_ptr_null(recording_file_read_part(path, end_ns, INT64_MAX, &err));
    ck_assert_str_eq(err.text, "");
    struct profile *p = recording_file_read_part(path, since_ns, end_ns, &err);
    ck_assert_msg(p != NULL, "%s", err.text);
    ck_assert_int_eq(profile_exact_time(p)->since_ns, since_ns);
    check_runs(p, 100, since_ns, end_ns, tick_ns);
    check_runs(p, 101, since_ns, end_ns, TICKS_OF_SLEEP * tick_ns);
    check_runs(p, 103, since_ns, end_ns, 0);
    check_runs(p, 102, since_ns, TICKS_UNTIL_END * tick_ns, TICKS_OF_EARLY * tick_ns);
    check_part(p, since_ns + 100 * (int64_t)NS_PER_S);
    profile_free(p);
    damage_recent();
    ck_assert_ptr_null(recording_file_read_part(path, since_ns, end_ns, &err));
    ck_assert_msg(strstr(err.text, "table recent: there is no thread 999") != NULL, "%s", err.text);
    remove_file();
    release_growth(&growth);
}
END_TEST

CHECK_MAIN("growing", 60, an_entry_comes_back, what_is_no_entry_is_refused,
           a_store_refuses_what_does_not_fit, what_changes_comes_again,
           what_is_joined_goes_and_comes_again, marks_older_than_a_ring_go,
           ten_minutes_stay_as_they_came, a_cut_file_reaches_until_its_last_commit,
           a_killed_writer_leaves_its_last_commit, a_journal_that_names_another_file_is_none,
           changed_entries_do_no_harm)
