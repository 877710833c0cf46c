#include "summary/call_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "base/share.h"
#include "base/text.h"
#include "summary/frame_name.h"

enum { MAX_CHAIN = 256, NOWHERE = -1 };
enum { LEAST_KNOWN = 2, NEARLY_ALL = 80 }; /* percent of the waits at sockets */

/* ---- names ---- */

/* The nodes from the root to a path's end, outermost first. */
struct chain {
    struct call_tree *tree;
    uint32_t nodes[MAX_CHAIN];
    ptrdiff_t n;   /* frames: without what follows */
    uint32_t libc; /* the function of the C library that it ends in; 0: none */
    uint32_t wait; /* and the wait; 0: none */
};

static const struct shown_frame *frame_at(const struct chain *c, ptrdiff_t i)
{
    return call_tree_node(c->tree, c->nodes[i]).frame;
}

static enum frame_role role_at(const struct chain *c, ptrdiff_t i)
{
    return call_tree_node(c->tree, c->nodes[i]).role;
}

static void make_chain(struct chain *c, struct call_tree *tree, uint32_t node)
{
    assert(node); /* the root is in no path */
    c->tree = tree;
    c->n = 0;
    c->libc = c->wait = 0;
    if (call_tree_node(tree, node).frame->kind == SHOWN_WAIT) {
        c->wait = node;
        node = call_tree_node(tree, node).parent;
    }
    while (node && call_tree_node(tree, node).role == ROLE_LIBC) {
        c->libc = node;
        node = call_tree_node(tree, node).parent;
    }
    ptrdiff_t at = MAX_CHAIN; /* the innermost ones are kept */
    for (; node && at; node = call_tree_node(tree, node).parent)
        if (call_tree_node(tree, node).role != ROLE_LIBC)
            c->nodes[--at] = node;
    c->n = MAX_CHAIN - at;
    memmove(c->nodes, c->nodes + at, (size_t)c->n * sizeof *c->nodes);
}

/* The last frame in KIND with at least ROLE. */
static ptrdiff_t last_of(const struct chain *c, enum shown_kind kind, enum frame_role role)
{
    for (ptrdiff_t i = c->n; i-- > 0;)
        if (frame_at(c, i)->kind == kind && role_at(c, i) >= role)
            return i;
    return NOWHERE;
}

static bool same_module(const struct shown_frame *a, const struct shown_frame *b)
{
    return a->module && b->module && str_eq(a->module, b->module);
}

/* Without own code, or with nothing but it: the caller of the innermost module, and the function
 * that it calls there; within one module the two innermost functions. */
static void pick_by_module(const struct chain *c, ptrdiff_t *ret_caller, ptrdiff_t *ret_inner)
{
    ptrdiff_t called = c->n - 1;
    while (called > 0 && same_module(frame_at(c, called - 1), frame_at(c, c->n - 1)))
        called--;
    *ret_inner = called > 0 ? called : c->n - 1;
    *ret_caller = *ret_inner - 1;
    while (*ret_caller > 0 && frame_at(c, *ret_caller)->glue) /* std::sort(), for a comparison */
        --*ret_caller;
    if (*ret_caller == 0 && str_eq(frame_at(c, 0)->name, "main"))
        *ret_caller = NOWHERE; /* who else? */
}

static void pick(const struct chain *c, ptrdiff_t *ret_caller, ptrdiff_t *ret_inner)
{
    ptrdiff_t python = last_of(c, SHOWN_PYTHON, ROLE_OWN);
    ptrdiff_t own = last_of(c, SHOWN_NATIVE, ROLE_OWN);
    *ret_caller = *ret_inner = NOWHERE;
    if (python == NOWHERE)
        python = last_of(c, SHOWN_PYTHON, ROLE_GLUE);
    if (python != NOWHERE) {
        *ret_caller = python;
        *ret_inner = python < c->n - 1 ? c->n - 1 : NOWHERE;
    } else if (own != NOWHERE && own < c->n - 1) {
        *ret_caller = own;
        *ret_inner = own + 1;
    } else if (c->n) {
        pick_by_module(c, ret_caller, ret_inner);
    }
}

