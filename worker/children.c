#include "worker/children.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/minmax.h"

enum {
    MAX_SEEN = 1 << 16, /* children with an entry each */
    MAX_DEPTH = 32,     /* of a tree of processes */
};
static const int64_t MOST_NS = INT64_MAX / 4; /* hostile figures do not overflow */

/* No two processes have both alike. */
static uint64_t child_key(const struct listed_process *p)
{
    return hash_u64(p->start_ticks) ^ p->pid;
}

/* C's entry for CHILD, made if it is new; NULL: there is no room. */
static struct child *child_for(struct children *c, const struct listed_process *child)
{
    uint64_t ix;
    if (map_get(&c->seen, child_key(child), &ix))
        return ix < c->n ? &c->items[ix] : NULL;
    if (c->seen.n < MAX_SEEN)
        map_put(&c->seen, child_key(child), c->n < MAX_CHILDREN_KEPT ? c->n : UINT64_MAX);
    if (c->n == MAX_CHILDREN_KEPT)
        return NULL;
    c->items = array_reserve(c->items, &c->capacity, c->n + 1, sizeof *c->items);
    c->items[c->n] = (struct child){.pid = child->pid, .start_ticks = child->start_ticks};
    return &c->items[c->n++];
}

/* Adds USED_NS, the CPU time of a process, to each child of a recorded process among that process
 * and its ancestors. OWNERS: pid → index in C. */
static void add_to_ancestors(struct children *c, const struct map *owners,
                             const struct process_list *now, const struct listed_process *p,
                             int64_t used_ns)
{
    for (int depth = 0; p && depth < MAX_DEPTH; depth++) {
        uint64_t owner;
        struct child *child = map_get(owners, p->ppid, &owner) ? child_for(&c[owner], p) : NULL;
        if (child) {
            child->here = true;
            child->cpu_now_ns += used_ns;
            memcpy(child->comm, p->comm, sizeof child->comm);
        }
        if (map_get(owners, p->pid, &owner))
            return; /* recorded itself: what it uses is nobody else's */
        p = process_list_find(now, (pid_t)p->ppid);
    }
}

static void find_children(struct children *c, const struct map *owners,
                          const struct process_list *before, uint64_t began_ticks,
                          const struct process_list *now)
{
    for (size_t i = 0; i < now->n; i++)
        if (now->items[i].pid != (uint64_t)getpid()) /* a shell may have us record itself */
            add_to_ancestors(c, owners, now, &now->items[i],
                             max_i64(process_list_used_ns(before, now, i, began_ticks), 0));
}

void children_look(struct children *c, size_t n, const struct process_list *before,
                   uint64_t began_ticks, struct process_list *now)
{
    struct map owners = {0};
    for (size_t i = 0; i < n; i++) {
        if (c[i].over)
            continue;
        map_put(&owners, (uint64_t)c[i].pid, i);
        c[i].known |= now->whole || process_list_add_children(now, c[i].pid);
        for (size_t k = 0; k < c[i].n; k++) {
            c[i].items[k].cpu_now_ns = 0;
            c[i].items[k].here = false;
        }
    }
    find_children(c, &owners, before, began_ticks, now);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c[i].n && !c[i].over; k++) {
            struct child *child = &c[i].items[k];
            child->cpu_ns = max_i64(child->cpu_ns, child->paused_ns + child->cpu_now_ns);
            child->came |= child->start_ticks > began_ticks;
        }
    map_release(&owners);
}

void children_skip(struct children *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->items[i].paused_ns = c->items[i].cpu_ns;
}

/* What CHILD had used until the first look, and in pauses. */
static int64_t older_ns(const struct children *c, const struct listed_process *child)
{
    int64_t ns = min_i64(child->cpu_ns, MOST_NS) + min_i64(child->children_ns, MOST_NS);
    uint64_t ix;
    if (map_get(&c->seen, child_key(child), &ix) && ix < c->n)
        ns -= min_i64(ns, c->items[ix].paused_ns);
    return ns;
}

int64_t children_older_ns(const struct children *c, const struct process_list *before,
                          const struct process_list *now)
{
    int64_t ns = 0;
    for (size_t i = 0; i < before->n && now->whole; i++) {
        const struct listed_process *child = &before->items[i];
        if (child->ppid != (uint64_t)c->pid)
            continue;
        const struct listed_process *same = process_list_find(now, (pid_t)child->pid);
        if (!same || same->start_ticks != child->start_ticks)
            ns = min_i64(ns + older_ns(c, child), MOST_NS);
    }
    return ns;
}

void children_report(const struct children *c, struct profile *p, process_id id,
                     const struct map *pids)
{
    struct profile_child kept[MAX_CHILDREN_KEPT];
    struct profile_process *process = profile_get_process(p, id);
    for (size_t i = 0; i < c->n; i++) {
        uint64_t unused;
        kept[i] = (struct profile_child){.pid = (pid_t)c->items[i].pid,
                                         .comm = profile_string(p, c->items[i].comm),
                                         .cpu_ns = c->items[i].cpu_ns,
                                         .came_and_went = c->items[i].came && !c->items[i].here,
                                         .recorded = map_get(pids, c->items[i].pid, &unused)};
    }
    profile_set_children(p, id, kept, c->n);
    process->children_known = c->known;
    process->children_seen = c->seen.n;
}

void children_release(struct children *c)
{
    map_release(&c->seen);
    free(c->items);
    c->items = NULL;
}
