#include "fleet/verdict.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { ANY_KEY = 0 }; /* a member that fits into each class */

struct judge {
    const struct fleet *f;
    struct verdict *v;
    uint64_t *keys;    /* by member: members of one key are one class */
    uint32_t *threads; /* by member: the thread that the key is of */
    size_t n_spun;     /* members that spin */
};

const struct fleet_process *verdict_process(const struct fleet *f, const struct verdict *v,
                                            uint32_t member)
{
    return &f->processes[v->members.items[member].last];
}

static uint32_t main_of(const struct judge *j, size_t member)
{
    return verdict_process(j->f, j->v, (uint32_t)member)->first_thread;
}

static enum fleet_doing doing_of(const struct judge *j, uint32_t thread)
{
    return j->f->waits[j->f->threads[thread].wait].doing;
}

static const struct shape *shape_of(const struct judge *j, uint32_t thread)
{
    return shapes_of(&j->v->shapes, j->f, j->f->threads[thread].path);
}

static bool spun(const struct judge *j, uint32_t thread)
{
    return j->f->threads[thread].ran == RAN_SPUN;
}

/* Where THREAD is.  What runs below their own functions changes all the time. */
static uint32_t place_of(const struct judge *j, uint32_t thread)
{
    const struct shape *s = shape_of(j, thread);
    bool runs = doing_of(j, thread) == DOES_RUN || spun(j, thread);
    return runs ? s->own_place : s->place;
}

/* ---- does it stand still? ---- */

static bool is_blocked(const struct judge *j, uint32_t thread)
{
    enum fleet_doing doing = doing_of(j, thread);
    return doing != DOES_RUN && doing != DOES_UNKNOWN;
}

static bool stands_still(const struct judge *j, uint32_t thread)
{
    return is_blocked(j, thread) && j->f->threads[thread].ran != RAN_SOME;
}

static enum verdict_moved compare_rounds(const struct judge *j, const struct member *m)
{
    if (m->rounds < 2 || m->first == m->last)
        return MOVED_UNKNOWN;
    uint32_t a = j->f->processes[m->first].first_thread;
    uint32_t b = j->f->processes[m->last].first_thread;
    const struct fleet_thread *x = &j->f->threads[a];
    const struct fleet_thread *y = &j->f->threads[b];
    if (place_of(j, a) != place_of(j, b) || x->lines != y->lines)
        return MOVED;
    return y->ran == RAN_NOT ? MOVED_NOT_NO_CPU : MOVED_NOT;
}

static void look_at_rounds(struct judge *j)
{
    struct verdict *v = j->v;
    v->moved = xcalloc(v->members.n + 1, sizeof *v->moved);
    for (size_t i = 0; i < v->members.n; i++) {
        const struct member *m = &v->members.items[i];
        v->moved[i] = compare_rounds(j, m);
        v->n_rounds = m->rounds > v->n_rounds ? m->rounds : v->n_rounds;
        j->n_spun += spun(j, main_of(j, i));
        v->n_still += stands_still(j, main_of(j, i)) && v->moved[i] != MOVED;
    }
}

/* ---- classes ---- */

struct counted { /* the members of one key */
    uint64_t key;
    uint32_t n, first_member;
};
struct counts {
    struct counted *items;
    size_t n, capacity, largest;
    size_t known; /* members with a key of their own */
};

static void count_keys(const struct judge *j, struct counts *ret)
{
    struct map at = {0};
    *ret = (struct counts){0};
    for (size_t i = 0; i < j->v->members.n; i++) {
        uint64_t k;
        if (j->keys[i] == ANY_KEY)
            continue;
        if (!map_get(&at, j->keys[i], &k)) {
            k = ret->n;
            map_put(&at, j->keys[i], k);
            ret->items = array_reserve(ret->items, &ret->capacity, ret->n + 1, sizeof *ret->items);
            ret->items[ret->n++] = (struct counted){.key = j->keys[i], .first_member = (uint32_t)i};
        }
        assert(k < ret->n);
        ret->items[k].n++;
        ret->known++;
        if (ret->items[k].n > ret->items[ret->largest].n)
            ret->largest = k;
    }
    map_release(&at);
}