/* " a.py:12" */
static void add_source(struct text *out, const struct shown_frame *f,
                       const struct tally_lines *lines)
{
    if (!f->source || (f->kind == SHOWN_NATIVE && !lines->first))
        return;
    text_add(out, " ");
    const char *base = path_base(f->source);
    text_add_tame(out, base, strlen(base));
    if (lines->first)
        text_addf(out, ":%u", lines->first);
}

/* ",15" behind it, where a function calls the same from two lines and neither has most of the time:
 * the first one alone would seem to have all of it. */
static void add_second_line(struct text *out, const struct tally_lines *lines)
{
    static const double most = 0.6, least = 0.25;
    if (share_of(lines->first_ns, lines->all_ns) < most &&
        share_of(lines->second_ns, lines->all_ns) >= least)
        text_addf(out, ",%u", lines->second);
}

/* The nodes that a path's time is in: by node, the end that it is of, counted from 1; 0: none. */
static uint32_t *ends_of_nodes(struct call_tree *tree, const struct path_end *ends, size_t n)
{
    uint32_t count = call_tree_count(tree);
    uint32_t *of = xcalloc(count + (size_t)1, sizeof *of);
    for (size_t i = 0; i < n; i++)
        of[ends[i].node] = (uint32_t)i + 1;
    for (uint32_t at = 1; at <= count; at++) { /* a parent comes before its children */
        uint32_t above = of[call_tree_node(tree, at).parent];
        if (!of[at] && above && !ends[above - 1].only_self)
            of[at] = above;
    }
    return of;
}

enum part { PART_CALLER, PART_INNER, N_PARTS };

/* The lines with most of the time in ENDS, of the function that is each end's PART. */
static struct tally_lines lines_of(struct tally *t, const struct path_end *ends, size_t n,
                                   enum part part)
{
    struct chain c;
    uint32_t *frames = ends_of_nodes(t->tree, ends, n);
    uint32_t *meant = xcalloc(n, sizeof *meant);
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t parts[N_PARTS];
        make_chain(&c, t->tree, ends[i].node);
        pick(&c, &parts[PART_CALLER], &parts[PART_INNER]);
        meant[i] = parts[part] == NOWHERE ? 0 : c.nodes[parts[part]];
    }
    for (uint32_t at = 1; at <= call_tree_count(t->tree); at++)
        frames[at] = frames[at] ? meant[frames[at] - 1] : 0;
    struct tally_lines lines = tally_lines(t, frames);
    free(meant);
    free(frames);
    return lines;
}

/* Is the line of C's frame I worth showing?  Where library code is helps nobody, but for Python's
 * that is called by no other. */
static bool shows_line(const struct chain *c, ptrdiff_t i, bool called)
{
    return role_at(c, i) == ROLE_OWN || (!called && frame_at(c, i)->kind == SHOWN_PYTHON);
}

static char *name_at(const struct chain *c, ptrdiff_t i)
{
    struct text name = {0};
    if (i < 0)
        return NULL;
    frame_add_name(&name, frame_at(c, i));
    return name.s;
}

/* NAME with the place of C's frame I behind it; CALLS: where it calls the rest of its path. */
static char *with_lines(char *name, const struct chain *c, ptrdiff_t i,
                        const struct tally_lines *lines, bool calls)
{
    struct text out = {0};
    text_add(&out, name);
    add_source(&out, frame_at(c, i), lines);
    if (calls && lines->first)
        add_second_line(&out, lines);
    free(name);
    return out.s;
}

static char *libc_name(const struct chain *c)
{
    struct text name = {0};
    if (!c->libc)
        return NULL;
    frame_add_name(&name, call_tree_node(c->tree, c->libc).frame);
    return name.s;
}

static uint32_t key_at(const struct chain *c, ptrdiff_t i)
{
    return i < 0 ? 0 : call_tree_node(c->tree, c->nodes[i]).key;
}

static struct call_path_keys keys_of(const struct chain *c)
{
    ptrdiff_t caller;
    ptrdiff_t inner;
    pick(c, &caller, &inner);
    return (struct call_path_keys){.caller = key_at(c, caller),
                                   .inner = key_at(c, inner),
                                   .libc = call_tree_node(c->tree, c->libc).key,
                                   .wait = call_tree_node(c->tree, c->wait).key};
}

