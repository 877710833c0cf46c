#include "tests/support/profile_builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

struct profile_builder builder_start(pid_t pid, const char *comm)
{
    struct profile_builder b = {.p = profile_new(0)};
    struct profile_process process = {.pid = pid};
    process.comm = process.command = profile_string(b.p, comm);
    b.process = profile_process(b.p, &process);
    return b;
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

static frame_id native_frame(struct profile *p, const char *text, const char *bang)
{
    const bool guessed = bang > text && bang[-1] == '?';
    struct profile_module m = {.name = profile_string(p, bang + 1), .bias = 0x10000};
    struct location loc = {.function = profile_string_n(p, text, (size_t)(bang - text) - guessed)};
    struct frame f = {.kind = FRAME_NATIVE, .flags = guessed ? FRAME_IS_GUESSED : 0};
    f.native.module = profile_module(p, &m);
    f.native.offset = (uint64_t)loc.function.ix * 0x10; /* a function has one address here */
    frame_id id = profile_frame(p, &f);
    profile_locate(p, id, &loc, 1);
    return id;
}

static frame_id nameless_frame(struct profile *p, const char *text)
{
    struct frame f = {.kind = FRAME_NATIVE, .native.offset = strtoull(text, NULL, 16)};
    return profile_frame(p, &f);
}

static frame_id frame_of(struct profile *p, const char *text)
{
    const char *at = strchr(text, '@');
    const char *bang = strchr(text, '!');
    if (at)
        return python_frame(p, text, at);
    if (bang)
        return native_frame(p, text, bang);
    if (str_starts(text, "0x"))
        return nameless_frame(p, text);
    bool waits = str_ends(text, "[blocked]") || str_starts(text, "[waiting");
    return profile_mark(p, text, waits ? "[off-cpu]" : NULL);
}

stack_id builder_stack(struct profile_builder *b, const char *text)
{
    stack_id s = {0};
    while (text) {
        const char *end = strstr(text, " > ");
        char *one = end ? strndup(text, (size_t)(end - text)) : strdup(text);
        assert(one);
        s = profile_push(b->p, s, frame_of(b->p, one));
        free(one);
        text = end ? end + 3 : NULL;
    }
    return s;
}

static void append(struct profile_builder *b, thread_id t, struct run run, int64_t cpu_ns)
{
    struct profile_thread *thread = profile_get_thread(b->p, t);
    const struct run *last = thread->n_runs ? &thread->runs[thread->n_runs - 1] : NULL;
    run.start_ns = last ? last->start_ns + last->weights.wall_ns : thread->start_ns;
    thread->counts.ns[COUNTED_CPU] += cpu_ns;
    thread->counts.ns[COUNTED_OFF_CPU] += run.weights.wall_ns - cpu_ns;
    profile_add_run(b->p, t, &run);
}

void builder_run(struct profile_builder *b, thread_id t, const char *stack, int64_t wall_ms,
                 int64_t cpu_ms)
{
    struct run run = {
        .stack = builder_stack(b, stack),
        .state = cpu_ms ? RUN_RUNNING : RUN_BLOCKED,
        .samples = (uint32_t)(wall_ms / 10),
        .weights.wall_ns = wall_ms * NS_PER_MS,
    };
    append(b, t, run, cpu_ms * NS_PER_MS);
}

void builder_missed(struct profile_builder *b, thread_id t, int64_t wall_ms)
{
    append(b, t, (struct run){.state = RUN_MISSED, .weights.wall_ns = wall_ms * NS_PER_MS}, 0);
}