/* Do the keys tell a few members from the others? */
static bool tell_few_apart(const struct counts *c, size_t members)
{
    return c->n > 1 && members > 2 && c->known == members &&
           (size_t)c->items[c->largest].n * 4 >= members * 3;
}

static uint64_t place_key(const struct judge *j, size_t member)
{
    uint32_t thread = main_of(j, member);
    bool stopped = doing_of(j, thread) == DOES_NOTHING;
    return hash_u64((uint64_t)place_of(j, thread) << 1 | stopped) | 1;
}

static uint64_t whole_key(const struct judge *j, size_t member)
{
    uint32_t thread = main_of(j, member);
    bool tells = stands_still(j, thread) && !spun(j, thread);
    return tells ? hash_u64(shape_of(j, thread)->whole) | 1 : ANY_KEY;
}

/* Where most spin in a call of theirs, one that runs in another line has not come to that call. */
static uint64_t lines_key(const struct judge *j, size_t member)
{
    uint32_t thread = main_of(j, member);
    bool tells = stands_still(j, thread) || j->n_spun * 2 >= j->v->members.n;
    return tells ? hash_u64(j->f->threads[thread].lines) | 1 : ANY_KEY;
}

static uint64_t wait_key(const struct judge *j, size_t member)
{
    uint32_t thread = main_of(j, member);
    return hash_u64(j->f->waits[j->f->threads[thread].wait].sort) | 1;
}

/* Members that fit everywhere join the largest class. */
static void settle(struct judge *j, struct counts *c)
{
    for (size_t i = 0; i < j->v->members.n; i++)
        if (j->keys[i] == ANY_KEY && c->n) {
            j->keys[i] = c->items[c->largest].key;
            c->items[c->largest].n++;
            c->known++;
        }
}

/* Sets the keys of a level.  False: they tell nobody apart, and C is released. */
static bool try_level(struct judge *j, uint64_t (*key)(const struct judge *j, size_t member),
                      struct counts *c)
{
    for (size_t i = 0; i < j->v->members.n; i++) {
        j->keys[i] = key(j, i);
        j->threads[i] = main_of(j, i);
    }
    count_keys(j, c);
    settle(j, c);
    if (key == place_key ? c->n > 1 : tell_few_apart(c, j->v->members.n))
        return true;
    free(c->items);
    return false;
}

/* ---- other threads ---- */

/* A thread of ROOT that stands still, of a member that has none in the USUAL place; FLEET_NONE:
 * there is none. */
static uint32_t elsewhere(const struct judge *j, size_t member, uint32_t root, uint32_t usual)
{
    const struct fleet_process *p = verdict_process(j->f, j->v, (uint32_t)member);
    uint32_t ret = FLEET_NONE;
    for (uint32_t i = 1; i < p->n_threads; i++) {
        uint32_t thread = p->first_thread + i;
        const struct shape *s = shape_of(j, thread);
        if (s->root != root)
            continue;
        if (s->whole == usual)
            return FLEET_NONE;
        if (stands_still(j, thread))
            ret = thread;
    }
    return ret;
}

/* Of the threads of one root, in all members: where those of most members are, and how many members
 * that is. */
struct rooted {
    uint32_t root, usual;
    uint64_t n;
};
struct roots {
    struct rooted *items;
    size_t n, capacity;
    struct map by_root, members, last; /* → item; root and place → members, and the last of them */
};

static void count_place(struct roots *r, const struct shape *s, size_t member)
{
    uint64_t place = (uint64_t)s->root << 32 | s->whole;
    uint64_t last = 0;
    uint64_t n = 0;
    uint64_t at;
    if (s->root == FLEET_NONE || (map_get(&r->last, place, &last) && last == member + 1))
        return;
    (void)map_get(&r->members, place, &n);
    map_put(&r->last, place, member + 1);
    map_put(&r->members, place, ++n);
    if (!map_get(&r->by_root, s->root, &at)) {
        at = r->n;
        map_put(&r->by_root, s->root, at);
        r->items = array_reserve(r->items, &r->capacity, r->n + 1, sizeof *r->items);
        r->items[r->n++] = (struct rooted){.root = s->root};
    }
    if (n > r->items[at].n) {
        r->items[at].n = n;
        r->items[at].usual = s->whole;
    }
}

