#include "tests/support/profile_builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "summary/wait_text.h"

struct profile_builder builder_start(pid_t pid, const char *comm)
{
    return builder_start_within(0, pid, comm);
}

struct profile_builder builder_start_within(size_t limit, pid_t pid, const char *comm)
{
    struct profile_builder b = {.p = profile_new(limit)};
    builder_process(&b, pid, comm, NULL);
    return b;
}

void builder_process(struct profile_builder *b, pid_t pid, const char *comm,
                     const char *environment)
{
    struct profile_process process = {.pid = pid};
    process.comm = process.command = profile_string(b->p, comm);
    if (environment)
        process.environment = profile_string(b->p, environment);
    b->process = profile_process(b->p, &process);
}

thread_id builder_thread(struct profile_builder *b, pid_t tid, const char *name)
{
    const struct profile_process *process = profile_see_process(b->p, b->process);
    string_id name_id = name ? profile_string(b->p, name) : process->comm;
    bool is_main = process->pid == tid;
    thread_id id = profile_thread(b->p, b->process, tid, name_id, 0);
    profile_get_thread(b->p, id)->main = is_main;
    return id;
}

static frame_id python_frame(struct profile *p, const char *text, const char *at)
{
    const char *first = strchr(at, ':');
    const char *line = strchr(first + 1, ':');
    struct func func = {
        .name = profile_string_n(p, text, (size_t)(at - text)),
        .file = profile_string_n(p, at + 1, (size_t)(first - at - 1)),
        .first_line = (uint32_t)strtoul(first + 1, NULL, 10),
    };
    struct frame f = {.kind = FRAME_PYTHON};
    f.python.func = profile_func(p, &func);
    f.python.line = (uint32_t)strtoul(line + 1, NULL, 10);
    return profile_frame(p, &f);
}

/* TEXT is "function!module|file:line". */
static frame_id native_frame(struct profile *p, const char *text, const char *bang)
{
    const bool guessed = bang > text && bang[-1] == '?';
    const char *file = strchr(bang, '|');
    string_id module =
        profile_string_n(p, bang + 1, file ? (size_t)(file - bang) - 1 : strlen(bang + 1));
    struct profile_module m = {.bias = 0x10000};
    struct location loc = {.function = profile_string_n(p, text, (size_t)(bang - text) - guessed)};
    struct frame f = {.kind = FRAME_NATIVE, .flags = guessed ? FRAME_IS_GUESSED : 0};
    *(bang[1] == '/' ? &m.path : &m.name) = module;
    f.native.module = profile_module(p, &m);
    f.native.offset = (uint64_t)loc.function.ix * 0x10; /* a function has one address here */
    if (file) {
        const char *colon = strrchr(file, ':');
        loc.file = profile_string_n(p, file + 1, (size_t)(colon - file) - 1);
        loc.line = (uint32_t)strtoul(colon + 1, NULL, 10);
        f.native.offset += loc.line;
    }
    frame_id id = profile_frame(p, &f);
    profile_locate(p, id, &loc, 1);
    return id;
}

static frame_id nameless_frame(struct profile *p, const char *text)
{
    const char *bang = strchr(text, '!');
    struct frame f = {.kind = FRAME_NATIVE, .native.offset = strtoull(text, NULL, 16)};
    if (bang) {
        struct profile_module m = {.bias = 0x10000, .name = profile_string(p, bang + 1)};
        f.native.module = profile_module(p, &m);
    }
    return profile_frame(p, &f);
}

/* "read /data/x [blocked]": a call, and what it waits on if there is a second word; the mount is
 * what comes before "//". */
/* ADDRESS "127.0.0.1:5433" */
static void set_peer(struct profile *p, const char *address, struct wait *wait)
{
    const char *port = strrchr(address, ':');
    wait->object = profile_string(p, "socket");
    wait->side.thing = THING_SOCKET;
    wait->side.blocker =
        (struct blocker){.kind = BLOCKER_PEER,
                         .net = NET_TCP,
                         .host = profile_string_n(p, address, (size_t)(port - address)),
                         .port = (uint32_t)strtoul(port + 1, NULL, 10)};
}

static wait_id blocked_wait(struct profile *p, const char *text)
{
    struct wait wait = {.kind = WAIT_CALL};
    size_t len = strlen(text) - strlen(" [blocked]");
    size_t call = strcspn(text, " ");
    wait.call = profile_string_n(p, text, call);
    const char *mount_end = strstr(text, "//");
    struct text object = {0};
    if (mount_end) {
        size_t point = (size_t)(mount_end - text) - call - 1;
        struct profile_mount mount = {.point = profile_string_n(p, text + call + 1, point)};
        mount.type = profile_string(p, "nfs4");
        mount.source = profile_string(p, "nfs01:/export");
        wait.mount = profile_mount(p, &mount);
        text_add_bytes(&object, text + call + 1, point);
        call = (size_t)(mount_end - text);
    }
    if (call < len) {
        text_add_bytes(&object, text + call + 1, len - call - 1);
        wait.object = profile_string(p, object.s);
    }
    if (object.len && object.s[0] != '/' && strchr(object.s, ':'))
        set_peer(p, object.s, &wait);
    text_release(&object);
    return profile_wait(p, &wait);
}

/* The wait that is shown as TEXT; none: it is no wait's. */
static wait_id wait_of(struct profile *p, const char *text)
{
    if (str_ends(text, " [blocked]"))
        return blocked_wait(p, text);
    for (int kind = WAIT_CPU; kind <= WAIT_UNKNOWN; kind++) {
        struct text words = {0};
        struct wait wait = {.kind = (enum wait_kind)kind};
        wait_add_text(&words, p, &wait, true);
        bool same = strcmp(words.s, text) == 0;
        text_release(&words);
        if (same)
            return profile_wait(p, &wait);
    }
    return (wait_id){0};
}

