/* Calls that read or write a descriptor: which kind it is of, and the other end of a pipe. */
#include <fcntl.h>
#include <unistd.h>

#include "target/proc.h"
#include "waits/peer_find.h"
#include "waits/peer_socket.h"

struct pipe_end {
    bool reads; /* the thread does: who writes is looked for */
    struct descriptor_file file;
};

static bool is_other_end(const struct fd_user *user, const void *ctx)
{
    const struct pipe_end *end = ctx;
    char info[PROC_TEXT_BYTES];
    struct descriptor_file file;
    if (!descriptor_find_file(user->pid, user->fd, &file) ||
        !descriptor_same_file(&file, &end->file) ||
        descriptor_read_info(user->pid, user->fd, info, sizeof info) < 0)
        return false;
    int access = descriptor_access(info);
    return access == O_RDWR || access == (end->reads ? O_WRONLY : O_RDONLY);
}

/* Is PID a parent of WAITER's, of whatever degree? */
static bool is_ancestor(pid_t pid, pid_t waiter)
{
    enum { MOST_DEGREES = 64 };
    struct task_stat stat = {.ppid = waiter};
    for (int i = 0; i < MOST_DEGREES && stat.ppid > 0; i++)
        if (proc_stat(stat.ppid, 0, &stat) < 0 || stat.ppid == pid)
            return true; /* or not known */
    return false;
}

/* The descriptor by which USER, another program, has a pipe's end; 0: what a shell or a caller of
 * popen(3) gives it, or keeps itself.  A worker that was only forked has its parent's pipes for a
 * reason. */
static uint64_t foreign_fd(pid_t waiter, const struct fd_user *user)
{
    bool strange = user->fd > STDERR_FILENO && proc_runs_other(user->pid, waiter) &&
                   !is_ancestor(user->pid, waiter);
    return strange ? user->fd : 0;
}

static void find_pipe(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct peer_users users;
    struct pipe_end end = {.reads = w->flow == FLOW_IN};
    if (!descriptor_find_file(w->pid, w->fd, &end.file) || !end.file.fifo)
        return;
    ret->later = !peer_users_find(l, w, w->link, is_other_end, &end, &users);
    if (ret->later)
        return;
    ret->side.thing = THING_PIPE;
    peer_users_answer(l, &users, ret);
    if (ret->side.blocker.kind == BLOCKER_PROCESS)
        ret->side.blocker.fd = foreign_fd(w->pid, &users.first[0]);
}

void peer_find_stream(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    uint64_t unused;
    enum descriptor_kind kind = descriptor_parse_link(w->link, &unused);
    if (w->flow == FLOW_NONE)
        return;
    if (kind == DESCRIPTOR_PIPE || kind == DESCRIPTOR_FILE)
        find_pipe(l, w, ret);
    else if (kind == DESCRIPTOR_SOCKET)
        peer_find_socket(l, w, ret);
}