static void find_roots(const struct judge *j, struct roots *ret)
{
    *ret = (struct roots){0};
    for (size_t m = 0; m < j->v->members.n; m++) {
        const struct fleet_process *p = verdict_process(j->f, j->v, (uint32_t)m);
        for (uint32_t i = 1; i < p->n_threads; i++)
            count_place(ret, shape_of(j, p->first_thread + i), m);
    }
}

static void roots_release(struct roots *r)
{
    free(r->items);
    map_release(&r->by_root);
    map_release(&r->members);
    map_release(&r->last);
}

static size_t count_elsewhere(const struct judge *j, const struct rooted *r)
{
    size_t n = 0;
    for (size_t m = 0; m < j->v->members.n; m++)
        n += elsewhere(j, m, r->root, r->usual) != FLEET_NONE;
    return n;
}

static void key_by_threads(struct judge *j, const struct rooted *r)
{
    for (size_t m = 0; m < j->v->members.n; m++) {
        uint32_t thread = elsewhere(j, m, r->root, r->usual);
        bool odd = thread != FLEET_NONE;
        j->keys[m] = odd ? hash_u64(shape_of(j, thread)->whole) | 2 : 1;
        j->threads[m] = odd ? thread : main_of(j, m);
    }
}

/* Sets keys by the threads of the root that tells the fewest members from the others. */
static bool try_threads(struct judge *j, struct counts *c)
{
    struct roots roots;
    size_t n = j->v->members.n;
    size_t fewest = n;
    find_roots(j, &roots);
    for (size_t i = 0; i < roots.n; i++) {
        const struct rooted *r = &roots.items[i];
        bool mostly = r->n < n && r->n * 4 >= n * 3;
        size_t odd = mostly ? count_elsewhere(j, r) : 0;
        if (!odd || odd >= fewest)
            continue;
        fewest = odd;
        key_by_threads(j, r);
    }
    roots_release(&roots);
    if (fewest == n)
        return false;
    count_keys(j, c);
    if (tell_few_apart(c, n))
        return true;
    free(c->items);
    return false;
}

/* ---- chains of waits ---- */

/* Do the chains of half of the members or more end at a few of them?  One that waits for any of
 * those that wait for it is no end. */
static bool chain_tells(const struct judge *j)
{
    const struct wait_chain *c = &j->v->chain;
    return c->end != FLEET_NONE && c->waiting * 2 >= j->v->members.n && !c->any_of[c->end];
}

static uint64_t chain_key(const struct judge *j, size_t member)
{
    return j->v->chain.is_end[j->v->members.items[member].last] ? 2 : 1;
}

/* ---- the verdict ---- */

static struct counts find_classes(struct judge *j)
{
    static uint64_t (*const keys[])(const struct judge *j, size_t member) = {
        [LEVEL_PLACE] = place_key,
        [LEVEL_WHOLE] = whole_key,
        [LEVEL_LINES] = lines_key,
        [LEVEL_WAIT] = wait_key,
    };
    struct counts c;
    bool still = j->v->n_still * 2 >= j->v->members.n;
    for (unsigned level = LEVEL_PLACE; level <= LEVEL_WAIT; level++) {
        j->v->level = (enum verdict_level)level;
        if ((level == LEVEL_PLACE || still) && try_level(j, keys[level], &c))
            return c;
    }
    j->v->level = LEVEL_CHAIN;
    if (still && chain_tells(j) && try_level(j, chain_key, &c))
        return c;
    j->v->level = LEVEL_THREADS;
    if (still && try_threads(j, &c))
        return c;
    j->v->level = LEVEL_PLACE;
    for (size_t i = 0; i < j->v->members.n; i++) {
        j->keys[i] = 1;
        j->threads[i] = main_of(j, i);
    }
    count_keys(j, &c);
    return c;
}

