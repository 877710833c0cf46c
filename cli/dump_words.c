#include "cli/dump_words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arch/syscalls.h"
#include "base/clock.h"
#include "cli/dump_wait_words.h"
#include "dump/thread.h"
#include "dump/waits.h"
#include "summary/frame_name.h"
#include "summary/frame_role.h"
#include "summary/short_name.h"
#include "summary/state_words.h"
#include "summary/verdict_words.h"
#include "summary/wait_text.h"

/* ---- what it does ---- */

/* Names are the target's, and may hold anything. */
static void add_tame(struct text *out, const char *before, const char *name, const char *after)
{
    text_add(out, before);
    text_add_tame(out, name, strlen(name));
    text_add(out, after);
}

/* What the call is for: "sleep", if that is all. */
static const char *object_of(const struct dump *d, const struct dump_thread *t,
                             const struct wait *wait)
{
    if (t->object || !wait || !wait->object.ix)
        return t->object;
    return profile_text(d->profile, wait->object);
}

static void add_call(const struct dump *d, const struct dump_thread *t, struct text *out)
{
    enum { MOST_COLUMNS = 48 };
    const struct wait *wait = profile_see_wait(d->profile, t->at.wait);
    char number[32];
    struct state_call call = {
        .name = t->syscall >= 0 ? syscall_name(t->syscall) : NULL,
        .object = object_of(d, t, wait),
        .mount = wait && wait->mount.ix ? profile_see_mount(d->profile, wait->mount) : NULL,
        .profile = d->profile,
        .most_columns = d->style.full ? SIZE_MAX : MOST_COLUMNS,
    };
    (void)snprintf(number, sizeof number, "system call %lld", (long long)t->syscall);
    call.name = call.name ? call.name : number;
    if (t->syscall == -1)
        state_add_off_cpu(out, wait && wait->kind == WAIT_PAGE);
    else
        state_add_call(out, &call);
    if (dump_wait_opens_fifo(t))
        text_add(out, ", a FIFO whose other end no process has open");
}

/* A loop that looks around several times a second tells nothing by that, nor does one that may wait
 * for a day.  Most calls count from their beginning on, which may be long ago. */
static void add_time_out(const struct dump_thread *t, struct text *out)
{
    static const int64_t an_hour_ns = INT64_C(3600) * NS_PER_S;
    if (t->time_out_ns < NS_PER_S || t->time_out_ns > an_hour_ns)
        return;
    text_add(out, ", times out within ");
    dump_words_time(t->time_out_ns, out);
}

static void add_blocked(const struct dump *d, const struct dump_thread *t, bool numbered,
                        struct text *out)
{
    size_t before = out->len;
    dump_wait_words_add(d, t, numbered, out);
    if (out->len == before)
        add_call(d, t, out);
    if (numbered)
        add_time_out(t, out);
}

/* Are A and B of one job of a shell? */
static bool are_one_job(pid_t a, pid_t b)
{
    pid_t group = getpgid(a);
    return a == b || (group > 0 && group == getpgid(b));
}

/* The terminal for whose read T's job was stopped; NULL: for none. */
static const char *terminal_of(const struct dump *d, const struct dump_thread *t)
{
    const char *ret = NULL;
    for (size_t i = 0; i < d->n && !ret; i++) {
        const struct wait *wait = profile_see_wait(d->profile, d->threads[i].at.wait);
        if (wait && wait->kind == WAIT_STOPPED && are_one_job(d->threads[i].pid, t->pid))
            ret = wait_terminal_read(d->profile, wait);
    }
    return ret;
}

/* Only the line of the main thread has the way out: it is of the process. */
static void add_stopped(const struct dump *d, const struct dump_thread *t, bool numbered,
                        struct text *out)
{
    bool way_out = numbered && t->tid == t->pid;
    if (dump_thread_is_of_kind(d, t, WAIT_TRACED))
        text_add(out, "is stopped by its tracer");
    else if (t->state == THREAD_BLOCKED) /* in the freezer */
        verdict_add_frozen(out, false, way_out);
    else
        verdict_add_stopped(out, false, way_out ? t->pid : 0, terminal_of(d, t));
}

static void add_off_call(const struct dump *d, const struct dump_thread *t, bool numbered,
                         struct text *out)
{
    const struct shown_frame *leaf = dump_thread_leaf(d, t);
    if (t->gil.gil == PY_GIL_WAITING) /* it wakes now and then to look */
        dump_wait_words_add(d, t, numbered, out);
    else if (t->state == THREAD_STOPPED)
        add_stopped(d, t, numbered, out);
    else
        state_add_on_cpu(out, t->state == THREAD_RUNNABLE, leaf ? leaf->spins : SPIN_NONE);
}

