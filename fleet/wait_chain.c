#include "fleet/wait_chain.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "fleet/wait_peers.h"

enum { MOST_ROUNDS = 4 };

struct finder {
    const struct fleet *f;
    struct wait_chain *chain;
    uint32_t *several; /* those that wait for one of several processes */
    size_t n_several;
};

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
    c->waiting = 0;
    if (c->end == FLEET_NONE)
        return;
    c->circle = c->next[c->end] != FLEET_NONE;
    for (uint32_t at = c->end; at != FLEET_NONE && !c->is_end[at]; at = c->next[at])
        c->is_end[at] = true;
    for (size_t i = 0; i < m->n; i++) {
        uint32_t process = m->items[i].last;
        c->waiting += c->ends[process] == c->end && !c->is_end[process];
    }
}

/* ---- waits that one of several can end ---- */

/* Who waits for PROCESS in the end does not end its wait: is there one left of those that may? */
static uint32_t only_one_left(const struct wait_chain *c, const struct wait_peers *w,
                              uint32_t process)
{
    uint32_t ret = FLEET_NONE;
    for (size_t i = 0; i < w->n_found; i++) {
        if (c->ends[w->found[i]] == process)
            continue;
        if (ret != FLEET_NONE)
            return FLEET_NONE;
        ret = w->found[i];
    }
    return ret;
}

static void forget_ends(struct wait_chain *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c->ends[i] = FLEET_NONE;
}

/* Finds for which one of several those wait of whose peers all others wait for them.  Returns how
 * many that are. */
static size_t settle_several(struct finder *find, struct wait_peers *w)
{
    size_t settled = 0;
    for (size_t i = 0; i < find->n_several; i++) {
        uint32_t process = find->several[i];
        if (find->chain->next[process] != FLEET_NONE)
            continue;
        wait_peers_find(w, process);
        find->chain->next[process] = only_one_left(find->chain, w, process);
        settled += find->chain->next[process] != FLEET_NONE;
    }
    return settled;
}

static void find_next(struct finder *find, struct wait_peers *w)
{
    struct wait_chain *c = find->chain;
    for (uint32_t i = 0; i < find->f->n_processes; i++) {
        wait_peers_find(w, i);
        c->next[i] = w->n_found == 1 ? w->found[0] : FLEET_NONE;
        if (!w->n_found)
            c->outside[i] = (struct outside){w->remote, w->pid};
        c->any_of[i] = w->n_found > 1 ? (uint32_t)w->n_found : 0;
        if (w->n_found > 1)
            find->several[find->n_several++] = i;
    }
}

void wait_chain_find(const struct fleet *f, const struct members *m, struct wait_chain *ret)
{
    size_t n = f->n_processes;
    struct wait_peers peers = {0};
    struct finder find = {.f = f, .chain = ret, .several = xcalloc(n + 1, sizeof(uint32_t))};
    *ret = (struct wait_chain){.end = FLEET_NONE};
    ret->next = xcalloc(n + 1, sizeof *ret->next);
    ret->ends = xcalloc(n + 1, sizeof *ret->ends);
    ret->any_of = xcalloc(n + 1, sizeof *ret->any_of);
    ret->outside = xcalloc(n + 1, sizeof *ret->outside);
    for (size_t i = 0; i < n; i++)
        ret->outside[i].remote = FLEET_NONE;
    ret->is_end = xcalloc(n + 1, sizeof *ret->is_end);
    wait_peers_know(&peers, f, m);
    find_next(&find, &peers);
    for (int i = 0; i < MOST_ROUNDS; i++) {
        forget_ends(ret, n);
        find_ends(ret, n);
        if (i + 1 == MOST_ROUNDS || !settle_several(&find, &peers))
            break;
    }
    choose_end(m, n, ret);
    wait_peers_release(&peers);
    free(find.several);
}

void wait_chain_release(struct wait_chain *c)
{
    free(c->next);
    free(c->ends);
    free(c->any_of);
    free(c->outside);
    free(c->is_end);
    *c = (struct wait_chain){0};
}
