/* usage: judge FIXTURE...
 *        judge --keep FILE FIXTURE
 *
 * Prints what wallspy says of each, as JSON: its findings, the text on the terminal, the ledger,
 * the CPU time that all this took, the first row that does not come out of the profile as it went
 * in, and what a recording of it says otherwise.  --keep: makes a recording of one, FILE. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/share.h"
#include "cli/answer.h"
#include "cli/quality.h"
#include "exporter/exporter.h"
#include "exporter/json.h"
#include "recording/growing.h"
#include "recording/recording_file.h"
#include "recording/store.h"
#include "summary/findings.h"
#include "summary/known_used.h"
#include "summary/ledger.h"
#include "summary/path_words.h"
#include "summary/wait_text.h"
#include "tests/support/fixture.h"

enum {
    WIDTH = 79,
    FILES_EVERY = 10, /* files of all would take half a minute */
};

static void write_finding(struct json *j, const struct finding *f)
{
    json_object(j);
    json_string_field(j, "rule", f->rule);
    json_string_field(j, "about", f->about);
    json_string_field(j, "blames", f->blames);
    json_number_field(j, "ends_s", (double)f->ends_ns / NS_PER_S);
    json_key(j, "figures");
    json_object(j);
    for (size_t i = 0; i < f->n_figures; i++) {
        json_key(j, f->figures[i].name);
        json_number(j, f->figures[i].value);
    }
    json_end_object(j);
    json_string_field(j, "words", f->words);
    json_end_object(j);
}

static void write_path(struct json *j, const char *key, const struct call_path *path)
{
    struct text words = {0};
    if (path->node)
        add_way(&words, path);
    json_string_field(j, key, words.s);
    text_release(&words);
}

static void write_row(struct json *j, const struct ledger *l, const struct ledger_row *row)
{
    json_object(j);
    json_string_field(j, "group", row->group->noun);
    json_string_field(j, "cause", cause_name(row->cause));
    write_path(j, "place", &row->place);
    json_number_field(j, "share", share_of(row->ns, l->wall_ns - l->idle_ns));
    struct text other = {0};
    text_add(&other, "");
    if (row->other_ns)
        wait_side_add_text(&other, l->p, &row->other, row->waiter, false);
    json_string_field(j, "other", other.s);
    text_release(&other);
    json_string_field(j, "waits_cause", row->waits.node ? cause_name(row->waits_cause) : NULL);
    write_path(j, "waits", &row->waits);
    json_end_object(j);
}

static void write_ledger(struct json *j, const struct ledger *l)
{
    struct text text = {0};
    ledger_write(l, WIDTH, &text);
    json_string_field(j, "leader", l->leader ? l->leader->noun : NULL);
    json_string_field(j, "ledger_text", text.s);
    json_array_field(j, "ledger");
    for (size_t i = 0; i < l->n; i++)
        write_row(j, l, &l->rows[i]);
    json_end_array(j);
    text_release(&text);
}

/* "_run_once asyncio/base_events.py" */
static void write_known(struct json *j, const struct view *v)
{
    const struct known_table *t = view_known(v);
    bool *used = known_used(v);
    json_array_field(j, "known");
    for (size_t i = 0; i < t->n; i++) {
        if (!used[i])
            continue;
        struct text text = {0};
        known_add_row(&text, &t->rows[i]);
        json_string(j, text.s);
        text_release(&text);
    }
    json_end_array(j);
    free(used);
}

static void write_answer(struct json *j, const struct profile *p)
{
    struct groups groups;
    struct table table;
    struct findings findings;
    struct text text = {0};
    int64_t begin_ns = clock_cpu_ns();
    groups_init(&groups, p, &(struct view_options){0});
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    findings_init(&findings, &groups);
    findings_write(&findings, WIDTH, &text);
    answer_write(&table, WIDTH, &text);
    json_number_field(j, "cpu_s", (double)(clock_cpu_ns() - begin_ns) / NS_PER_S);
    json_array_field(j, "findings");
    for (size_t i = 0; i < findings.n_printed; i++)
        write_finding(j, findings.printed[i]);
    json_end_array(j);
    json_string_field(j, "text", text.s);
    write_ledger(j, &findings.ledger);
    write_known(j, groups.v);
    findings_release(&findings);
    table_release(&table);
    groups_release(&groups);
    text_release(&text);
}