/* Behind a way out it is a clause of its own. */
static void add_gil(const struct dump *d, const struct dump_thread *t, struct text *out)
{
    bool way_out = t->state == THREAD_STOPPED || dump_thread_is_of_kind(d, t, WAIT_FROZEN);
    if (t->gil.gil == PY_GIL_HOLDING)
        text_add(out, way_out ? "; it holds the GIL" : ", holds the GIL");
}

void dump_words_state(const struct dump *d, const struct dump_thread *t, bool numbered,
                      struct text *out)
{
    bool io_worker = dump_thread_is_of_kind(d, t, WAIT_IO_WORKER);
    if (!t->sampled && t->ended)
        text_add(out, "has ended");
    else if (io_worker)
        text_add(out, "is an io_uring worker, which has no stack");
    else if (t->state == THREAD_BLOCKED && dump_thread_is_of_kind(d, t, WAIT_FROZEN))
        add_stopped(d, t, numbered, out);
    else if (t->state == THREAD_BLOCKED)
        add_blocked(d, t, numbered, out);
    else
        add_off_call(d, t, numbered, out);
    add_gil(d, t, out);
    if (t->sampled && t->ended)
        text_add(out, ", ended since");
    else if (t->sampled && !t->shot)
        text_add(out, ", and did not stop for the last look");
    if (!t->sampled && !t->ended && !io_worker)
        text_add(out, ", not captured in time");
    if (t->wchan[0] && (d->style.full || d->from_proc || !t->sampled))
        add_tame(out, " (kernel: ", t->wchan, ")");
    if (t->sampled && !t->complete && !d->from_proc)
        text_add(out, ", stack incomplete");
}

void dump_words_time(int64_t ns, struct text *out)
{
    if (ns < NS_PER_S / 10)
        text_addf(out, "0.%02d s", (int)(ns / ((int64_t)10 * NS_PER_MS)));
    else
        text_addf(out, "%d.%d s", (int)(ns / NS_PER_S), (int)(ns % NS_PER_S / (NS_PER_S / 10)));
}

void dump_words_of_several(size_t n, const char *state, struct text *out)
{
    static const char *const verbs[][2] = {{"waits", "wait"}, {"runs", "run"}, {"sleeps", "sleep"},
                                           {"spins", "spin"}, {"is ", "are "}, {"has ", "have "}};
    for (size_t i = 0; n > 1 && i < sizeof verbs / sizeof *verbs; i++)
        if (str_starts(state, verbs[i][0])) {
            text_add(out, verbs[i][1]);
            state += strlen(verbs[i][0]);
            break;
        }
    text_add(out, state);
}

/* ---- its stack ---- */

/* "b.py" of "/a/b.py", "json/__init__.py" of "/a/json/__init__.py". */
static const char *short_path(const char *path)
{
    const char *base = path_base(path);
    if (!str_starts(base, "__") || base - path < 2)
        return base;
    const char *at = base - 1;
    while (at > path && at[-1] != '/')
        at--;
    return at;
}

static void add_place(const struct shown_frame *f, bool lined, struct text *out)
{
    enum { MOST_COLUMNS = 40 };
    const char *path = f->source;
    struct text name = {0};
    if (path)
        add_tame(&name, "", short_path(path), "");
    else if (f->kind == SHOWN_NATIVE && !f->nameless && f->module && strstr(f->module, ".so"))
        add_tame(&name, "[", f->module, "]");
    text_add_cut(out, text_str(&name), name.len, MOST_COLUMNS);
    if (path && lined && f->current_line)
        text_addf(out, ":%u", f->current_line);
    text_release(&name);
}

/* The innermost frame of the user's own code, or else of a library; NULL: neither. */
static const struct shown_frame *speaking_frame(const struct dump *d, const struct dump_thread *t)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(d->view, t->at, &n);
    const struct shown_frame *library = NULL;
    for (size_t i = n; i-- > 0;) {
        if (stack[i].kind != SHOWN_NATIVE && stack[i].kind != SHOWN_PYTHON)
            continue;
        enum frame_role role = frame_role(&stack[i], t->state == THREAD_BLOCKED);
        if (role == ROLE_OWN)
            return &stack[i];
        if (role == ROLE_LIBRARY && !library)
            library = &stack[i];
    }
    return library;
}

void dump_words_place(const struct dump *d, const struct dump_thread *t, bool lined,
                      struct text *out)
{
    enum { MOST_COLUMNS = 32 };
    const struct shown_frame *f = t->sampled ? speaking_frame(d, t) : NULL;
    struct text name = {0};
    struct text place = {0};
    if (!f)
        return;
    frame_add_thread_name(&name, f);
    text_add(out, ", ");
    short_name_add(out, name.s, MOST_COLUMNS);
    add_place(f, lined, &place);
    text_addf(out, "%s%s", place.len ? " " : "", text_str(&place));
    text_release(&name);
    text_release(&place);
}

