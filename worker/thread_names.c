#include "worker/thread_names.h"

#include "target/proc.h"

enum { MAX_NAMES = 4096 };

/* NAME may be changed. */
static string_id intern(struct thread_names *t, struct profile *p, struct text *name)
{
    name_limiter_limit(&t->few, name, MAX_NAMES, name_limiter_by_group);
    return profile_string_n(p, name->s, name->len);
}

string_id thread_names_read(struct thread_names *t, struct profile *p, pid_t pid, pid_t tid)
{
    char name[TASK_COMM_BYTES];
    ssize_t len = proc_read_comm(pid, tid, name);
    if (len < 0)
        return (string_id){0};
    text_clear(&t->kernel);
    text_add_bytes(&t->kernel, name, (size_t)len);
    return intern(t, p, &t->kernel);
}

string_id thread_names_set(struct thread_names *t, struct profile *p, thread_id id, pid_t tid,
                           struct text *python)
{
    struct profile_thread *thread = profile_get_thread(p, id);
    const struct profile_process *process = profile_see_process(p, thread->process);
    string_id name = thread_names_read(t, p, process->pid, tid);
    if (!name.ix)
        return name;
    if (thread->main || name.ix != process->comm.ix)
        thread->name = name;
    else if (python)
        thread->name = intern(t, p, python);
    return name;
}

void thread_names_release(struct thread_names *t)
{
    name_limiter_release(&t->few);
    text_release(&t->kernel);
    text_release(&t->python);
}
