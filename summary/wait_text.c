#include "summary/wait_text.h"

#include <assert.h>
#include <string.h>

const char wait_file[] = "[off-cpu]";

string_id wait_mount_point(const struct profile *p, const struct wait *wait)
{
    string_id point = wait->mount.ix ? profile_see_mount(p, wait->mount)->point : (string_id){0};
    return str_eq(profile_text(p, point), "/") ? (string_id){0} : point;
}

static void add_call(struct text *out, const struct profile *p, const struct wait *wait)
{
    string_id point = wait_mount_point(p, wait);
    string_id object = point.ix ? point : wait->object;
    text_add(out, profile_text(p, wait->call));
    if (object.ix)
        text_addf(out, " %s", profile_text(p, object));
    text_add(out, " [blocked]");
}

static void add_tracer(struct text *out, const char *pid)
{
    if (*pid)
        text_addf(out, "[traced by %s]", pid);
    else
        text_add(out, "[traced]");
}

static void add_unknown(struct text *out, const char *kernel)
{
    text_add(out, "[off the CPU, cause unknown");
    text_addf(out, *kernel ? ": kernel %s]" : "]", kernel);
}

void wait_add_text(struct text *out, const struct profile *p, const struct wait *wait)
{
    static const char *const words[] = {
        [WAIT_CPU] = "[waiting for cpu]",
        [WAIT_GIL] = "[waiting for GIL]",
        [WAIT_PAGE] = "[page fault]",
        [WAIT_STOPPED] = "[stopped]",
        [WAIT_NOT_PERMITTED] = "[not permitted]",
        [WAIT_IO_WORKER] = "[io_uring worker]",
        [WAIT_FROZEN] = "[frozen]",
    };
    if (wait->kind == WAIT_CALL)
        add_call(out, p, wait);
    else if (wait->kind == WAIT_TRACED)
        add_tracer(out, profile_text(p, wait->object));
    else if (wait->kind == WAIT_UNKNOWN)
        add_unknown(out, profile_text(p, wait->object));
    else
        text_add(out, words[wait->kind]);
}

const char *wait_path_below_mount(const struct profile *p, const struct wait *wait)
{
    return wait_mount_point(p, wait).ix ? profile_text(p, wait->object) : NULL;
}

/* The part of WHAT behind a child's name: ", which is stopped".  It is longer than any name of a
 * process, so that no name ends in it. */
static const char *state_in(const char *what)
{
    static const char *const states[] = {CHILD_IS_STOPPED, CHILD_HAS_ENDED, CHILD_MAIN_HAS_ENDED};
    size_t len = strlen(what);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (str_ends(what, states[i]))
            return what + len - strlen(states[i]);
    return what + len;
}

/* "4711 (sleep)" */
static void add_process(struct text *out, const struct profile *p, const struct wait_side *side)
{
    const char *name = profile_text(p, side->what);
    text_addf(out, "%d (%.*s)", side->pid, (int)(state_in(name) - name), name);
}

static void add_child(struct text *out, const struct profile *p, const struct wait_side *side)
{
    const char *what = profile_text(p, side->what);
    if (side->holder != HOLDER_PROCESS) {
        text_add(out, side->what.ix ? "any of its " : "a child");
        text_add(out, side->what.ix ? what : "");
        return;
    }
    text_add(out, "its child ");
    add_process(out, p, side);
    text_add(out, state_in(what));
}

/* WHAT "2 processes: 12 (sh), 13 (sleep)" becomes "2 processes have: 12 (sh), 13 (sleep)". */
static void add_several(struct text *out, const char *what, const char *verb)
{
    const char *names = strchr(what, ':');
    int n = (int)(names ? names - what : (ptrdiff_t)strlen(what));
    text_addf(out, "%.*s %s%s", n, what, verb, names ? names : "");
}

static bool are_several(const char *what)
{
    size_t digits = strspn(what, "0123456789");
    return digits && str_starts(what + digits, " processes");
}

static void add_other_end(struct text *out, const struct profile *p, const struct wait_side *side,
                          pid_t own_pid)
{
    const char *of = side->thing == THING_PIPE ? "pipe" : "socket";
    const char *what = profile_text(p, side->what);
    if (side->holder == HOLDER_PROCESS && side->pid == own_pid) {
        text_addf(out, "a %s whose other end only this process has", of);
    } else if (side->holder == HOLDER_PROCESS) {
        add_process(out, p, side);
        text_addf(out, ", which has the %s's other end", of);
        text_add(out, strstr(what, ", which is stopped") ? " and is stopped" : "");
    } else {
        text_addf(out, "a %s", of);
        text_add(out, side->what.ix ? " whose other end " : "");
        if (side->what.ix)
            add_several(out, what, "have");
    }
}

/* A server waits for "new connections to 0.0.0.0:80", where it is "listening on" that. */
static void add_events(struct text *out, const char *what)
{
    static const char listens[] = "listening on ";
    bool server = str_starts(what, listens);
    text_add(out, server ? "new connections to " : "");
    text_add(out, what + (server ? strlen(listens) : 0));
}

void wait_side_add_text(struct text *out, const struct profile *p, const struct wait_side *side,
                        pid_t own_pid)
{
    const char *what = profile_text(p, side->what);
    bool several = are_several(what);
    if (side->thing == THING_CHILD) {
        add_child(out, p, side);
    } else if (side->thing == THING_PIPE ||
               (side->thing == THING_SOCKET &&
                (side->holder == HOLDER_PROCESS || several || !side->what.ix))) {
        add_other_end(out, p, side, own_pid);
    } else if (side->thing == THING_FILE_LOCK) {
        text_add(out, "a file's lock");
        text_add(out, side->holder == HOLDER_PROCESS ? ", held by " : several ? ", which " : "");
        if (side->holder == HOLDER_PROCESS)
            add_process(out, p, side);
        else if (several)
            add_several(out, what, "share");
    } else if (side->thing == THING_SOCKET) {
        text_add(out, what);
    } else if (side->thing == THING_EVENTS) {
        add_events(out, what);
    }
}
