/* wait4, waitid(2): which child.  Source: the man pages of the two. */
#include <string.h>
#include <sys/syscall.h>

#include "target/proc.h"
#include "waits/peer_find.h"

enum { ID_ALL = 0, ID_PID = 1, ID_PIDFD = 3 }; /* idtype_t of waitid(2); sys/wait.h is sampler/'s */

struct wanted_child {
    bool any;
    pid_t pid;      /* as the thread calls it */
    bool seen_here; /* PID is as wallspy calls it */
};

static bool of_pidfd(const struct peer_wait *w, struct wanted_child *ret)
{
    char info[PROC_TEXT_BYTES];
    if (descriptor_read_info(w->pid, w->args[1], info, sizeof info) < 0)
        return false;
    *ret = (struct wanted_child){.pid = descriptor_pidfd(info), .seen_here = true};
    return ret->pid > 0;
}

/* False: a group of processes. */
static bool which_child(const struct peer_wait *w, struct wanted_child *ret)
{
    int32_t pid = (int32_t)(uint32_t)w->args[0];
    *ret = (struct wanted_child){0};
    if (w->number == SYS_waitid) {
        if (pid == ID_PIDFD)
            return of_pidfd(w, ret);
        if (pid != ID_ALL && pid != ID_PID)
            return false;
        pid = pid == ID_ALL ? -1 : (int32_t)(uint32_t)w->args[1];
    }
    ret->any = pid == -1;
    ret->pid = pid;
    ret->seen_here = w->own_namespace;
    return ret->any || pid > 0;
}

static bool read_child(pid_t pid, pid_t parent, struct task_stat *ret)
{
    return proc_stat(pid, 0, ret) == 0 && ret->ppid == parent;
}

static enum blocker_fate fate_of(const struct task_stat *child)
{
    if (child->state == 'T' || child->state == 't')
        return FATE_STOPPED;
    if (child->state != 'Z')
        return FATE_GOES_ON;
    return child->threads > 1 ? FATE_MAIN_ENDED : FATE_ENDED;
}

static void set_child(struct peer_looks *l, pid_t pid, const struct task_stat *child,
                      struct peer_answer *ret)
{
    if (peer_set_process(l, pid, child->comm, &ret->side.blocker))
        ret->side.blocker.fate = fate_of(child);
}

/* Is P the child that is meant, as far as its name goes? */
static bool is_called(const struct listed_process *p, const struct wanted_child *child)
{
    struct task_status status;
    return child->any ||
           (proc_status((pid_t)p->pid, 0, &status) == 0 && status.ns_tid == child->pid);
}

/* Looks through LIST, which has all of them, for children of W's process. */
static void find_in(struct peer_looks *l, const struct peer_wait *w,
                    const struct wanted_child *child, const struct process_list *list,
                    struct peer_answer *ret)
{
    size_t n = 0;
    pid_t found = 0;
    struct task_stat stat;
    for (size_t i = 0; i < list->n; i++) {
        const struct listed_process *p = &list->items[i];
        if (p->ppid != (uint64_t)w->pid || !is_called(p, child))
            continue;
        n++;
        found = (pid_t)p->pid;
    }
    if (n == 1 && read_child(found, w->pid, &stat))
        set_child(l, found, &stat, ret);
    else if (n > 1)
        ret->side.blocker = (struct blocker){.kind = BLOCKER_CHILDREN, .n = (uint32_t)n};
}

static bool are_same(const struct process_list *a, const struct process_list *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = a->items[i].pid == b->items[i].pid;
    return same;
}

/* The kernel lists a thread's children in a file of their own, which may lack one if another ends
 * meanwhile (fs/proc/array.c, get_children_pid()): it is read twice.  False: that file does not
 * tell. */
static bool find_among_own(struct peer_looks *l, const struct peer_wait *w,
                           const struct wanted_child *child, struct peer_answer *ret)
{
    enum { MOST_THREADS = 256 };
    struct process_list first = {0};
    struct process_list second = {0};
    uint64_t threads = proc_thread_count(w->pid);
    bool told = threads > 0 && threads <= MOST_THREADS &&
                process_list_add_children(&first, w->pid) &&
                process_list_add_children(&second, w->pid) && first.n && are_same(&first, &second);
    if (told)
        find_in(l, w, child, &second, ret);
    process_list_release(&first);
    process_list_release(&second);
    return told;
}

/* The same among all processes.  False: they have to be listed first. */
static bool find_among_all(struct peer_looks *l, const struct peer_wait *w,
                           const struct wanted_child *child, struct peer_answer *ret)
{
    if (l->listed_ns <= w->since_ns) {
        l->want_processes = true;
        return false;
    }
    if (l->processes.whole)
        find_in(l, w, child, &l->processes, ret);
    return true;
}

/* Between fork and execve a child has its parent's name. */
static bool may_exec_yet(const struct peer_wait *w, const struct peer_answer *a)
{
    enum { YOUNG_TICKS = 20 }; /* 0.2 s */
    struct task_stat child;
    char comm[TASK_COMM_BYTES];
    const struct blocker *b = &a->side.blocker;
    return b->kind == BLOCKER_PROCESS && read_child(b->pid, w->pid, &child) &&
           process_list_ticks() - child.start_ticks < YOUNG_TICKS &&
           proc_read_comm(w->pid, 0, comm) > 0 && str_eq(comm, child.comm);
}

void peer_find_child(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct wanted_child child;
    struct task_stat stat;
    if (!which_child(w, &child))
        return;
    if (child.any || !child.seen_here)
        ret->later = !find_among_own(l, w, &child, ret) && !find_among_all(l, w, &child, ret);
    else if (read_child(child.pid, w->pid, &stat))
        set_child(l, child.pid, &stat, ret);
    if (ret->later)
        return;
    ret->side.thing = THING_CHILD;
    ret->young = may_exec_yet(w, ret);
}
