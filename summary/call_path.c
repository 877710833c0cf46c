#include "summary/call_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/share.h"
#include "base/text.h"
#include "summary/frame_name.h"

enum { MAX_CHAIN = 256, NOWHERE = -1 };
enum { LEAST_KNOWN = 2, NEARLY_ALL = 80 }; /* percent of the waits at sockets */

/* ---- the walk ---- */

struct path_walk {
    struct tally *t;
    uint32_t *heaviest;     /* child of each node; 0: none */
    uint32_t *first, *next; /* child of each node, and sibling; 0: none */
    int64_t *own_ns; /* of each node: in the user's functions that it calls, at whatever distance */
};

static struct path_walk walk_start(struct tally *t)
{
    uint32_t n = call_tree_count(t->tree);
    struct path_walk w = {.t = t,
                          .heaviest = xcalloc(n + 1, sizeof *w.heaviest),
                          .first = xcalloc(n + 1, sizeof *w.first),
                          .next = xcalloc(n + 1, sizeof *w.next),
                          .own_ns = xcalloc(n + 1, sizeof *w.own_ns)};
    for (uint32_t node = n; node; node--) { /* a parent comes before its children */
        const struct call_node at = call_tree_node(t->tree, node);
        uint32_t *best = &w.heaviest[at.parent];
        int64_t ns = tally_total(t, node);
        w.next[node] = w.first[at.parent];
        w.first[at.parent] = node;
        if (ns > 0 && (!*best || ns >= tally_total(t, *best)))
            *best = node;
        w.own_ns[at.parent] += at.role == ROLE_OWN ? ns : w.own_ns[node];
    }
    return w;
}

static void walk_release(struct path_walk *w)
{
    free(w->heaviest);
    free(w->first);
    free(w->next);
    free(w->own_ns);
}

/* The innermost of the user's functions that NODE is in; 0: none. */
static uint32_t own_above(const struct call_tree *tree, uint32_t node)
{
    while (node && call_tree_node(tree, node).role != ROLE_OWN)
        node = call_tree_node(tree, node).parent;
    return node;
}

/* Is NODE a library's that works for the user's function, and hardly calls another?  Then the time
 * is that function's, wherever the library spends it. */
static bool is_work_of_library(const struct path_walk *w, uint32_t node)
{
    return call_tree_node(w->t->tree, node).role != ROLE_OWN && own_above(w->t->tree, node) &&
           w->own_ns[node] < tally_total(w->t, node) / 3;
}

/* From NODE on to the heaviest child, while that has at least half of its parent; in a library also
 * two thirds of the user's function that it works for. */
static uint32_t walk(const struct path_walk *w, uint32_t node)
{
    for (uint32_t next; (next = w->heaviest[node]); node = next) {
        int64_t ns = tally_total(w->t, next);
        if (ns < tally_total(w->t, node) / 2)
            break;
        if (is_work_of_library(w, next) &&
            ns < tally_total(w->t, own_above(w->t->tree, next)) / 3 * 2)
            break;
    }
    return node;
}

/* A way that may be shown. */
struct branch {
    uint32_t node;
    bool only_self;
    int64_t ns;
};

enum { MOST_BRANCHES = 64 };
struct branches {
    struct branch items[MOST_BRANCHES];
    size_t n;
    int64_t least_ns; /* smaller ones are of no interest */
};

/* Keeps the heaviest, in order. */
static void offer(struct branches *b, struct branch branch)
{
    size_t at = b->n;
    if (branch.ns < b->least_ns)
        return;
    while (at && b->items[at - 1].ns < branch.ns)
        at--;
    if (at == MOST_BRANCHES)
        return;
    if (b->n < MOST_BRANCHES)
        b->n++;
    memmove(&b->items[at + 1], &b->items[at], (b->n - at - 1) * sizeof *b->items);
    b->items[at] = branch;
}

/* Does the time in END, where a walk ends, go into several ways, none of which has half of it?  Of
 * a library's ways only its waits are of interest. */
static bool is_split(const struct path_walk *w, uint32_t end)
{
    struct tally *t = w->t;
    uint32_t heaviest = w->heaviest[end];
    return heaviest && tally_total(t, heaviest) >= tally_total(t, end) / 10 &&
           tally_self(t, end) < tally_total(t, end) / 2 &&
           (!is_work_of_library(w, end) ||
            call_tree_node(t->tree, heaviest).frame->kind == SHOWN_WAIT);
}

