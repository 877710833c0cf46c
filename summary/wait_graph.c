#include "summary/wait_graph.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

#define SEVERAL UINT64_MAX

void wait_graph_add(struct wait_graph *g, pid_t pid, pid_t tid, const struct wait_side *side,
                    uint32_t tag)
{
    g->items = array_reserve(g->items, &g->capacity, g->n + 1, sizeof *g->items);
    g->items[g->n++] =
        (struct waiter){.pid = pid, .tid = tid, .side = *side, .tag = tag, .next = WAIT_NOBODY};
}

static uint64_t thread_key(pid_t pid, pid_t tid)
{
    return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* Of several threads nobody can say which one is waited for. */
static void add_process(struct map *by_process, pid_t pid, size_t item)
{
    uint64_t before;
    bool more = map_get(by_process, (uint32_t)pid, &before);
    map_put(by_process, (uint32_t)pid, more ? SEVERAL : item);
}

static void link_waiters(struct wait_graph *g)
{
    struct map by_thread = {0};
    struct map by_process = {0};
    uint64_t at;
    for (size_t i = 0; i < g->n; i++) {
        map_put(&by_thread, thread_key(g->items[i].pid, g->items[i].tid), i);
        add_process(&by_process, g->items[i].pid, i);
    }
    for (size_t i = 0; i < g->n; i++) {
        const struct blocker *b = &g->items[i].side.blocker;
        if (b->kind == BLOCKER_THREAD && map_get(&by_thread, thread_key(b->pid, b->tid), &at))
            g->items[i].next = (int)at;
        /* Threads that are not recorded count, too. */
        if (blocker_is_process(b) && b->tid && map_get(&by_process, (uint32_t)b->pid, &at) &&
            at != SEVERAL && at != i)
            g->items[i].next = (int)at;
    }
    map_release(&by_process);
    map_release(&by_thread);
}

/* Follows the waits from item START on.  SEEN: by which walk each item was met. */
static void walk(struct wait_graph *g, size_t start, int *seen)
{
    int mark = (int)start + 1;
    int at = (int)start;
    while (at != WAIT_NOBODY && !seen[at]) {
        seen[at] = mark;
        at = g->items[at].next;
    }
    if (at == WAIT_NOBODY || seen[at] != mark)
        return;
    g->n_cycles++;
    for (int i = at; !g->items[i].cycle; i = g->items[i].next)
        g->items[i].cycle = g->n_cycles;
}

/* Follows the waits from item START to a circle, to nobody, or to an item whose circle is KNOWN. */
static void follow(struct wait_graph *g, int start, bool *known)
{
    int at = start;
    while (at != WAIT_NOBODY && !g->items[at].cycle && !known[at])
        at = g->items[at].next;
    int behind = 0;
    if (at != WAIT_NOBODY)
        behind = g->items[at].cycle ? g->items[at].cycle : g->items[at].behind;
    const int end = at;
    for (at = start; at != end; at = g->items[at].next) {
        g->items[at].behind = behind;
        known[at] = true;
    }
}

static void find_behind(struct wait_graph *g)
{
    bool *known = xcalloc(g->n ? g->n : 1, sizeof *known);
    for (size_t i = 0; i < g->n; i++)
        follow(g, (int)i, known);
    free(known);
}

void wait_graph_link(struct wait_graph *g)
{
    int *seen = xcalloc(g->n ? g->n : 1, sizeof *seen);
    link_waiters(g);
    for (size_t i = 0; i < g->n; i++)
        if (!seen[i])
            walk(g, i, seen);
    find_behind(g);
    free(seen);
}

static int without(int number, int dropped)
{
    return number == dropped ? 0 : number - (number > dropped);
}

void wait_graph_drop(struct wait_graph *g, int cycle)
{
    for (size_t i = 0; i < g->n; i++) {
        struct waiter *w = &g->items[i];
        if (w->cycle == cycle)
            w->next = WAIT_NOBODY;
        w->cycle = without(w->cycle, cycle);
        w->behind = without(w->behind, cycle);
    }
    g->n_cycles--;
}

bool wait_graph_is_timed(const struct wait_graph *g, int cycle)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].cycle == cycle && g->items[i].side.timed &&
            g->items[i].side.thing != THING_GIL)
            return true;
    return false;
}

const struct waiter *wait_graph_first(const struct wait_graph *g, int cycle)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->items[i].cycle == cycle)
            return &g->items[i];
    assert(!"a cycle of the graph");
    return NULL;
}

void wait_graph_release(struct wait_graph *g)
{
    free(g->items);
    *g = (struct wait_graph){0};
}
