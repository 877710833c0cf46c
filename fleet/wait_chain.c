#include "fleet/wait_chain.h"

#include <stdlib.h>

#include "base/alloc.h"

struct finder {
    const struct fleet *f;
    struct map processes; /* host and pid → process, of the last round */
    struct map by_ends;   /* host of addresses: local and remote end → process */
    struct map by_remote; /* process and remote end → local end */
};

static uint64_t pair(uint64_t a, uint64_t b)
{
    return hash_u64(hash_u64(a) ^ b);
}

static void know_process(struct finder *find, uint32_t process)
{
    const struct fleet_process *p = &find->f->processes[process];
    map_put(&find->processes, pair(p->host, (uint64_t)p->pid), process);
    for (uint32_t i = 0; i < p->n_connections; i++) {
        const struct fleet_connection *c = &find->f->connections[p->first_connection + i];
        map_put(&find->by_ends, pair(c->local, c->remote), process);
        map_put(&find->by_remote, pair(pair(process, 1), c->remote), c->local);
    }
}

/* The members' processes of the last round, and those that help them.  A helper's connections come
 * first: of one that several have inherited the member's counts. */
static void know_all(struct finder *find, const struct members *m)
{
    for (size_t i = 0; i < m->n; i++) {
        for (uint32_t h = m->items[i].helpers; h != FLEET_NONE; h = m->next_helper[h])
            know_process(find, h);
        know_process(find, m->items[i].last);
    }
}

static const struct fleet_thread *find_thread(const struct fleet *f, const struct fleet_process *p,
                                              int64_t tid)
{
    for (uint32_t i = 0; i < p->n_threads && tid; i++)
        if (f->threads[p->first_thread + i].tid == tid)
            return &f->threads[p->first_thread + i];
    return NULL;
}

/* The thread at which the waits of P's main thread leave the process, or end in it. */
static const struct fleet_thread *leave(const struct fleet *f, const struct fleet_process *p)
{
    enum { MOST_STEPS = 64 };
    const struct fleet_thread *t = &f->threads[p->first_thread];
    for (int i = 0; i < MOST_STEPS && t->other_pid == p->pid; i++) {
        const struct fleet_thread *other = find_thread(f, p, t->other_tid);
        if (!other || other == t)
            break;
        t = other;
    }
    return t;
}

static uint32_t next_of(const struct finder *find, uint32_t process)
{
    const struct fleet_process *p = &find->f->processes[process];
    const struct fleet_thread *t = leave(find->f, p);
    uint64_t local;
    uint64_t ret;
    if (t->other_pid && t->other_pid != p->pid &&
        map_get(&find->processes, pair(p->host, (uint64_t)t->other_pid), &ret))
        return (uint32_t)ret;
    bool matched = t->remote != FLEET_NONE &&
                   map_get(&find->by_remote, pair(pair(process, 1), t->remote), &local) &&
                   map_get(&find->by_ends, pair(t->remote, local), &ret) && ret != process;
    return matched ? (uint32_t)ret : FLEET_NONE;
}

/* Follows the waits from each of N processes; each is walked once. */
static void find_ends(struct wait_chain *c, size_t n)
{
    uint32_t *walk = xcalloc(n + 1, sizeof *walk); /* by process: in which walk it was met */
    for (uint32_t from = 0; from < n; from++) {
        uint32_t at = from;
        while (!walk[at]) {
            walk[at] = from + 1;
            if (c->next[at] == FLEET_NONE)
                break;
            at = c->next[at];
        }
        /* An end, one of a new circle, or a process whose end is known. */
        uint32_t end = c->ends[at] != FLEET_NONE ? c->ends[at] : at;
        for (at = from; c->ends[at] == FLEET_NONE; at = c->next[at]) {
            c->ends[at] = end;
            if (c->next[at] == FLEET_NONE)
                break;
        }
    }
    free(walk);
}

bool wait_chain_is_end(const struct wait_chain *c, uint32_t process)
{
    if (c->end == FLEET_NONE || process == c->end || !c->circle)
        return c->end == process && process != FLEET_NONE;
    for (uint32_t at = c->next[c->end]; at != c->end; at = c->next[at])
        if (at == process)
            return true;
    return false;
}

/* Where the chains of most members end. */
static void choose_end(const struct members *m, size_t n, struct wait_chain *c)
{
    size_t *counts = xcalloc(n + 1, sizeof *counts);
    for (size_t i = 0; i < m->n; i++) {
        uint32_t process = m->items[i].last;
        uint32_t end = c->ends[process];
        counts[end]++;
        if (c->next[process] != FLEET_NONE && counts[end] > c->waiting) {
            c->waiting = counts[end];
            c->end = end;
        }
    }
    free(counts);
    c->circle = c->end != FLEET_NONE && c->next[c->end] != FLEET_NONE;
    c->waiting = 0;
    for (size_t i = 0; i < m->n && c->end != FLEET_NONE; i++) {
        uint32_t process = m->items[i].last;
        c->waiting += c->ends[process] == c->end && !wait_chain_is_end(c, process);
    }
}

void wait_chain_find(const struct fleet *f, const struct members *m, struct wait_chain *ret)
{
    struct finder find = {.f = f};
    size_t n = f->n_processes;
    *ret = (struct wait_chain){.end = FLEET_NONE};
    ret->next = xcalloc(n + 1, sizeof *ret->next);
    ret->ends = xcalloc(n + 1, sizeof *ret->ends);
    know_all(&find, m);
    for (uint32_t i = 0; i < n; i++) {
        ret->next[i] = next_of(&find, i);
        ret->ends[i] = FLEET_NONE;
    }
    find_ends(ret, n);
    choose_end(m, n, ret);
    map_release(&find.processes);
    map_release(&find.by_ends);
    map_release(&find.by_remote);
}

void wait_chain_release(struct wait_chain *c)
{
    free(c->next);
    free(c->ends);
    *c = (struct wait_chain){0};
}
