#include "waits/peer_find.h"

#include "arch/syscalls.h"
#include "waits/time_out.h"

enum { MOST_CALLS = 8 };
/* A kind of wait: the calls in which a thread waits so, and what reads its other side. */
struct peer_kind {
    int calls[MOST_CALLS]; /* up to −1; none: all others that take a descriptor */
    void (*find)(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret);
};
static const struct peer_kind kinds[] = {
    {{SYS_wait4, SYS_waitid, -1}, peer_find_child},
    {{SYS_flock, SYS_fcntl, -1}, peer_find_lock},
    {{SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait,
      SYS_epoll_pwait2, -1},
     peer_find_events},
    {{SYS_open, SYS_openat, SYS_openat2, -1}, peer_find_open},
    {{-1}, peer_find_stream},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ALL_OTHERS = KINDS - 1 };

/* The kind of a wait in call NUMBER. */
static size_t kind_of(int64_t number)
{
    for (size_t i = 0; i < ALL_OTHERS; i++)
        for (const int *call = kinds[i].calls; *call >= 0; call++)
            if (*call == number)
                return i;
    return ALL_OTHERS;
}

bool peer_may_be_found(int64_t number)
{
    return kind_of(number) != ALL_OTHERS || syscall_takes_fd(number);
}

bool peer_is_file_lock(int64_t number)
{
    return kinds[kind_of(number)].find == peer_find_lock;
}

/* Does W poll a pipe or socket, and nothing else?  That is a wait to read or write it. */
static bool polls_stream(const struct peer_wait *w)
{
    uint64_t unused;
    enum descriptor_kind kind = descriptor_parse_link(w->link, &unused);
    return syscall_polls(w->number) && w->flow != FLOW_NONE &&
           (kind == DESCRIPTOR_PIPE || kind == DESCRIPTOR_SOCKET);
}

void peer_find(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    if (!polls_stream(w)) {
        kinds[kind_of(w->number)].find(l, w, ret);
        return;
    }
    peer_find_stream(l, w, ret);
    ret->side.timed |= ret->side.thing && time_out_is_given(w->number, w->args);
}
