#include "fleet/wait_peers.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

/* MOST_WORK: of looks at threads, connections and processes that share memory, all together.
 * 10,000 ranks of 1,024 connections that all poll take 50 million. */
enum { MOST_FOUND = 1024, MOST_WORK = 1 << 26 };

struct end_owner { /* whose the end of a connection is */
    uint64_t network;
    uint32_t process;
    bool several; /* ends of other networks have the same addresses */
};
struct sharers { /* processes that have a file mapped, or wait at one place in it */
    uint32_t *items;
    size_t n, capacity;
};

static uint64_t pair(uint64_t a, uint64_t b)
{
    return hash_u64(hash_u64(a) ^ b);
}

/* ---- what is known ---- */

static uint64_t process_key(const struct fleet_process *p, int64_t pid)
{
    return pair(pair(p->machine, p->host), (uint64_t)pid);
}

/* Within it an address is one process's. */
static uint64_t network_of(const struct fleet_process *p)
{
    return pair(p->machine, (uint64_t)p->net_ns);
}

static uint64_t place_of(const struct fleet_process *p, const struct fleet_link *link)
{
    return pair(pair(p->machine, link->file), link->offset);
}

static void know_connections(struct wait_peers *w, uint32_t process)
{
    const struct fleet_process *p = &w->f->processes[process];
    uint64_t network = network_of(p);
    for (uint32_t i = 0; i < p->n_connections; i++) {
        const struct fleet_connection *c = &w->f->connections[p->first_connection + i];
        uint64_t ends = pair(c->local, c->remote);
        uint64_t at;
        map_put(&w->scoped, pair(network, ends), process);
        if (map_get(&w->ends, ends, &at)) {
            struct end_owner *owner = &w->owners[at];
            owner->several |= owner->network != network;
            owner->process = process;
            continue;
        }
        w->owners =
            array_reserve(w->owners, &w->owners_capacity, w->n_owners + 1, sizeof *w->owners);
        w->owners[w->n_owners] = (struct end_owner){.network = network, .process = process};
        map_put(&w->ends, ends, w->n_owners++);
    }
}

