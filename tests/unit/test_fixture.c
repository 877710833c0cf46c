/* tests/support/fixture_*.c: a recorded profile as text. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "summary/wait_text.h"
#include "tests/support/check_main.h"
#include "tests/support/fixture.h"
#include "tests/support/fixture_side.h"
#include "tests/support/profile_builder.h"

/* ---- the other side of a wait, in all forms that worker/peer_*.c give it ---- */

static const struct {
    enum wait_thing thing;
    enum blocker_kind holder;
    const char *what; /* as a dump says it */
    const char *row;  /* its fields but those of the holder */
} forms[] = {
    /* peer_child.c */
    {THING_CHILD, BLOCKER_PROCESS, "sleep", " name=\"sleep\""},
    {THING_CHILD, BLOCKER_PROCESS, "a),b", " name=\"a),b\""},
    {THING_CHILD, BLOCKER_PROCESS, "sh, which is stopped", " name=\"sh\" fate=stopped"},
    {THING_CHILD, BLOCKER_PROCESS, "sh, which has ended", " name=\"sh\" fate=ended"},
    {THING_CHILD, BLOCKER_PROCESS, "sh, whose main thread has ended",
     " name=\"sh\" fate=main-ended"},
    {THING_CHILD, BLOCKER_UNKNOWN, "3 children", " children=3"},
    /* peer_looks.c: who has a pipe, a unix socket, a file's lock */
    {THING_PIPE, BLOCKER_PROCESS, "less", " name=\"less\""},
    {THING_FILE_LOCK, BLOCKER_PROCESS, "apt, which has ended", " name=\"apt, which has ended\""},
    {THING_PIPE, BLOCKER_UNKNOWN, "2 processes", " processes=2"},
    {THING_FILE_LOCK, BLOCKER_UNKNOWN, "2 processes: 7 (sh), 8 (a: b)",
     " processes=2|of pid=7 name=\"sh\"|of pid=8 name=\"a: b\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "5 processes: 7 (sh), 8 (b), 9 (c), …",
     " processes=5|of pid=7 name=\"sh\"|of pid=8 name=\"b\"|of pid=9 name=\"c\""},
    /* peer_socket.c */
    {THING_SOCKET, BLOCKER_UNKNOWN, "connections to unix:/run/a, b",
     " end=listener address=\"unix:/run/a, b\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "connections to 0.0.0.0:80",
     " end=listener address=\"0.0.0.0:80\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "[::1]:80", " end=peer address=\"[::1]:80\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "a client of :80", " end=client-of address=\":80\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "UDP on 0.0.0.0:53", " end=udp-local address=\"0.0.0.0:53\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "UDP 10.0.0.7:53", " end=udp-peer address=\"10.0.0.7:53\""},
    {THING_SOCKET, BLOCKER_UNKNOWN, "client 10.0.0.7:4711, nothing received",
     " end=client address=\"10.0.0.7:4711\" queue=nothing-received"},
    {THING_SOCKET, BLOCKER_UNKNOWN, "10.0.0.7:80, not connected yet",
     " end=peer address=\"10.0.0.7:80\" queue=not-connected"},
    {THING_SOCKET, BLOCKER_UNKNOWN, "10.0.0.7:80, not all read (12 bytes wait)",
     " end=peer address=\"10.0.0.7:80\" queue=not-all-read bytes=12"},
    {THING_SOCKET, BLOCKER_UNKNOWN, "10.0.0.7:80, not all acknowledged (9 bytes wait)",
     " end=peer address=\"10.0.0.7:80\" queue=not-all-acknowledged bytes=9"},
    /* peer_events.c */
    {THING_EVENTS, BLOCKER_UNKNOWN, "a connection to 127.0.0.1:5433",
     "|event kind=connection n=1 address=\"127.0.0.1:5433\""},
    {THING_EVENTS, BLOCKER_UNKNOWN, "4 connections to [::1]:80, nothing received",
     "|event kind=connection n=4 address=\"[::1]:80\" queue=nothing-received"},
    {THING_EVENTS, BLOCKER_UNKNOWN, "a connection to 10.0.0.7:80 (not connected yet)",
     "|event kind=connection n=1 address=\"10.0.0.7:80\" connecting=1"},
    {THING_EVENTS, BLOCKER_UNKNOWN, "a connection of a client of :80, not all read",
     "|event kind=client n=1 address=\":80\" queue=not-all-read"},
    {THING_EVENTS, BLOCKER_UNKNOWN,
     "2 connections of clients of :80; listening on 0.0.0.0:80; a timer; and 2 more",
     " more_events=2|event kind=client n=2 address=\":80\"|event kind=listener n=1 "
     "address=\"0.0.0.0:80\"|event kind=other n=1 thing=\"a timer\""},
    {THING_EVENTS, BLOCKER_UNKNOWN,
     "listening on unix:/run/a (2); a wake-up by its own pipe; and at least 3 more",
     " more_events=3 at_least=1|event kind=listener n=2 address=\"unix:/run/a\"|event "
     "kind=wake-up n=1 thing=\"its own pipe\""},
    {THING_EVENTS, BLOCKER_PROCESS, "a pipe to 7 (sh); a socket to 7 (sh); the end of 7 (sh)",
     "|event kind=pipe n=1 pid=7 name=\"sh\"|event kind=socket n=1 pid=7 name=\"sh\"|event "
     "kind=end n=1 pid=7 name=\"sh\""},
    {THING_EVENTS, BLOCKER_UNKNOWN, "a pipe; a socket to unix:/run/x; the end of a process (2)",
     "|event kind=other n=1 thing=\"a pipe\"|event kind=socket n=1 "
     "address=\"unix:/run/x\"|event kind=end n=2 thing=\"a process\""},
    {THING_EVENTS, BLOCKER_UNKNOWN, "UDP on 0.0.0.0:53; UDP 10.0.0.7:53; /dev/input/event0 (2)",
     "|event kind=udp-local n=1 address=\"0.0.0.0:53\"|event kind=udp-peer n=1 "
     "address=\"10.0.0.7:53\"|event kind=other n=2 thing=\"/dev/input/event0\""},
    /* and none */
    {THING_MUTEX, BLOCKER_THREAD, "", ""},
    {THING_PIPE, BLOCKER_UNKNOWN, "", ""},
};