/* Cuts the notes of who recorded it out: a profile has none. */
static void cut_notes(struct text *text)
{
    char *to = text->s;
    for (const char *s = text->s; *s;) {
        size_t len = strcspn(s, "\n") + 1;
        if (!str_starts(s, "note ")) {
            memmove(to, s, len);
            to += len;
        }
        s += len;
    }
    text_truncate(text, (size_t)(to - text->s));
}

/* Appends the first row of A that B does not have at its place. */
static void add_difference(struct text *out, const char *a, const char *b)
{
    size_t number = 1;
    size_t row = 0;
    for (size_t i = 0; a[i] == b[i]; i++) {
        if (!a[i])
            return;
        if (a[i] == '\n') {
            row = i + 1;
            number++;
        }
    }
    text_addf(out, "%zu: %.*s, but %.*s", number, (int)strcspn(a + row, "\n"), a + row,
              (int)strcspn(b + row, "\n"), b + row);
}

/* TEXT without its notes, before it is parsed, and after it was a profile. */
static void write_difference(struct json *j, const struct text *text, const struct profile *p)
{
    struct text again = {0};
    struct text difference = {0};
    struct err err = {0};
    if (fixture_add(&again, p, &err) < 0)
        text_add(&difference, err.text);
    else
        add_difference(&difference, text->s, again.s);
    json_string_field(j, "differs", difference.s);
    text_release(&again);
    text_release(&difference);
}

/* ---- a recording of it ---- */

static void add_files(struct text *out, const struct profile *p)
{
    const struct view_options options = {0};
    for (size_t i = 0; exporter_at(i); i++) {
        char *bytes = NULL;
        size_t len = 0;
        struct export_notes notes;
        FILE *file = open_memstream(&bytes, &len);
        (void)exporter_write(exporter_at(i), p, &options, NULL, 0, file, &notes);
        (void)fclose(file);
        text_addf(out, "\n%s %zu\n", exporter_at(i)->name, len);
        for (size_t k = 0; k < len; k++) /* a recording holds NULs */
            text_add_bytes(out, bytes[k] ? bytes + k : "0", 1);
        free(bytes);
    }
}

/* All that is printed of P, and all fields that it has; FILES: and what is in its files of all
 * formats. */
static void add_all(struct text *out, const struct profile *p, bool files)
{
    const struct view_options options = {0};
    struct groups groups;
    struct table table;
    struct findings findings;
    groups_init(&groups, p, &options);
    table_init(&table, &groups, ANSWER_MAX_ROWS);
    findings_init(&findings, &groups);
    findings_write(&findings, WIDTH, out);
    answer_write(&table, WIDTH, out);
    (void)quality_text(p, out);
    ledger_write(&findings.ledger, WIDTH, out);
    (void)fixture_add(out, p, NULL);
    findings_release(&findings);
    table_release(&table);
    groups_release(&groups);
    if (files)
        add_files(out, p);
}

/* What grows in steps: the first fourth of each thread's runs, and so on, the last of them cut.
 * Each step stops now and then, as where a pipe is full. */
struct cut {
    size_t n_runs, n_marks;
    struct run last;
    struct counts counts;
};

static void cut(struct profile *p, struct cut *cuts, int step, int steps)
{
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        struct profile_thread *t = profile_get_thread(p, (thread_id){i});
        cuts[i] = (struct cut){t->n_runs, t->n_marks, {.samples = 0}, t->counts};
        if (!t->process.ix || t->n_runs < 2)
            continue;
        t->n_runs = t->n_runs * (size_t)step / (size_t)steps;
        t->n_runs += t->n_runs == 0;
        t->n_marks = t->n_marks * (size_t)step / (size_t)steps;
        t->counts.ns[0] /= 2;
        struct run *last = &t->runs[t->n_runs - 1];
        cuts[i].last = *last;
        last->weights.wall_ns /= 2;
        last->samples /= 2;
    }
}

static void mend(struct profile *p, const struct cut *cuts)
{
    for (uint32_t i = 1; i <= profile_thread_count(p); i++) {
        struct profile_thread *t = profile_get_thread(p, (thread_id){i});
        if (t->process.ix && cuts[i].n_runs >= 2)
            t->runs[t->n_runs - 1] = cuts[i].last;
        t->n_runs = cuts[i].n_runs;
        t->n_marks = cuts[i].n_marks;
        t->counts = cuts[i].counts;
    }
}

/* Ever more rarely there is none. */
static bool has_room(void *ctx)
{
    unsigned *n = ctx;
    ++*n;
    return (*n & (*n - 1)) != 0;
}