struct call_path_keys call_path_keys(struct call_tree *tree, uint32_t node)
{
    struct chain c;
    make_chain(&c, tree, node);
    return keys_of(&c);
}

bool call_path_same(const struct call_path_keys *a, const struct call_path_keys *b)
{
    return a->caller == b->caller && a->inner == b->inner && a->libc == b->libc &&
           a->wait == b->wait;
}

bool *call_path_nodes(struct tally *t, uint32_t node)
{
    const struct call_path_keys wanted = call_path_keys(t->tree, node);
    uint32_t n = call_tree_count(t->tree);
    bool *ret = xcalloc(n + 1, sizeof *ret);
    for (uint32_t at = 1; at <= n; at++) { /* a parent comes before its children */
        if (tally_total(t, at) == 0)
            continue;
        const struct call_path_keys keys = call_path_keys(t->tree, at);
        ret[at] = ret[call_tree_node(t->tree, at).parent] || call_path_same(&keys, &wanted);
    }
    return ret;
}

int64_t call_path_ns(struct tally *t, const bool *nodes)
{
    int64_t ns = 0;
    for (uint32_t at = 1; at <= call_tree_count(t->tree); at++)
        ns += nodes[at] ? tally_self(t, at) : 0;
    return ns;
}

/* Does C wait or run in the call in which W waits, which has the keys WANTED?  The chain of a wait
 * in a system call does not have the C library's function of that name. */
static bool is_in_call(const struct chain *w, const struct call_path_keys *wanted,
                       const struct chain *c)
{
    const struct call_path_keys keys = keys_of(c);
    if (keys.caller != wanted->caller || keys.inner != wanted->inner)
        return false;
    if (wanted->libc)
        return keys.libc == wanted->libc;
    if (keys.wait)
        return keys.wait == wanted->wait;
    const char *call = call_tree_node(w->tree, w->wait).frame->call;
    return keys.libc && call &&
           str_eq(frame_libc_name(call_tree_node(c->tree, c->libc).frame->name), call);
}

int64_t call_path_call_ns(struct tally *t, const struct call_path *path)
{
    struct chain w;
    struct chain c;
    int64_t ns = 0;
    make_chain(&w, t->tree, path->node);
    const struct call_path_keys wanted = keys_of(&w);
    for (uint32_t at = 1; at <= call_tree_count(t->tree) && w.wait; at++) {
        if (tally_self(t, at) == 0)
            continue;
        make_chain(&c, t->tree, at);
        ns += is_in_call(&w, &wanted, &c) ? tally_self(t, at) : 0;
    }
    return max_i64(ns, path->ns);
}

static void add_files(struct text *out, struct tally *t, const bool *nodes, const char *mount)
{
    struct text folder = {0};
    size_t n = tally_files(t, nodes, &folder);
    const char *where = n > 1 && mount ? mount : folder.s;
    if (n > 1)
        text_addf(out, " %zu files:", n);
    text_add(out, n ? " " : ""); /* who waits for a CPU in the call has none */
    text_add_tame(out, where, strlen(where));
    text_release(&folder);
}

/* "socket"; "127.0.0.1:5432", and ", ≥ 45%" where the other waits ended too early for a look;
 * "2 addresses, 60% 10.0.0.7:5432". */
static void add_peers(struct text *out, struct tally *t, const bool *nodes)
{
    string_id most;
    int64_t most_ns;
    size_t n = tally_peers(t, nodes, &most, &most_ns);
    int64_t all_ns = call_path_ns(t, nodes);
    double percent = 100 * share_of(most_ns, all_ns);
    if (n == 0 || percent < LEAST_KNOWN) {
        text_add(out, " socket");
        return;
    }
    const char *address = call_tree_peer_text(t->tree, most);
    text_add(out, " ");
    if (n > 1)
        text_addf(out, "%zu addresses, %.0f%% ", n, percent);
    text_add_tame(out, address, strlen(address));
    if (n == 1 && percent < NEARLY_ALL)
        text_addf(out, ", ≥ %.0f%%", percent);
}

