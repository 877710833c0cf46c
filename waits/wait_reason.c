#include "waits/wait_reason.h"

#include <string.h>

#include "arch/syscalls.h"
#include "target/freezer.h"
#include "target/proc.h"
#include "waits/descriptor.h"

enum { MAX_FILES = 1000 };

/* The link of a descriptor is a path, "pipe:[123]", "socket:[123]" or "anon_inode:[eventfd]"; of a
 * call that looks up a path it is the path.  Of what is polled only a pipe or socket is named: a
 * read of it is the same wait. */
void wait_object(const struct sample_message *m, struct text *out)
{
    static const char anonymous[] = "anon_inode:";
    struct text link = {0};
    text_clear(out);
    text_add_bytes(&link, (const char *)m + m->wait_object_offset, m->wait_object_bytes);
    bool stream = link.len && (str_starts(link.s, "pipe:") || str_starts(link.s, "socket:"));
    if (!stream && !syscall_takes_fd(m->snapshot.syscall) &&
        syscall_path_argument(m->snapshot.syscall) < 0)
        text_clear(&link);
    if (link.len && str_starts(link.s, anonymous)) {
        const char *kind = link.s + strlen(anonymous);
        kind += *kind == '[';
        text_add_bytes(out, kind, strcspn(kind, "]"));
    } else if (link.len) {
        text_add_bytes(out, link.s, link.s[0] == '/' ? link.len : strcspn(link.s, ":"));
    }
    text_release(&link);
}

bool wait_is_device(const char *path)
{
    return str_starts(path, "/dev/") && !str_starts(path, "/dev/shm/");
}

static void by_folder(struct text *path)
{
    text_truncate(path, (size_t)(strrchr(path->s, '/') + 1 - path->s));
    text_add(path, "…");
}

/* A FIFO's link is a path, as a file's.  Who has its other end is looked up of long waits only. */
static bool is_of_fifo(pid_t pid, const struct snapshot *s)
{
    struct descriptor_file file;
    return syscall_takes_fd(s->syscall) && descriptor_find_file(pid, s->syscall_args[0], &file) &&
           file.fifo;
}

static struct wait wait_in_call(struct profile *p, pid_t pid, const struct sample_message *m,
                                struct name_limiter *files)
{
    const struct snapshot *s = &m->snapshot;
    struct wait wait = {.kind = WAIT_CALL};
    struct text text = {0};
    const char *call = syscall_name(s->syscall);
    if (call)
        text_add(&text, call);
    else
        text_addf(&text, "syscall %lld", (long long)s->syscall);
    wait.call = profile_string(p, text.s);
    wait_object(m, &text);
    bool file = text.len && text.s[0] == '/' && !wait_is_device(text.s);
    if (file && is_of_fifo(pid, s))
        wait.side.thing = THING_PIPE;
    if (file) /* devices are few */
        name_limiter_limit(files, &text, MAX_FILES, by_folder);
    if (text.len)
        wait.object = profile_string(p, text.s);
    else if (syscall_polls_nothing(s->syscall, s->syscall_args))
        wait.object = profile_string(p, "sleep");
    text_release(&text);
    return wait;
}

/* The tracer may be gone by now. */
static struct wait traced(struct profile *p, pid_t pid, pid_t tid, uint32_t flags)
{
    struct wait wait = {.kind = WAIT_TRACED};
    struct text text = {0};
    struct task_status status;
    if (proc_status(pid, tid, &status) == 0 && status.tracer) {
        text_addf(&text, "%d", status.tracer);
        wait.object = profile_string(p, text.s);
        text_release(&text);
    } else if (flags & SAMPLE_NO_STACK) {
        wait.kind = WAIT_NOT_PERMITTED;
    }
    return wait;
}

/* Has M's thread run since? */
static bool has_run(pid_t pid, const struct sample_message *m)
{
    struct schedstat now;
    return m->head.sched.runs && proc_schedstat(pid, m->head.tid, &now) == 0 &&
           now.runs != m->head.sched.runs;
}

static bool is_in_fault(pid_t pid, pid_t tid)
{
    enum { MOST_BYTES = 4096 }; /* 64 functions, of 50 bytes each */
    char stack[MOST_BYTES];
    return proc_read_text(pid, tid, "stack", stack, sizeof stack) > 0 && freezer_is_in_fault(stack);
}

/* A thread that has gone on by now was in a page fault: nothing else takes so short. */
static struct wait outside_of_calls(struct profile *p, pid_t pid, const struct sample_message *m)
{
    struct wait wait = {.kind = WAIT_UNKNOWN};
    char wchan[PROC_WCHAN_BYTES];
    proc_read_wchan(pid, m->head.tid, wchan);
    bool told = *wchan;
    enum outside_of_calls place = freezer_judge(wchan);
    if (has_run(pid, m) || place == OUTSIDE_PAGE ||
        (told && place == OUTSIDE_UNKNOWN && is_in_fault(pid, m->head.tid)))
        wait.kind = WAIT_PAGE;
    else if (place == OUTSIDE_FROZEN || (!told && freezer_is_frozen(pid)))
        wait.kind = WAIT_FROZEN;
    else if (told)
        wait.object = profile_string(p, wchan);
    return wait;
}

struct wait wait_reason_blocked(struct profile *p, const struct wait_sample *s,
                                struct name_limiter *files)
{
    if (s->gil.gil == PY_GIL_WAITING)
        return (struct wait){.kind = WAIT_GIL};
    if (s->m->snapshot.syscall < 0)
        return outside_of_calls(p, s->target.pid, s->m);
    return wait_in_call(p, s->target.pid, s->m, files);
}

/* A read of a terminal by a job in the background stops it. */
static struct wait stopped(struct profile *p, pid_t pid, const struct sample_message *m,
                           struct name_limiter *files)
{
    struct wait wait = {0};
    if (m->snapshot.syscall >= 0)
        wait = wait_in_call(p, pid, m, files);
    wait.kind = WAIT_STOPPED;
    return wait;
}

struct wait wait_reason(struct profile *p, const struct wait_sample *s, struct name_limiter *files)
{
    const struct sample_message *m = s->m;
    if (m->head.flags & SAMPLE_TRACED)
        return traced(p, s->target.pid, m->head.tid, m->head.flags);
    if (m->head.flags & SAMPLE_IO_WORKER)
        return (struct wait){.kind = WAIT_IO_WORKER};
    switch (m->snapshot.state) {
    case THREAD_STOPPED:
        return stopped(p, s->target.pid, m, files);
    case THREAD_RUNNABLE:
        return (struct wait){.kind = WAIT_CPU};
    case THREAD_BLOCKED:
        if (s->frozen)
            return (struct wait){.kind = WAIT_FROZEN};
        return wait_reason_blocked(p, s, files);
    case THREAD_RUNNING:
    case THREAD_RUNNING_OR_RUNNABLE:
        break;
    }
    return (struct wait){0};
}