static void add_sharer(struct wait_peers *w, struct map *map, uint64_t key, uint32_t process)
{
    uint64_t at;
    if (!map_get(map, key, &at)) {
        w->sharers =
            array_reserve(w->sharers, &w->sharers_capacity, w->n_sharers + 1, sizeof *w->sharers);
        at = w->n_sharers++;
        w->sharers[at] = (struct sharers){0};
        map_put(map, key, at);
    }
    struct sharers *s = &w->sharers[at];
    s->items = array_reserve(s->items, &s->capacity, s->n + 1, sizeof *s->items);
    s->items[s->n++] = process;
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

static const struct fleet_link *link_of(const struct fleet *f, const struct fleet_thread *t)
{
    return t->link == FLEET_NONE ? NULL : &f->links[t->link];
}

static void know_process(struct wait_peers *w, uint32_t process)
{
    const struct fleet_process *p = &w->f->processes[process];
    const struct fleet_link *link = link_of(w->f, leave(w->f, p));
    map_put(&w->processes, process_key(p, p->pid), process);
    know_connections(w, process);
    for (uint32_t i = 0; i < p->n_shared; i++)
        add_sharer(w, &w->files, pair(p->machine, w->f->shared[p->first_shared + i]), process);
    if (link && link->file != FLEET_NONE)
        add_sharer(w, &w->places, place_of(p, link), process);
}

/* A helper's connections come first: of one that several have inherited the member's counts. */
void wait_peers_know(struct wait_peers *w, const struct fleet *f, const struct members *m)
{
    w->f = f;
    w->found_in = xcalloc(f->n_processes + 1, sizeof *w->found_in);
    for (size_t i = 0; i < m->n; i++) {
        for (uint32_t h = m->items[i].helpers; h != FLEET_NONE; h = m->next_helper[h])
            know_process(w, h);
        know_process(w, m->items[i].last);
    }
}

/* ---- one wait ---- */

static void add_found(struct wait_peers *w, uint32_t waits, uint32_t process)
{
    if (process == waits)
        w->remote = FLEET_NONE; /* it has both ends */
    if (process == waits || w->n_found == MOST_FOUND || w->found_in[process] == w->n_calls)
        return;
    w->found_in[process] = w->n_calls;
    w->found = array_reserve(w->found, &w->found_capacity, w->n_found + 1, sizeof *w->found);
    w->found[w->n_found++] = process;
}

/* Its other end is of the same network. */
static bool is_loopback(const char *address)
{
    return str_starts(address, "127.") || str_starts(address, "[::1]");
}

/* Adds who has the other end of C, a connection of PROCESS: the one in the same network, else the
 * only one that has such an end at all. */
static void add_other_end(struct wait_peers *w, uint32_t process, const struct fleet_connection *c)
{
    uint64_t network = network_of(&w->f->processes[process]);
    uint64_t other = pair(c->remote, c->local);
    uint64_t at;
    uint64_t own;
    if (map_get(&w->scoped, pair(network, other), &at)) {
        add_found(w, process, (uint32_t)at);
        return;
    }
    if (is_loopback(fleet_see_text(w->f, c->remote)) || !map_get(&w->ends, other, &at) ||
        !map_get(&w->ends, pair(c->local, c->remote), &own))
        return;
    if (!w->owners[at].several && !w->owners[own].several)
        add_found(w, process, w->owners[at].process);
}

/* Adds who is at the other ends of the connections of PROCESS; REMOTE: of those to there only, or
 * FLEET_NONE. */
static void add_connected(struct wait_peers *w, uint32_t process, uint32_t remote)
{
    const struct fleet_process *p = &w->f->processes[process];
    w->work += p->n_connections;
    for (uint32_t i = 0; i < p->n_connections && w->work < MOST_WORK; i++) {
        const struct fleet_connection *c = &w->f->connections[p->first_connection + i];
        if (remote == FLEET_NONE || c->remote == remote)
            add_other_end(w, process, c);
    }
}

/* Who listens waits for anybody. */
static void add_polled(struct wait_peers *w, uint32_t process, const struct fleet_link *link)
{
    if (link->listens)
        return;
    if (link->more)
        add_connected(w, process, FLEET_NONE);
    for (uint32_t i = 0; i < link->n_remotes && !link->more; i++)
        add_connected(w, process, w->f->remotes[link->first_remote + i]);
}

static const struct sharers *find_sharers(const struct wait_peers *w, const struct map *map,
                                          uint64_t key)
{
    static const struct sharers none;
    uint64_t at;
    return map_get(map, key, &at) ? &w->sharers[at] : &none;
}

/* Of those that have the file mapped: the one whose thread has the lock. */
static void add_holder(struct wait_peers *w, uint32_t process, const struct fleet_link *link,
                       const struct sharers *of_file)
{
    for (size_t i = 0; i < of_file->n && w->work < MOST_WORK; i++) {
        const struct fleet_process *p = &w->f->processes[of_file->items[i]];
        w->work += p->n_threads;
        if (find_thread(w->f, p, link->owner))
            add_found(w, process, of_file->items[i]);
    }
}

/* Those that have the file mapped, and do not wait there themselves. */
static void add_wakers(struct wait_peers *w, uint32_t process, const struct sharers *of_file,
                       const struct sharers *of_place)
{
    struct map waiting = {0};
    uint64_t unused;
    for (size_t i = 0; i < of_place->n; i++)
        map_put(&waiting, of_place->items[i], 1);
    for (size_t i = 0; i < of_file->n && w->n_found < MOST_FOUND; i++)
        if (!map_get(&waiting, of_file->items[i], &unused))
            add_found(w, process, of_file->items[i]);
    map_release(&waiting);
}

static void add_shared(struct wait_peers *w, uint32_t process, const struct fleet_link *link)
{
    const struct fleet_process *p = &w->f->processes[process];
    const struct sharers *of_file = find_sharers(w, &w->files, pair(p->machine, link->file));
    const struct sharers *of_place = find_sharers(w, &w->places, place_of(p, link));
    if (link->owner)
        add_holder(w, process, link, of_file);
    w->work += of_file->n + of_place->n;
    if (!w->n_found && w->work < MOST_WORK)
        add_wakers(w, process, of_file, of_place);
}

void wait_peers_find(struct wait_peers *w, uint32_t process)
{
    const struct fleet_process *p = &w->f->processes[process];
    const struct fleet_thread *t = leave(w->f, p);
    const struct fleet_link *link = link_of(w->f, t);
    uint64_t other;
    w->n_found = 0;
    w->n_calls++;
    w->remote = t->remote;
    w->pid = t->other_pid == p->pid ? 0 : t->other_pid;
    if (w->pid && map_get(&w->processes, process_key(p, w->pid), &other))
        add_found(w, process, (uint32_t)other);
    if (!w->n_found && t->remote != FLEET_NONE)
        add_connected(w, process, t->remote);
    if (!w->n_found && link && link->file != FLEET_NONE)
        add_shared(w, process, link);
    if (!w->n_found && link && link->polls)
        add_polled(w, process, link);
}

void wait_peers_release(struct wait_peers *w)
{
    for (size_t i = 0; i < w->n_sharers; i++)
        free(w->sharers[i].items);
    map_release(&w->processes);
    map_release(&w->scoped);
    map_release(&w->ends);
    map_release(&w->files);
    map_release(&w->places);
    free(w->owners);
    free(w->sharers);
    free(w->found);
    free(w->found_in);
    *w = (struct wait_peers){0};
}