static frame_id frame_of(struct profile *p, const char *text)
{
    const char *at = strchr(text, '@');
    const char *bang = strchr(text, '!');
    if (str_starts(text, "0x"))
        return nameless_frame(p, text);
    if (at)
        return python_frame(p, text, at);
    return bang ? native_frame(p, text, bang) : profile_mark(p, text, NULL);
}

struct spot builder_spot(struct profile_builder *b, const char *text)
{
    struct spot ret = {.stack = {0}};
    while (text) {
        const char *end = strstr(text, " > ");
        char *one = end ? strndup(text, (size_t)(end - text)) : strdup(text);
        assert(one && !ret.wait.ix);
        if (!strpbrk(one, "@!"))
            ret.wait = wait_of(b->p, one);
        if (!ret.wait.ix)
            ret.stack = profile_push(b->p, ret.stack, frame_of(b->p, one));
        free(one);
        text = end ? end + 3 : NULL;
    }
    return ret;
}

stack_id builder_stack(struct profile_builder *b, const char *text)
{
    struct spot at = builder_spot(b, text);
    assert(!at.wait.ix);
    return at.stack;
}

static void append(struct profile_builder *b, thread_id t, struct run run, int64_t cpu_ns)
{
    int64_t off_ns = run.weights.wall_ns - cpu_ns;
    struct profile_thread *thread = profile_get_thread(b->p, t);
    const struct run *last = thread->n_runs ? &thread->runs[thread->n_runs - 1] : NULL;
    run.start_ns = last ? run_end_ns(last) : thread->start_ns;
    thread->counts.ns[COUNTED_CPU] += cpu_ns;
    thread->counts.ns[run.state == RUN_RUNNABLE ? COUNTED_RUNQUEUE : COUNTED_OFF_CPU] += off_ns;
    profile_add_run(b->p, t, &run);
    thread->still_since_ns = run.start_ns;
}

void builder_run(struct profile_builder *b, thread_id t, const char *stack, int64_t wall_ms,
                 int64_t cpu_ms)
{
    struct run run = {
        .at = builder_spot(b, stack),
        .state = cpu_ms ? RUN_RUNNING : RUN_BLOCKED,
        .samples = (uint32_t)(wall_ms / 10),
        .weights.wall_ns = wall_ms * NS_PER_MS,
    };
    append(b, t, run, cpu_ms * NS_PER_MS);
}

void builder_runnable(struct profile_builder *b, thread_id t, const char *stack, int64_t wall_ms)
{
    struct run run = {
        .at = builder_spot(b, stack),
        .state = RUN_RUNNABLE,
        .samples = (uint32_t)(wall_ms / 10),
        .weights.wall_ns = wall_ms * NS_PER_MS,
    };
    append(b, t, run, 0);
}

static void append_wait(struct profile_builder *b, thread_id t, const char *stack, const char *call,
                        const struct wait_side *side, int64_t wall_ms)
{
    struct wait wait = {.kind = side->thing == THING_GIL ? WAIT_GIL : WAIT_CALL,
                        .call = profile_string(b->p, call),
                        .side = *side};
    struct run run = {
        .at = {builder_stack(b, stack), profile_wait(b->p, &wait)},
        .state = RUN_BLOCKED,
        .samples = (uint32_t)(wall_ms / 10),
        .weights.wall_ns = wall_ms * NS_PER_MS,
    };
    append(b, t, run, 0);
    struct profile_thread *thread = profile_get_thread(b->p, t);
    thread->still_since_ns = thread->runs[thread->n_runs - 1].start_ns;
}

void builder_held(struct profile_builder *b, thread_id t, const char *stack,
                  const struct wait_side *side, int64_t wall_ms)
{
    append_wait(b, t, stack, "futex", side, wall_ms);
}

void builder_polls(struct profile_builder *b, thread_id t, const char *stack,
                   const struct wait_side *side, int64_t wall_ms)
{
    append_wait(b, t, stack, "epoll_wait", side, wall_ms);
}

void builder_stopped(struct profile_builder *b, thread_id t, const char *stack, const char *file,
                     int64_t wall_ms)
{
    struct wait wait = {.kind = WAIT_STOPPED};
    if (file) {
        wait.call = profile_string(b->p, "read");
        wait.object = profile_string(b->p, file);
    }
    struct run run = {
        .at = {builder_stack(b, stack), profile_wait(b->p, &wait)},
        .state = RUN_STOPPED,
        .samples = (uint32_t)(wall_ms / 10),
        .weights.wall_ns = wall_ms * NS_PER_MS,
    };
    append(b, t, run, 0);
}

void builder_missed(struct profile_builder *b, thread_id t, int64_t wall_ms)
{
    append(b, t, (struct run){.state = RUN_MISSED, .weights.wall_ns = wall_ms * NS_PER_MS}, 0);
}

const struct profile_thread *builder_find(const struct profile *p, pid_t tid)
{
    for (uint32_t i = 1; i <= profile_thread_count(p); i++)
        if (profile_see_thread(p, (thread_id){i})->tid == tid)
            return profile_see_thread(p, (thread_id){i});
    return NULL;
}

struct shown_stack builder_shown(const char *stack)
{
    struct profile_builder b = builder_start(1, "app");
    struct spot at = builder_spot(&b, stack);
    struct view_options options = {0};
    struct shown_stack s = {.p = b.p, .view = view_new(b.p, &options)};
    s.frames = view_stack(s.view, at, &s.n);
    return s;
}

void builder_shown_release(struct shown_stack *s)
{
    view_free(s->view);
    profile_free(s->p);
}