/* NODES: by node, those whose waits the path has. */
static char *wait_name(struct tally *t, const struct chain *c, const bool *nodes)
{
    struct text name = {0};
    if (!c->wait)
        return NULL;
    const struct call_node node = call_tree_node(c->tree, c->wait);
    const struct shown_frame *f = node.frame;
    if (f->wait != WAIT_CALL || f->asleep) {
        text_add_tame(&name, f->name, strlen(f->name));
        return name.s;
    }
    const char *kind = futex_kind_name(node.futex);
    if (c->libc && str_starts(f->call, "futex") &&
        frame_is_malloc(call_tree_node(c->tree, c->libc).frame))
        kind = "arena lock";
    text_addf(&name, "[%s", kind ? kind : f->call);
    if (node.files) {
        add_files(&name, t, nodes, f->mount);
    } else if (node.sockets) {
        add_peers(&name, t, nodes);
    } else if (f->object && !str_eq(f->object, "eventpoll")) { /* which one, is no news */
        text_add(&name, " ");
        text_add_tame(&name, f->object, strlen(f->object));
    }
    text_add(&name, "]");
    return name.s;
}

struct call_path call_path_to_ends(struct tally *t, const struct path_end *ends, size_t n)
{
    struct chain c;
    ptrdiff_t caller;
    ptrdiff_t inner;
    uint32_t node = ends[0].node;
    make_chain(&c, t->tree, node);
    pick(&c, &caller, &inner);
    bool *nodes = c.wait ? call_path_nodes(t, c.wait) : NULL;
    struct call_path path = {.caller = name_at(&c, caller),
                             .inner = name_at(&c, inner),
                             .libc = libc_name(&c),
                             .wait = wait_name(t, &c, nodes),
                             .node = node,
                             .ns = ends[0].only_self ? tally_self(t, node) : tally_total(t, node)};
    free(nodes);
    if (path.caller && shows_line(&c, caller, false)) {
        struct tally_lines lines = lines_of(t, ends, n, PART_CALLER);
        bool calls = path.inner || path.libc || path.wait;
        path.caller = with_lines(path.caller, &c, caller, &lines, calls);
    }
    if (path.inner && shows_line(&c, inner, caller != NOWHERE)) {
        struct tally_lines lines = lines_of(t, ends, n, PART_INNER);
        path.inner = with_lines(path.inner, &c, inner, &lines, path.libc || path.wait);
    }
    return path;
}

/* By node, the one of CALLEE's nodes that it is at or below; 0: none. */
static uint32_t *callee_of_nodes(const struct call_tree *tree, const struct shared_callee *callee)
{
    uint32_t *of = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *of);
    for (size_t i = 0; i < callee->n; i++)
        of[callee->nodes[i]] = callee->nodes[i];
    for (uint32_t at = 1; at <= call_tree_count(tree); at++) /* a parent before its children */
        of[at] = of[at] ? of[at] : of[call_tree_node(tree, at).parent];
    return of;
}

/* By node: is it WAIT's, below a node of FRAMES? */
static bool *nodes_of_wait(const struct call_tree *tree, const uint32_t *frames, uint32_t wait)
{
    bool *nodes = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *nodes);
    for (uint32_t at = 1; wait && at <= call_tree_count(tree); at++)
        nodes[at] = frames[at] && call_tree_node(tree, at).key == call_tree_node(tree, wait).key;
    return nodes;
}

/* FRAMES: as tally_lines(). */
static char *function_name(struct tally *t, uint32_t node, const uint32_t *frames)
{
    const struct shown_frame *f = call_tree_node(t->tree, node).frame;
    struct text name = {0};
    frame_add_name(&name, f);
    struct tally_lines lines = tally_lines(t, frames);
    add_source(&name, f, &lines);
    return name.s;
}

/* The user's function that calls the one at NODE; without one, its caller. */
static uint32_t caller_of(const struct call_tree *tree, uint32_t node)
{
    uint32_t parent = call_tree_node(tree, node).parent;
    uint32_t own = call_tree_own(tree, parent);
    return own ? own : parent;
}

struct caller {
    uint32_t key, heaviest; /* as call_node's; its node with most time in CALLEE */
    int64_t ns, most_ns;
};

