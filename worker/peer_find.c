#include "worker/peer_find.h"

#include <sys/syscall.h>

#include "worker/peer_kinds.h"

void peer_find(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    switch (w->number) {
    case SYS_wait4:
    case SYS_waitid:
        peer_find_child(l, w, ret);
        return;
    case SYS_flock:
    case SYS_fcntl:
        peer_find_lock(l, w, ret);
        return;
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        peer_find_events(l, w, ret);
        return;
    default:
        peer_find_stream(l, w, ret);
    }
}
