#include "worker/peer_looks.h"

#include "base/clock.h"
#include "target/proc.h"

/* ---- looks at everything ---- */

enum { MOST_PROCESSES = 1 << 15 };

bool peer_looks_wanted(const struct peer_looks *l)
{
    return l->net.n_wishes || l->scan.wanted.n || l->want_processes;
}

bool peer_looks_run(struct peer_looks *l, int64_t longest_cpu_ns)
{
    bool any = net_look_run(&l->net, longest_cpu_ns);
    if (l->scan.wanted.n) {
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

static bool was_looked_for(const struct fd_scan *s, uint64_t key)
{
    uint64_t unused;
    return map_get(&s->looked_for, key, &unused);
}

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
    const struct fd_scan *s = &l->scan;
    const struct fd_user *self = NULL;
    pid_t last = 0;
    *ret = (struct peer_users){0};
    if (l->n_asked < MOST_ASKED)
        l->asked[l->n_asked++] = key;
    if (s->end_ns <= w->since_ns || !was_looked_for(s, key)) {
        fd_scan_want(&l->scan, key);
        return false;
    }
    for (size_t i = 0; i < s->n && s->whole; i++) { /* a process's users are in a row */
        const struct fd_user *user = &s->users[i];
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

/* "2 processes: 12 (sh), 13 (sleep)"; only the number, if one has ended. */
static void add_several(const struct peer_users *users, bool named, struct text *out)
{
    text_addf(out, "%zu processes", users->n);
    size_t before = out->len;
    for (size_t i = 0; named && i < users->n && i < MOST_NAMED_USERS; i++) {
        char comm[TASK_COMM_BYTES];
        ssize_t len = proc_read_comm(users->first[i].pid, 0, comm);
        if (len < 0) {
            text_truncate(out, before);
            return;
        }
        text_addf(out, "%s%d (", i ? ", " : ": ", users->first[i].pid);
        text_add_tame(out, comm, (size_t)len);
        text_add(out, ")");
    }
    if (named && users->n > MOST_NAMED_USERS)
        text_add(out, ", …");
}

static bool is_stopped(pid_t pid)
{
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    ssize_t len = proc_read_text(pid, 0, "stat", text, sizeof text);
    return len > 0 && task_stat_parse(text, (size_t)len, &stat) == 0 && stat.state == 'T';
}

void peer_users_answer(const struct peer_looks *l, const struct peer_users *users,
                       struct peer_answer *ret)
{
    char comm[TASK_COMM_BYTES];
    const struct fd_user *only = &users->first[0];
    if (users->n > 1)
        add_several(users, l->exact, &ret->what);
    ssize_t len = users->n == 1 ? proc_read_comm(only->pid, 0, comm) : -1;
    if (len < 0)
        return;
    ret->holder = HOLDER_PROCESS;
    ret->pid = only->pid;
    ret->fd = only->fd;
    ret->link = only->link;
    text_add_tame(&ret->what, comm, (size_t)len);
    if (is_stopped(only->pid))
        text_add(&ret->what, ", which is stopped");
}

void peer_answer_release(struct peer_answer *a)
{
    text_release(&a->what);
    text_release(&a->address);
    *a = (struct peer_answer){.later = false};
}