static int by_time(const void *a, const void *b)
{
    const struct caller *x = a;
    const struct caller *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return (x->heaviest > y->heaviest) - (x->heaviest < y->heaviest);
}

/* Who calls CALLEE, the one with most time first; the caller frees them. */
static struct caller *list_callers(struct tally *t, const struct shared_callee *callee,
                                   size_t *ret_n)
{
    struct caller *callers = xcalloc(callee->n, sizeof *callers);
    *ret_n = 0;
    for (size_t i = 0; i < callee->n; i++) {
        uint32_t node = caller_of(t->tree, callee->nodes[i]);
        uint32_t key = call_tree_node(t->tree, node).key;
        int64_t ns = tally_total(t, callee->nodes[i]);
        size_t k = 0;
        while (k < *ret_n && callers[k].key != key)
            k++;
        *ret_n += k == *ret_n;
        callers[k].key = key;
        callers[k].ns += ns;
        if (ns > callers[k].most_ns) {
            callers[k].most_ns = ns;
            callers[k].heaviest = node;
        }
    }
    qsort(callers, *ret_n, sizeof *callers, by_time);
    return callers;
}

/* "sell a.py:12", with the line of most of the time that C has in CALLEES; the caller frees it. */
static char *name_of_caller(struct tally *t, const struct caller *c, const uint32_t *callees)
{
    uint32_t count = call_tree_count(t->tree);
    uint32_t *frames = xcalloc(count + (size_t)1, sizeof *frames);
    for (uint32_t at = 1; at <= count; at++) {
        uint32_t node = callees[at] ? caller_of(t->tree, callees[at]) : 0;
        frames[at] = node && call_tree_node(t->tree, node).key == c->key ? node : 0;
    }
    char *name = c->heaviest ? function_name(t, c->heaviest, frames) : xstrdup("the root");
    free(frames);
    return name;
}

/* "sell a.py:12, buy a.py:30 and 18 others".  CALLEES: callee_of_nodes(). */
static char *name_callers(struct tally *t, const struct shared_callee *callee,
                          const uint32_t *callees)
{
    enum { MOST_NAMED = 2 };
    struct text names = {0};
    size_t n;
    struct caller *callers = list_callers(t, callee, &n);
    size_t named = n < MOST_NAMED ? n : MOST_NAMED;
    for (size_t i = 0; i < named; i++) {
        char *name = name_of_caller(t, &callers[i], callees);
        text_addf(&names, "%s%s", !i ? "" : i + 1 == n ? " and " : ", ", name);
        free(name);
    }
    if (n > named)
        text_addf(&names, " and %zu other%s", n - named, n - named == 1 ? "" : "s");
    free(callers);
    return names.s;
}

struct call_path call_path_shared(struct tally *t, const struct shared_callee *callee,
                                  uint32_t leaf)
{
    struct chain c;
    struct text callers = {0};
    struct text name = {0};
    const struct call_node at = call_tree_node(t->tree, callee->nodes[0]);
    uint32_t *frames = callee_of_nodes(t->tree, callee);
    make_chain(&c, t->tree, leaf);
    bool *waits = nodes_of_wait(t->tree, frames, c.wait);
    text_addf(&callers, "%zu functions", callee->callers);
    if (at.frame->kind != SHOWN_WAIT)
        frame_add_name(&name, at.frame);
    if (at.frame->kind != SHOWN_WAIT && at.role == ROLE_OWN) {
        struct tally_lines lines = tally_lines(t, frames);
        add_source(&name, at.frame, &lines);
    }
    struct call_path path = {.caller = callers.s,
                             .inner = name.s,
                             .libc = at.role == ROLE_LIBC ? NULL : libc_name(&c),
                             .wait = wait_name(t, &c, waits),
                             .callers = callee->callers,
                             .called_by = name_callers(t, callee, frames),
                             .node = leaf,
                             .ns = callee->ns};
    free(waits);
    free(frames);
    return path;
}

struct call_path call_path_to(struct tally *t, uint32_t node)
{
    return call_path_to_ends(t, &(struct path_end){.node = node}, 1);
}

/* ---- the user's functions ---- */