static void offer_ways(const struct path_walk *w, uint32_t node, struct branches *b);

/* The ways from NODE on, but for those through its child DONE; 0: all. */
static void offer_children(const struct path_walk *w, uint32_t node, uint32_t done,
                           struct branches *b)
{
    if (node) /* else it is in no function */
        offer(b, (struct branch){node, true, tally_self(w->t, node)});
    for (uint32_t child = w->first[node]; child; child = w->next[child])
        if (child != done && tally_total(w->t, child) >= b->least_ns)
            offer_ways(w, child, b);
}

/* All ways from NODE on, disjoint: the end of the walk, and what leaves it before. */
static void offer_ways(const struct path_walk *w, uint32_t node, struct branches *b)
{
    uint32_t end = walk(w, node);
    if (is_split(w, end))
        offer_children(w, end, 0, b);
    else
        offer(b, (struct branch){end, false, tally_total(w->t, end)});
    for (uint32_t at = end; at != node; at = call_tree_node(w->t->tree, at).parent)
        offer_children(w, call_tree_node(w->t->tree, at).parent, at, b);
}

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

static void add_source(struct text *out, const struct shown_frame *f, uint32_t line)
{
    const char *file = f->file;
    if (f->kind == SHOWN_NATIVE && file) { /* "[module] path" */
        file = strchr(file, ' ');
        file += file != NULL;
    }
    if (!file || (f->kind == SHOWN_NATIVE && !line))
        return;
    text_add(out, " ");
    const char *base = path_base(file);
    text_add_tame(out, base, strlen(base));
    if (line)
        text_addf(out, ":%u", line);
}

/* Where library code is helps nobody, but for Python's that is called by no other. */
static char *name_at(struct tally *t, const struct chain *c, ptrdiff_t i, bool called,
                     bool only_self)
{
    struct text name = {0};
    only_self &= i == c->n - 1;
    if (i < 0)
        return NULL;
    frame_add_name(&name, frame_at(c, i));
    if (role_at(c, i) == ROLE_OWN || (!called && frame_at(c, i)->kind == SHOWN_PYTHON))
        add_source(&name, frame_at(c, i), tally_line(t, c->nodes[i], only_self));
    return name.s;
}

static char *libc_name(const struct chain *c)
{
    struct text name = {0};
    if (!c->libc)
        return NULL;
    frame_add_name(&name, call_tree_node(c->tree, c->libc).frame);
    return name.s;
}

static void add_files(struct text *out, struct tally *t, uint32_t node)
{
    struct text folder = {0};
    const char *mount = call_tree_node(t->tree, node).frame->mount;
    size_t n = tally_files(t, node, &folder);
    if (n > 1)
        text_addf(out, " %zu files: ", n);
    else
        text_add(out, " ");
    const char *where = n > 1 && mount ? mount : folder.s;
    text_add_tame(out, where, strlen(where));
    text_release(&folder);
}

/* "socket"; "127.0.0.1:5432", and ", 45% known" where the other waits ended too early for a look;
 * "2 addresses, 60% 10.0.0.7:5432". */
static void add_peers(struct text *out, struct tally *t, uint32_t node)
{
    string_id most;
    int64_t most_ns;
    size_t n = tally_peers(t, node, &most, &most_ns);
    int64_t all_ns = tally_total(t, node);
    double percent = 100 * share_of(most_ns, all_ns);
    if (n == 0 || percent < LEAST_KNOWN) {
        text_add(out, " socket");
        return;
    }
    const char *address = call_tree_text(t->tree, most);
    text_add(out, " ");
    if (n > 1)
        text_addf(out, "%zu addresses, %.0f%% ", n, percent);
    text_add_tame(out, address, strlen(address));
    if (n == 1 && percent < NEARLY_ALL)
        text_addf(out, ", %.0f%% known", percent);
}

