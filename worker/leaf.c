#include "worker/leaf.h"

#include <stdio.h>
#include <string.h>

#include "target/proc.h"
#include "target/syscalls.h"

static const char off_cpu[] = "[off-cpu]";
enum { MAX_FILES = 1000 };

/* The link of a descriptor is a path, "pipe:[123]", "socket:[123]" or "anon_inode:[eventfd]". */
void leaf_object(const struct sample_message *m, struct text *out)
{
    static const char anonymous[] = "anon_inode:";
    struct text link = {0};
    text_clear(out);
    text_add_bytes(&link, (const char *)m + m->object_offset, m->object_bytes);
    if (link.len && str_starts(link.s, anonymous)) {
        const char *kind = link.s + strlen(anonymous);
        kind += *kind == '[';
        text_add_bytes(out, kind, strcspn(kind, "]"));
    } else if (link.len) {
        text_add_bytes(out, link.s, link.s[0] == '/' ? link.len : strcspn(link.s, ":"));
    }
    text_release(&link);
}

/* Devices are few, and their names say the most. */
static bool is_device(const char *path)
{
    return str_starts(path, "/dev/") && !str_starts(path, "/dev/shm/");
}

static void by_folder(struct text *path)
{
    text_truncate(path, (size_t)(strrchr(path->s, '/') + 1 - path->s));
    text_add(path, "…");
}

static frame_id syscall_leaf(struct profile *p, const struct sample_message *m,
                             struct few_names *files)
{
    const struct snapshot *s = &m->snapshot;
    struct text name = {0};
    struct text object = {0};
    const char *call = syscall_name(s->syscall);
    if (call)
        text_add(&name, call);
    else
        text_addf(&name, "syscall %lld", (long long)s->syscall);
    leaf_object(m, &object);
    if (object.len && object.s[0] == '/' && !is_device(object.s))
        few_names_limit(files, &object, MAX_FILES, by_folder);
    if (object.len)
        text_addf(&name, " %s", object.s);
    text_add(&name, " [blocked]");
    frame_id ret = profile_mark(p, name.s, off_cpu);
    text_release(&name);
    text_release(&object);
    return ret;
}

/* Who traces it may be gone by now. */
static frame_id traced_leaf(struct profile *p, pid_t pid, pid_t tid, uint32_t flags)
{
    char text[32];
    struct task_status status;
    if (proc_status(pid, tid, &status) < 0 || !status.tracer)
        return profile_mark(p, flags & SAMPLE_NO_STACK ? "[not permitted]" : "[traced]", off_cpu);
    (void)snprintf(text, sizeof text, "[traced by %d]", status.tracer);
    return profile_mark(p, text, off_cpu);
}

frame_id leaf_waiting_for_cpu(struct profile *p)
{
    return profile_mark(p, "[waiting for cpu]", off_cpu);
}

frame_id leaf_blocked(struct profile *p, const struct sample_message *m, enum py_gil gil,
                      struct few_names *files)
{
    if (gil == PY_GIL_WAITING)
        return profile_mark(p, "[waiting for GIL]", off_cpu);
    return m->snapshot.syscall < 0 ? profile_mark(p, "[page fault]", off_cpu)
                                   : syscall_leaf(p, m, files);
}

frame_id leaf_frame(struct profile *p, pid_t pid, const struct sample_message *m, enum py_gil gil,
                    struct few_names *files)
{
    const struct snapshot *s = &m->snapshot;
    if (m->head.flags & SAMPLE_TRACED)
        return traced_leaf(p, pid, m->head.tid, m->head.flags);
    if (m->head.flags & SAMPLE_IO_WORKER)
        return profile_mark(p, "[io_uring worker]", off_cpu);
    switch (s->state) {
    case THREAD_STOPPED:
        return profile_mark(p, "[stopped]", off_cpu);
    case THREAD_RUNNABLE:
        return leaf_waiting_for_cpu(p);
    case THREAD_BLOCKED:
        return leaf_blocked(p, m, gil, files);
    case THREAD_RUNNING:
    case THREAD_RUNNING_OR_RUNNABLE:
        break;
    }
    return (frame_id){0};
}