uint32_t call_path_own_key(const struct call_tree *tree, uint32_t node)
{
    node = call_tree_own(tree, node);
    return node ? call_tree_node(tree, node).key : 0;
}

/* By node, the user's innermost function that it is in; 0: none.  The root has none. */
static uint32_t *own_of_nodes(const struct call_tree *tree)
{
    uint32_t *own = xcalloc(call_tree_count(tree) + (size_t)1, sizeof *own);
    for (uint32_t at = 1; at <= call_tree_count(tree); at++) { /* a parent before its children */
        const struct call_node node = call_tree_node(tree, at);
        own[at] = node.role == ROLE_OWN && node.frame->kind != SHOWN_WAIT ? at : own[node.parent];
    }
    return own;
}

/* The function with most time of T, as a key, and that time; 0: there is none. */
static uint32_t heaviest_own(struct tally *t, const uint32_t *own, int64_t *ret_ns)
{
    struct map sums = {0};
    uint32_t most = 0;
    *ret_ns = 0;
    for (uint32_t at = 1; at <= call_tree_count(t->tree); at++) {
        uint64_t ns = 0;
        if (!own[at] || tally_self(t, at) <= 0)
            continue;
        uint32_t key = call_tree_node(t->tree, own[at]).key;
        (void)map_get(&sums, key, &ns);
        ns += (uint64_t)tally_self(t, at);
        map_put(&sums, key, ns);
        most = (int64_t)ns > *ret_ns ? key : most;
        *ret_ns = (int64_t)ns > *ret_ns ? (int64_t)ns : *ret_ns;
    }
    map_release(&sums);
    return most;
}

struct call_path call_path_own(struct tally *t)
{
    struct call_path ret = {0};
    uint32_t *own = own_of_nodes(t->tree);
    uint32_t key = heaviest_own(t, own, &ret.ns);
    int64_t most_ns = 0;
    for (uint32_t at = 1; at <= call_tree_count(t->tree); at++) {
        if (own[at] && call_tree_node(t->tree, own[at]).key != key)
            own[at] = 0;
        if (own[at] == at && tally_total(t, at) > most_ns) {
            most_ns = tally_total(t, at);
            ret.node = at;
        }
    }
    ret.caller = ret.node ? function_name(t, ret.node, own) : NULL;
    free(own);
    return ret;
}

char *call_path_function(struct tally *t, uint32_t node)
{
    uint32_t *within = xcalloc(call_tree_count(t->tree) + (size_t)1, sizeof *within);
    within[node] = node;
    for (uint32_t at = node + 1; at <= call_tree_count(t->tree); at++)
        within[at] = within[call_tree_node(t->tree, at).parent];
    char *name = function_name(t, node, within);
    free(within);
    return name;
}

struct call_path call_path_of_run(struct call_tree *tree, const struct profile_thread *thread,
                                  const struct run *run)
{
    const struct interval all = interval_of_run(run);
    struct tally t;
    tally_init(&t, tree, TALLY_ALL);
    tally_add(&t, thread, &all, 1);
    struct call_path path = call_path_to(&t, call_tree_of(tree, run->at));
    tally_release(&t);
    return path;
}

size_t call_path_parts(const struct call_path *path, const char *ret[CALL_PATH_MAX_PARTS])
{
    const char *const all[CALL_PATH_MAX_PARTS] = {path->caller, path->inner, path->libc,
                                                  path->wait};
    size_t n = 0;
    for (size_t i = 0; i < CALL_PATH_MAX_PARTS; i++)
        if (all[i])
            ret[n++] = all[i];
    return n;
}

static char *copy_text(const char *s)
{
    return s ? xstrdup(s) : NULL;
}

struct call_path call_path_copy(const struct call_path *path)
{
    return (struct call_path){.caller = copy_text(path->caller),
                              .inner = copy_text(path->inner),
                              .libc = copy_text(path->libc),
                              .wait = copy_text(path->wait),
                              .callers = path->callers,
                              .called_by = copy_text(path->called_by),
                              .node = path->node,
                              .ns = path->ns};
}

void call_path_release(struct call_path *path)
{
    free(path->caller);
    free(path->inner);
    free(path->libc);
    free(path->wait);
    free(path->called_by);
    *path = (struct call_path){0};
}