static void add_side_rows(struct text *out, const struct side_fields *side)
{
    text_add(out, "");
    line_add_fields(out, NULL, side_keys, n_side_keys, side);
    for (size_t i = 0; i < side->n_listed; i++) {
        text_add(out, "|of");
        line_add_fields(out, NULL, side_process_keys, n_side_process_keys, &side->listed[i]);
    }
    for (size_t i = 0; i < side->n_events; i++) {
        text_add(out, "|event");
        line_add_fields(out, NULL, side_event_keys, n_side_event_keys, &side->events[i]);
    }
}

static void read_row(struct profile *p, char *row, const struct field *fields, size_t n, void *item)
{
    struct line line;
    ck_assert_ptr_null(line_parse(&line, row));
    ck_assert_ptr_null(line_read_fields(&line, p, fields, n, item));
}

/* ROWS as add_side_rows() writes them. */
static void read_side_rows(struct profile *p, const char *rows, struct side_fields *ret)
{
    char *copy = xasprintf("side%s", rows);
    char *next = copy;
    *ret = (struct side_fields){.holder = BLOCKER_UNKNOWN};
    read_row(p, strsep(&next, "|"), side_keys, n_side_keys, ret);
    while (next) {
        char *row = strsep(&next, "|");
        if (str_starts(row, "of"))
            read_row(p, row, side_process_keys, n_side_process_keys, &ret->listed[ret->n_listed++]);
        else
            read_row(p, row, side_event_keys, n_side_event_keys, &ret->events[ret->n_events++]);
    }
    free(copy);
}

START_TEST(what_a_fixture_says_comes_back_and_has_words)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct profile *p = profile_new(0);
        struct wait wait = {.kind = WAIT_CALL, .side = {.thing = forms[i].thing}};
        struct side_fields fields;
        struct text words = {0};
        struct text rows = {0};
        read_side_rows(p, forms[i].row, &fields);
        fields.holder = forms[i].holder;
        side_give(&fields, p, &wait);
        side_release(&fields);
        text_add(&words, "");
        wait_side_add_what(&words, p, &wait.side, true);
        ck_assert_str_eq(words.s, forms[i].what);
        side_take(&fields, p, &wait);
        ck_assert_int_eq(fields.holder, forms[i].holder);
        fields.holder = BLOCKER_UNKNOWN;
        add_side_rows(&rows, &fields);
        ck_assert_str_eq(rows.s, forms[i].row);
        side_release(&fields);
        text_release(&words);
        text_release(&rows);
        profile_free(p);
    }
}
END_TEST

/* ---- the whole profile ---- */

static struct profile *staged(void)
{
    struct profile_builder b = builder_start(7, "app \"x\"\\\n");
    thread_id main_thread = builder_thread(&b, 7, NULL);
    thread_id other = builder_thread(&b, 8, "wörker");
    struct wait_side side = {.thing = THING_MUTEX,
                             .blocker = {.kind = BLOCKER_THREAD, .pid = 7, .tid = 8},
                             .addr = 0x7fff12345678};
    profile_get_process(b.p, b.process)->cpu_limits.quota_cpus = 0.1;
    profile_set_text(b.p, "kernel", "6.1");
    profile_set_number(b.p, METRIC_RATE_HZ, 97.3);
    profile_name_lock(b.p, 7, side.addr, "table");
    profile_add_listener(b.p, &(struct listener){.host = profile_string(b.p, "127.0.0.1"),
                                                 .port = 5432,
                                                 .pid = 812,
                                                 .name = profile_string(b.p, "postgres"),
                                                 .n = 2});
    builder_held(&b, main_thread, "main!app|a.c:7 > look_up!app|a.c:9", &side, 300);
    profile_mark_counts(b.p, main_thread, 300 * NS_PER_MS);
    builder_run(&b, main_thread, "main!app|a.c:7 > look_up!app|a.c:9", 700, 650);
    builder_run(&b, other, "work@a.py:1:3 > write /data//x [blocked]", 400, 0);
    builder_missed(&b, other, 100);
    builder_runnable(&b, other, "work@a.py:1:4", 500);
    profile_end(b.p, NS_PER_S);
    return b.p;
}

