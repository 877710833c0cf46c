#include "waits/peer_looks.h"

#include <string.h>

#include "base/clock.h"
#include "target/proc.h"

/* ---- looks at everything ---- */

enum { MOST_PROCESSES = 1 << 15 };

bool peer_looks_wanted(const struct peer_looks *l)
{
    return l->net.n_wishes || fd_scan_is_wanted(&l->scan) || l->want_processes;
}

bool peer_looks_run(struct peer_looks *l, int64_t longest_cpu_ns)
{
    bool any = net_look_run(&l->net, longest_cpu_ns);
    if (fd_scan_is_wanted(&l->scan)) {
        fd_scan_run(&l->scan, longest_cpu_ns);
        any = true;
    }
    if (l->want_processes) {
        process_list_read(&l->processes, MOST_PROCESSES, longest_cpu_ns);
        l->listed_ns = clock_now_ns();
        l->want_processes = false;
        any = true;
    }
    return any;
}

void peer_looks_release(struct peer_looks *l)
{
    net_look_release(&l->net);
    fd_scan_release(&l->scan);
    process_list_release(&l->processes);
}

/* ---- the process that has it open ---- */

static void add_user(struct peer_users *users, const struct fd_user *user)
{
    if (users->n < MOST_NAMED_USERS)
        users->first[users->n] = *user;
    users->n++;
}

bool peer_users_find(struct peer_looks *l, const struct peer_wait *w, const char *link,
                     bool (*accept)(const struct fd_user *user, const void *ctx), const void *ctx,
                     struct peer_users *ret)
{
    uint64_t key = fd_scan_key(link);
    const struct fd_round *round = &l->scan.last;
    const struct fd_user *self = NULL;
    pid_t last = 0;
    *ret = (struct peer_users){0};
    if (l->n_asked < MOST_ASKED)
        l->asked[l->n_asked++] = key;
    if (!fd_scan_has(&l->scan, key, w->since_ns))
        return false;
    for (size_t i = 0; i < round->n && round->whole; i++) {
        const struct fd_user *user = &round->users[i];
        if (user->link != key || user->pid == last || (self && user->pid == w->pid) ||
            !accept(user, ctx))
            continue;
        if (user->pid == w->pid) {
            self = user;
            continue;
        }
        last = user->pid;
        add_user(ret, user);
    }
    if (!self || (ret->n && proc_thread_count(w->pid) == 1))
        return true;
    add_user(ret, self);
    return true;
}

static bool is_stopped(pid_t pid)
{
    struct task_stat stat;
    return proc_stat(pid, 0, &stat) == 0 && stat.state == 'T';
}

bool peer_set_process(struct peer_looks *l, pid_t pid, const char *comm, struct blocker *b)
{
    char read[TASK_COMM_BYTES];
    struct text tame = {0};
    ssize_t len = comm ? (ssize_t)strlen(comm) : proc_read_comm(pid, 0, read);
    if (len < 0)
        return false;
    text_add(&tame, "");
    text_add_tame(&tame, comm ? comm : read, (size_t)len);
    b->kind = BLOCKER_PROCESS;
    b->pid = pid;
    b->tid = proc_thread_count(pid) == 1 ? pid : 0;
    b->name = profile_string(l->profile, tame.s);
    text_release(&tame);
    return true;
}

/* The first of USERS, in their order; none, if one has ended. */
static blocker_list list_first(struct peer_looks *l, const struct peer_users *users)
{
    blocker_list list = {0};
    size_t i = users->n < MOST_NAMED_USERS ? users->n : MOST_NAMED_USERS;
    while (i-- > 0) {
        struct blocker one = {.kind = BLOCKER_UNKNOWN};
        if (!peer_set_process(l, users->first[i].pid, NULL, &one))
            return (blocker_list){0};
        one.tid = 0;
        list = profile_list_blocker(l->profile, &one, list);
    }
    return list;
}

void peer_users_answer(struct peer_looks *l, const struct peer_users *users,
                       struct peer_answer *ret)
{
    struct blocker *b = &ret->side.blocker;
    const struct fd_user *only = &users->first[0];
    if (users->n > 1) {
        b->kind = BLOCKER_SEVERAL;
        b->n = (uint32_t)users->n;
        ret->side.list = list_first(l, users);
    }
    if (users->n != 1 || !peer_set_process(l, only->pid, NULL, b))
        return;
    ret->pid = only->pid;
    ret->fd = only->fd;
    ret->link = only->link;
    b->fate = is_stopped(only->pid) ? FATE_STOPPED : FATE_GOES_ON;
}

void peer_set_address(struct peer_looks *l, const struct net_address *a, struct blocker *b)
{
    struct text host = {0};
    text_add(&host, "");
    net_address_add_host(&host, a);
    b->host = profile_string(l->profile, host.s);
    b->port = a->port;
    text_release(&host);
}