static char *wait_name(struct tally *t, const struct chain *c)
{
    struct text name = {0};
    if (!c->wait)
        return NULL;
    const struct call_node node = call_tree_node(c->tree, c->wait);
    const struct shown_frame *f = node.frame;
    if (f->wait != WAIT_CALL) {
        text_add_tame(&name, f->name, strlen(f->name));
        return name.s;
    }
    const char *kind = futex_kind_name(node.futex);
    if (c->libc && str_starts(f->call, "futex"))
        kind = "arena lock"; /* of the C library only malloc's frames are kept */
    text_addf(&name, "[%s", kind ? kind : f->call);
    if (node.files) {
        add_files(&name, t, c->wait);
    } else if (node.sockets) {
        add_peers(&name, t, c->wait);
    } else if (f->object) {
        text_add(&name, " ");
        text_add_tame(&name, f->object, strlen(f->object));
    }
    text_add(&name, "]");
    return name.s;
}

struct call_path call_path_to(struct tally *t, uint32_t node, bool only_self)
{
    struct chain c;
    ptrdiff_t caller;
    ptrdiff_t inner;
    make_chain(&c, t->tree, node);
    pick(&c, &caller, &inner);
    return (struct call_path){.caller = name_at(t, &c, caller, false, only_self),
                              .inner = name_at(t, &c, inner, caller != NOWHERE, only_self),
                              .libc = libc_name(&c),
                              .wait = wait_name(t, &c),
                              .node = node,
                              .ns = only_self ? tally_self(t, node) : tally_total(t, node)};
}

/* ---- equal ones ---- */

/* How much of NAME is no line: "query views.py" of "query views.py:3". */
static size_t length_before_line(const char *name)
{
    const char *colon = strrchr(name, ':');
    bool line = colon && colon[1] && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    return line ? (size_t)(colon - name) : strlen(name);
}

static bool same_place(const char *a, const char *b)
{
    if (!a || !b)
        return a == b;
    size_t len = length_before_line(a);
    return len == length_before_line(b) && memcmp(a, b, len) == 0;
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? str_eq(a, b) : a == b;
}

/* For a reader, whatever called the first of the functions. */
static bool same_path(const struct call_path *a, const struct call_path *b)
{
    return same_place(a->caller, b->caller) && same_place(a->inner, b->inner) &&
           same_name(a->libc, b->libc) && same_name(a->wait, b->wait);
}

static int by_time(const void *a, const void *b)
{
    const struct call_path *x = a;
    const struct call_path *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Makes one path of those of B that are equal, the heaviest first; returns how many. */
static size_t merge(struct tally *t, const struct branches *b, struct call_path ret[MOST_BRANCHES])
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct call_path path = call_path_to(t, b->items[i].node, b->items[i].only_self);
        size_t at = 0;
        while (at < n && !same_path(&ret[at], &path))
            at++;
        if (at < n) {
            ret[at].ns += path.ns;
            call_path_release(&path);
        } else {
            ret[n++] = path;
        }
    }
    qsort(ret, n, sizeof *ret, by_time);
    return n;
}

/* Moves the first MAX to RET, without those of less than LEAST_NS but for the first; returns how
 * many. */
static size_t take(struct call_path *all, size_t n, struct call_path *ret, size_t max,
                   int64_t least_ns)
{
    size_t taken = 0;
    for (size_t i = 0; i < n; i++)
        if (taken < max && (!taken || all[i].ns >= least_ns))
            ret[taken++] = all[i];
        else
            call_path_release(&all[i]);
    return taken;
}

size_t call_paths_heaviest(struct tally *t, struct call_path *ret, size_t max)
{
    struct path_walk w = walk_start(t);
    struct call_path all[MOST_BRANCHES];
    struct branches b = {.least_ns = max_i64((t->all_ns - t->idle_ns) / 500, 1)};
    if (w.heaviest[0])
        offer_children(&w, 0, 0, &b);
    walk_release(&w);
    return take(all, merge(t, &b, all), ret, max, (t->all_ns - t->idle_ns) / 20);
}

bool call_path_of_nodes(struct tally *t, node_test *test, const void *arg, struct call_path *ret)
{
    struct call_path all[MOST_BRANCHES];
    struct branches b = {.least_ns = 1};
    for (uint32_t node = 1; node <= call_tree_count(t->tree); node++)
        if (tally_self(t, node) > 0 && test(t->tree, node, arg))
            offer(&b, (struct branch){node, false, tally_total(t, node)});
    return take(all, merge(t, &b, all), ret, 1, 0) == 1;
}

/* ---- parts ---- */

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

void call_path_release(struct call_path *path)
{
    free(path->caller);
    free(path->inner);
    free(path->libc);
    free(path->wait);
    *path = (struct call_path){0};
}
