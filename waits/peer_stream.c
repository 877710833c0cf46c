/* Calls that read or write a descriptor: which kind it is of, and the other end of a pipe. */
#include <fcntl.h>
#include <sys/syscall.h>

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

static void find_pipe(struct peer_looks *l, const struct peer_wait *w, bool reads,
                      struct peer_answer *ret)
{
    struct peer_users users;
    struct pipe_end end = {.reads = reads};
    if (!descriptor_find_file(w->pid, w->args[0], &end.file) || !end.file.fifo)
        return;
    ret->later = !peer_users_find(l, w, w->link, is_other_end, &end, &users);
    if (ret->later)
        return;
    ret->side.thing = THING_PIPE;
    peer_users_answer(l, &users, ret);
}

static bool is_of(int64_t number, const int *calls)
{
    for (; *calls >= 0; calls++)
        if (number == *calls)
            return true;
    return false;
}

void peer_find_stream(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    static const int readers[] = {SYS_read,     SYS_readv,   SYS_preadv2,
                                  SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
                                  SYS_accept,   SYS_accept4, -1};
    static const int writers[] = {SYS_write,    SYS_writev,  SYS_pwritev2, SYS_sendto, SYS_sendmsg,
                                  SYS_sendmmsg, SYS_connect, SYS_sendfile, -1};
    uint64_t unused;
    bool reads = is_of(w->number, readers);
    if (!reads && !is_of(w->number, writers))
        return;
    enum descriptor_kind kind = descriptor_parse_link(w->link, &unused);
    if (kind == DESCRIPTOR_PIPE || kind == DESCRIPTOR_FILE)
        find_pipe(l, w, reads, ret);
    else if (kind == DESCRIPTOR_SOCKET)
        peer_find_socket(l, w, ret);
}