static int by_size(const void *a, const void *b)
{
    const struct counted *x = a;
    const struct counted *y = b;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return x->first_member < y->first_member ? -1 : 1;
}

static void fill_classes(struct judge *j, struct counts *c)
{
    struct verdict *v = j->v;
    struct map at = {0};
    uint32_t begin = 0;
    if (c->n)
        qsort(c->items, c->n, sizeof *c->items, by_size);
    v->classes = xcalloc(c->n + 1, sizeof *v->classes);
    v->order = xcalloc(v->members.n + 1, sizeof *v->order);
    v->n_classes = c->n;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t member = c->items[i].first_member;
        uint32_t thread = j->threads[member];
        const struct fleet_process *p = verdict_process(j->f, v, member);
        map_put(&at, c->items[i].key, i);
        v->classes[i] =
            (struct verdict_class){.first = begin,
                                   .thread = thread,
                                   .lines = thread == p->first_thread ? p->first_line : FLEET_NONE,
                                   .stopped = doing_of(j, thread) == DOES_NOTHING};
        begin += c->items[i].n;
    }
    for (size_t i = 0; i < v->members.n; i++) {
        uint64_t k = 0;
        (void)map_get(&at, j->keys[i], &k);
        v->order[v->classes[k].first + v->classes[k].n++] = (uint32_t)i;
    }
    map_release(&at);
}

/* Is one of class I where the chains of most members end? */
static bool ends_chains(const struct judge *j, size_t i)
{
    const struct verdict_class *c = &j->v->classes[i];
    for (uint32_t k = 0; k < c->n; k++)
        if (j->v->chain.is_end[j->v->members.items[j->v->order[c->first + k]].last])
            return true;
    return false;
}

/* The depth up to which the stacks of two threads are the same. */
static uint16_t common_depth(const struct fleet *f, uint32_t a, uint32_t b)
{
    a = f->threads[a].path;
    b = f->threads[b].path;
    while (a != b) {
        bool deeper = f->nodes[a].depth > f->nodes[b].depth;
        a = deeper || f->nodes[a].depth == f->nodes[b].depth ? f->nodes[a].parent : a;
        b = deeper ? b : f->nodes[b].parent;
    }
    return f->nodes[a].depth;
}

/* Is class I rather the odd one than class K?  Of equal ones it is the one that left the others'
 * way earlier: those that left it later may have come to the same call in another role. */
static bool is_odder(const struct judge *j, size_t i, size_t k)
{
    const struct verdict_class *a = &j->v->classes[i];
    const struct verdict_class *b = &j->v->classes[k];
    uint32_t others = j->v->classes[j->v->others].thread;
    if (doing_of(j, a->thread) != doing_of(j, b->thread))
        return doing_of(j, a->thread) < doing_of(j, b->thread);
    return a->n == b->n &&
           common_depth(j->f, a->thread, others) < common_depth(j->f, b->thread, others);
}

/* What stops a job comes before what merely follows from it, then the smallest class; but where
 * chains of waits end is the culprit.  Of two largest classes the others are those who wait for
 * others. */
static void choose_odd(struct judge *j)
{
    struct verdict *v = j->v;
    size_t last = v->n_classes - 1;
    v->others = last;
    for (size_t i = 0; i < last; i++)
        if (v->classes[i].n == v->classes[last].n &&
            doing_of(j, v->classes[i].thread) > doing_of(j, v->classes[v->others].thread))
            v->others = i;
    v->odd = v->others == 0 ? 1 : 0;
    for (size_t i = 0; i < v->n_classes; i++)
        if (i != v->others && is_odder(j, i, v->odd))
            v->odd = i;
    for (size_t i = 0; i < v->n_classes && chain_tells(j) && !v->chain.circle; i++)
        if (i != v->others && ends_chains(j, i))
            v->odd = i;
}