START_TEST(a_profile_comes_back_as_it_was)
{
    struct profile *p = staged();
    struct text first = {0};
    struct text rows = {0};
    struct text again = {0};
    struct err err = {0};
    ck_assert_int_eq(fixture_add(&first, p, &err), 0);
    text_add(&rows, first.s);
    struct profile *back = fixture_parse(rows.s, "x.gz", &err);
    ck_assert_msg(back != NULL, "%s", err.text);
    ck_assert_int_eq(fixture_add(&again, back, &err), 0);
    ck_assert_str_eq(again.s, first.s);
    ck_assert_str_eq(profile_metadata_text(back, "kernel"), "6.1");
    ck_assert_double_eq(profile_number(back, METRIC_RATE_HZ), 97.3);
    ck_assert_str_eq(profile_lock_name(back, 7, 0x7fff12345678), "table");
    const struct profile_thread *t = profile_see_thread(back, (thread_id){1});
    const struct profile_thread *was = profile_see_thread(p, (thread_id){1});
    ck_assert_uint_eq(t->n_runs, 2);
    ck_assert_int_eq(t->runs[1].weights.counted_ns, was->runs[1].weights.counted_ns);
    ck_assert_int_eq(profile_see_wait(back, t->runs[0].at.wait)->side.blocker.tid, 8);
    text_release(&first);
    text_release(&rows);
    text_release(&again);
    profile_free(back);
    profile_free(p);
}
END_TEST

static const struct {
    const char *text, *error; /* NULL: it is read */
} texts[] = {
    {"fixture format=1\nend ns=5\n", NULL},
    {"fixture format=1\nlater thing=7\nend ns=5 later=9\nnote {\"a\": [1, \"b\"]}\n", NULL},
    {"fixture format=2\n", "x.gz:1: an unknown format 2"},
    {"fixture format=1\n\nend ns=soon\n", "x.gz:3: not a value of ns"},
    {"run wall=7\n", "x.gz:1: no thread before run"},
    {"process id=1 pid=x\n", "x.gz:1: not a value of pid"},
    {"process id=2\n", "x.gz:1: an id that does not follow the last one in process"},
    {"process id=1\nthread process=2\n", "x.gz:2: no process 2"},
    {"process id=1\nthread process=1\nrun stack=1\n", "x.gz:3: no stack 1"},
    {"process id=1\nthread process=1\nrun state=idle\n", "x.gz:3: not a value of state"},
    {"frame id=1 kind=native module=1\n", "x.gz:1: no module 1"},
    {"frame id=1 kind=python\n", "x.gz:1: a frame without func"},
    {"stack id=1 frame=1\n", "x.gz:1: no frame 1"},
    {"location line=7\n", "x.gz:1: no frame before a location"},
    {"wait id=1 kind=call mount=1\n", "x.gz:1: no mount 1"},
    {"of pid=7\n", "x.gz:1: no side, or a full one, for of"},
    {"side id=1\nevent pid=7\n", "x.gz:2: an event without kind"},
    {"text key=\"a\n", "x.gz:1: a text without its closing quote"},
    {"text key\n", "x.gz:1: a field without '='"},
};

START_TEST(an_error_has_its_line)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err err = {0};
        char *text = strdup(texts[i].text);
        struct profile *p = fixture_parse(text, "x.gz", &err);
        ck_assert_str_eq(err.text, texts[i].error ? texts[i].error : "");
        ck_assert_int_eq(p == NULL, texts[i].error != NULL);
        profile_free(p);
        free(text);
    }
}
END_TEST

/* Every byte of a fixture may be another one, and the text may end anywhere. */
START_TEST(broken_text_breaks_nothing)
{
    struct profile *p = staged();
    struct text rows = {0};
    struct err err = {0};
    ck_assert_int_eq(fixture_add(&rows, p, &err), 0);
    for (size_t at = 0; at < rows.len; at++) {
        char *text = strdup(rows.s);
        text[at] = at % 3 ? (char)('0' + at % 10) : '\0';
        profile_free(fixture_parse(text, "x.gz", &err));
        free(text);
    }
    text_release(&rows);
    profile_free(p);
}
END_TEST

CHECK_MAIN("fixture", 20, what_a_fixture_says_comes_back_and_has_words,
           a_profile_comes_back_as_it_was, an_error_has_its_line, broken_text_breaks_nothing)