static void add_name(const struct shown_frame *f, const struct brief_frame *b, size_t columns,
                     struct text *out)
{
    enum { LEAST_NAME = 8 };
    struct text name = {0};
    char times[48] = "";
    if (b->repeats > 1)
        (void)snprintf(times, sizeof times,
                       f->nameless ? " (%zu frames without names)" : " (%zu times)", b->repeats);
    if (f->kind == SHOWN_MARK)
        add_tame(&name, "", f->name, "");
    else if (b->call && !f->libc && strcspn(f->name, "<")) /* without what a template is made of */
        text_add_tame(&name, f->name, strcspn(f->name, "<"));
    else
        frame_add_thread_name(&name, f);
    size_t most = columns > LEAST_NAME + strlen(times) ? columns - strlen(times) : LEAST_NAME;
    short_name_add(out, name.s, most);
    text_add(out, times);
    text_release(&name);
}

/* "    refresh                    dead.cpp:8   std::lock_guard b(db);" */
static void add_frame(const struct dump *d, const struct dump_thread *t,
                      const struct shown_frame *f, const struct brief_frame *b,
                      struct source_lines *sources, struct text *out)
{
    enum { INDENT = 4, PLACE_COLUMN = 31, GAP = 3, LEAST_SOURCE = 12 };
    struct text place = {0};
    struct text source = {0};
    size_t start = out->len;
    if (!b->call)
        add_place(f, true, &place);
    text_add(out, "    ");
    add_name(f, b, d->style.width - INDENT - (place.len ? text_columns(&place, 0) + 1 : 0), out);
    if (place.len) {
        text_pad(out, start, PLACE_COLUMN, 1);
        text_add(out, place.s);
    }
    size_t used = text_columns(out, start) + GAP;
    const char *path = b->call ? NULL : f->source;
    if (path && used + LEAST_SOURCE <= d->style.width)
        source_line_add(sources, t->pid, path, f->current_line, &source);
    if (source.len) {
        text_add(out, "   ");
        text_add_cut(out, source.s, source.len, d->style.width - used);
    }
    text_add(out, "\n");
    text_release(&place);
    text_release(&source);
}

static void add_whole_frame(const struct shown_frame *f, struct text *out)
{
    bool has_place = f->file && (f->kind == SHOWN_NATIVE || f->kind == SHOWN_PYTHON);
    add_tame(out, "    ", f->name, "");
    if (has_place)
        add_tame(out, " (", f->file, "");
    if (has_place && f->current_line)
        text_addf(out, ":%u", f->current_line);
    text_addf(out, "%s%s\n", has_place ? ")" : "", f->inlined ? " [inlined]" : "");
}

/* Arguments are those of all of F's threads, or it is said that they differ. */
static void add_arguments(const struct dump *d, const struct dump_fold *f,
                          const struct shown_frame *stack, size_t n, size_t at, struct text *out)
{
    enum { INDENT = 6 };
    struct text tame = {0};
    const char *first = dump_thread_arguments(&d->threads[f->members[0]], stack, n, at);
    const char *said = first;
    for (size_t i = 1; i < f->n; i++) {
        const char *other = dump_thread_arguments(&d->threads[f->members[i]], stack, n, at);
        if (!str_eq(first ? first : "", other ? other : ""))
            said = "(arguments differ)";
    }
    if (!said)
        return;
    text_add_tame(&tame, said, strlen(said));
    text_add_line(out, tame.s, INDENT, INDENT, d->style.width);
    text_release(&tame);
}

void dump_words_stack(struct dump *d, const struct dump_fold *f, struct source_lines *sources,
                      size_t hidden[BRIEF_KINDS], struct text *out)
{
    const struct dump_thread *t = &d->threads[f->members[0]];
    size_t n = 0;
    const struct shown_frame *stack = t->sampled ? view_stack(d->view, t->at, &n) : NULL;
    struct brief_stack brief = {0};
    for (size_t i = n; d->style.full && i-- > 0;) {
        add_whole_frame(&stack[i], out);
        if (hidden)
            add_arguments(d, f, stack, n, i, out);
    }
    if (!d->style.full && t->sampled)
        brief_stack_of(stack, n, t->state == THREAD_BLOCKED, &brief);
    for (size_t i = 0; i < brief.n; i++) {
        const struct brief_frame *b = &brief.frames[i];
        if (b->skipped)
            text_addf(out, "    … %zu more\n", b->skipped);
        add_frame(d, t, &stack[b->at], b, sources, out);
        if (hidden)
            add_arguments(d, f, stack, n, b->at, out);
    }
    for (unsigned i = 0; hidden && i < BRIEF_KINDS; i++)
        hidden[i] += brief.hidden[i];
}