/* Do all of class I spin: do they run, and were they in the same place in the first round?  Who is
 * blocked and ran meanwhile goes on. */
static bool spins(const struct judge *j, size_t i)
{
    const struct verdict_class *c = &j->v->classes[i];
    for (uint32_t k = 0; k < c->n; k++) {
        uint32_t member = j->v->order[c->first + k];
        enum verdict_moved moved = j->v->moved[member];
        if (moved == MOVED || moved == MOVED_UNKNOWN || doing_of(j, main_of(j, member)) != DOES_RUN)
            return false;
    }
    return true;
}

/* Does THREAD wait for a process or an address that is none of the members? */
static bool waits_outside(const struct judge *j, uint32_t thread)
{
    const struct fleet_thread *t = &j->f->threads[thread];
    for (size_t i = 0; i < j->v->members.n; i++)
        if (main_of(j, i) == thread)
            return (t->other_pid || t->remote != FLEET_NONE) &&
                   j->v->chain.next[j->v->members.items[i].last] == FLEET_NONE;
    return false;
}

/* Were all of class I elsewhere than the others in the first round, too, and where the others are
 * still?  They may be slow, and move. */
static bool was_apart(const struct judge *j, size_t i)
{
    const struct verdict *v = j->v;
    const struct verdict_class *c = &v->classes[i];
    uint32_t others = place_of(j, v->classes[v->others].thread);
    for (uint32_t k = 0; k < c->n; k++) {
        const struct member *m = &v->members.items[v->order[c->first + k]];
        uint32_t before = j->f->processes[m->first].first_thread;
        if (m->rounds < 2 || place_of(j, before) == others)
            return false;
    }
    return true;
}

static enum verdict_kind judge(struct judge *j)
{
    struct verdict *v = j->v;
    size_t n = v->members.n;
    if (!n)
        return VERDICT_NOBODY;
    if (v->n_classes == 1)
        return v->n_still * 2 >= n ? VERDICT_SAME : VERDICT_MOVES;
    choose_odd(j);
    if (v->n_still * 2 >= n)
        return VERDICT_ODD;
    /* Ranks that spin while they wait run, all in one place from round to round. */
    bool most = (size_t)v->classes[v->others].n * 4 >= n * 3;
    if (most && spins(j, v->others) && was_apart(j, v->odd))
        return VERDICT_ODD;
    /* One that does not run, and waits for none of them, is not one of them. */
    uint32_t odd = v->classes[v->odd].thread;
    bool stuck = stands_still(j, odd) && (doing_of(j, odd) < DOES_AWAIT || waits_outside(j, odd));
    return most && stuck && n > 2 ? VERDICT_ODD : VERDICT_MOVES;
}

void verdict_find(const struct fleet *f, struct verdict *ret)
{
    *ret = (struct verdict){0};
    struct judge j = {.f = f, .v = ret};
    members_find(f, &ret->members);
    j.keys = xcalloc(ret->members.n + 1, sizeof *j.keys);
    j.threads = xcalloc(ret->members.n + 1, sizeof *j.threads);
    look_at_rounds(&j);
    wait_chain_find(f, &ret->members, &ret->chain);
    struct counts c = find_classes(&j);
    fill_classes(&j, &c);
    ret->kind = judge(&j);
    free(c.items);
    free(j.keys);
    free(j.threads);
}

bool verdict_absent_first(const struct verdict *v, const struct fleet *f)
{
    size_t absent = v->members.n_absent;
    if (!absent || v->kind == VERDICT_NOBODY)
        return false;
    if (v->kind != VERDICT_ODD)
        return absent * 2 <= v->members.n;
    const struct verdict_class *odd = &v->classes[v->odd];
    return absent <= odd->n && f->waits[f->threads[odd->thread].wait].doing >= DOES_AWAIT;
}

void verdict_release(struct verdict *v)
{
    members_release(&v->members);
    shapes_release(&v->shapes);
    wait_chain_release(&v->chain);
    free(v->classes);
    free(v->order);
    free(v->moved);
    *v = (struct verdict){0};
}