static void store_entry(void *store, const char *bytes, size_t len)
{
    struct entry entry;
    if (entry_parse(&entry, bytes, len) <= 0)
        abort();
    if (entry.kind < ENTRY_STORE_LAST)
        store_take(store, &entry);
}

/* As a file that grew, and then came to its end. */
static struct profile *keep_growing(struct profile *p, struct err *err)
{
    enum { STEPS = 4 };
    struct store *store = store_new();
    struct growing *g = growing_new(p, (struct sink_to){store_entry, store});
    struct cut *cuts = xcalloc(profile_thread_count(p) + (size_t)1, sizeof *cuts);
    unsigned n = 0;
    for (int step = 1; step < STEPS; step++) {
        cut(p, cuts, step, STEPS);
        while (!growing_send(g, profile_end_ns(p) / STEPS * step, has_room, &n))
            ;
        mend(p, cuts);
    }
    (void)growing_send(g, profile_end_ns(p), NULL, NULL);
    growing_free(g);
    free(cuts);
    int error = store_end(store, profile_end_ns(p), err);
    size_t len = 0;
    const unsigned char *bytes = store_bytes(store, &len);
    struct profile *kept = error < 0 ? NULL : recording_bytes_read(bytes, len, "growing", err);
    store_free(store);
    return kept;
}

static struct profile *keep(const struct profile *p, struct err *err)
{
    char *bytes = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&bytes, &len);
    int error = recording_file_write(p, NULL, file, err);
    (void)fclose(file);
    struct profile *kept = error < 0 ? NULL : recording_bytes_read(bytes, len, "recording", err);
    free(bytes);
    return kept;
}

/* The first line that KEPT, which is made of P, says otherwise; ERR: why there is none.  Frees
 * KEPT. */
static void write_kept(struct json *j, const char *key, const struct profile *p,
                       struct profile *kept, const struct err *err, bool files)
{
    struct text said = {0};
    struct text again = {0};
    struct text difference = {0};
    text_add(&difference, "");
    if (kept) {
        add_all(&said, p, files);
        add_all(&again, kept, files);
        add_difference(&difference, said.s, again.s);
    } else {
        text_add(&difference, err->text);
    }
    json_string_field(j, key, difference.s);
    profile_free(kept);
    text_release(&said);
    text_release(&again);
    text_release(&difference);
}

/* On the gate one fixture of FILES_EVERY grows: it takes as long as all the rest. */
static bool grows(bool files)
{
    const char *rounds = getenv("WALLSPY_ROUNDS");
    return files || !rounds || !str_eq(rounds, "gate");
}

static void write_both_kept(struct json *j, struct profile *p, bool files)
{
    struct err err = {0};
    struct profile *kept = keep(p, &err);
    write_kept(j, "kept_differs", p, kept, &err, files);
    if (grows(files))
        write_kept(j, "grown_differs", p, keep_growing(p, &err), &err, files);
    else
        json_string_field(j, "grown_differs", "");
}

static bool judge(struct json *j, const char *path, bool files)
{
    struct text text = {0};
    struct text rows = {0};
    struct err err = {0};
    struct profile *p = NULL;
    json_newline(j);
    json_object(j);
    json_string_field(j, "fixture", path_base(path));
    if (fixture_unpack(path, &text, &err) == 0) {
        text_add(&rows, text.s);
        cut_notes(&rows);
        p = fixture_parse(text.s, path_base(path), &err);
    }
    if (p) {
        write_answer(j, p);
        write_difference(j, &rows, p);
        write_both_kept(j, p, files);
    } else {
        json_string_field(j, "error", err.text);
    }
    json_end_object(j);
    text_release(&text);
    text_release(&rows);
    bool done = p != NULL;
    profile_free(p);
    return done;
}

static int keep_as(const char *path, const char *fixture)
{
    struct err err = {0};
    struct profile *p = fixture_read(fixture, &err);
    FILE *file = p ? fopen(path, "w") : NULL;
    int error = file ? recording_file_write(p, NULL, file, &err) : -1;
    if (file && fclose(file) != 0)
        error = -1;
    if (error < 0)
        (void)fprintf(stderr, "%s\n", err.text);
    profile_free(p);
    return error < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 4 && str_eq(argv[1], "--keep"))
        return keep_as(argv[2], argv[3]);
    bool all = argc > 1;
    struct json j = {.out = stdout};
    json_array(&j);
    for (int i = 1; i < argc; i++)
        all &= judge(&j, argv[i], i % FILES_EVERY == 1);
    json_end_array(&j);
    return json_finish(&j) == 0 && all ? EXIT_SUCCESS : EXIT_FAILURE;
}
