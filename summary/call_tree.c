#include "summary/call_tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/text.h"
#include "profile/strings.h"
#include "summary/frame_name.h"
#include "summary/idle.h"
#include "summary/known.h"
#include "summary/spot_map.h"
#include "summary/wait_text.h"

/* A frame of a stack that has a node of its own. */
struct step {
    const struct shown_frame *frame; /* the view's, until its next stack */
    enum frame_role role;
    string_id key; /* equal for what is one node below one parent */
    enum futex_kind futex;
    bool files, sockets, idle;
};

/* The key of a node. */
struct node_key {
    uint32_t parent;
    string_id key;
};

struct call_tree {
    const struct profile *p;
    struct view *v;
    struct strings keys;
    struct call_node *nodes;
    struct node_key *node_keys; /* by node */
    size_t n, nodes_capacity, node_keys_capacity;
    struct index index;
    struct spot_map by_spot; /* node + 1; 0: not looked at */
    struct step *steps;      /* of the stack looked at last */
    size_t n_steps, steps_capacity;
    struct text key;
    /* Role + 1 by frame of the view, of stacks that run and that end in a wait. */
    uint8_t *roles[2];
    struct map notes; /* call_tree_note() */
};

struct call_tree *call_tree_new(const struct profile *p, struct view *v)
{
    struct call_tree *t = xcalloc(1, sizeof *t);
    t->p = p;
    t->v = v;
    for (size_t i = 0; i < 2; i++)
        t->roles[i] = xcalloc(view_frame_count(v) + 1, sizeof *t->roles[i]);
    spot_map_init(&t->by_spot, p);
    t->nodes = array_reserve(NULL, &t->nodes_capacity, 1, sizeof *t->nodes);
    t->node_keys = array_reserve(NULL, &t->node_keys_capacity, 1, sizeof *t->node_keys);
    t->nodes[0] = (struct call_node){0};
    t->node_keys[0] = (struct node_key){0};
    return t;
}

struct call_tree *call_tree_free(struct call_tree *t)
{
    if (!t)
        return NULL;
    text_release(&t->key);
    free(t->steps);
    spot_map_release(&t->by_spot);
    free(t->roles[0]);
    free(t->roles[1]);
    map_release(&t->notes);
    index_release(&t->index);
    free(t->node_keys);
    free(t->nodes);
    strings_release(&t->keys);
    free(t);
    return NULL;
}

const struct profile *call_tree_profile(const struct call_tree *t)
{
    return t->p;
}

/* ---- from a stack to its steps ---- */

static void add_step(struct call_tree *t, struct step step)
{
    step.key = strings_add(&t->keys, t->key.s, t->key.len);
    if (t->n_steps && t->steps[t->n_steps - 1].key.ix == step.key.ix) { /* recursion */
        t->steps[t->n_steps - 1].frame = step.frame;                    /* it makes the next call */
        return;
    }
    t->steps = array_reserve(t->steps, &t->steps_capacity, t->n_steps + 1, sizeof *t->steps);
    t->steps[t->n_steps++] = step;
}

/* Is the step before a std::thread's function T->KEY, which is a frame of its own now? */
static bool repeats_thread_function(const struct call_tree *t)
{
    size_t len = 0;
    if (!t->n_steps)
        return false;
    const char *function = frame_thread_function(t->steps[t->n_steps - 1].frame, &len);
    return function && t->key.len == len && memcmp(t->key.s, function, len) == 0;
}

static void step_into(struct call_tree *t, const struct shown_frame *f, enum frame_role role)
{
    text_clear(&t->key);
    frame_add_name(&t->key, f);
    if (repeats_thread_function(t))
        t->n_steps--;
    text_addf(&t->key, "\n%s", f->file ? f->file : "");
    add_step(t, (struct step){.frame = f, .role = role});
}

/* Devices are few, and their names say the most; /dev/shm has files. */
static bool is_device(const char *path)
{
    return str_starts(path, "/dev/") && !str_starts(path, "/dev/shm/");
}

/* The difference between waits in one call.  Files of one mount are one, and so are all sockets:
 * the other end of some waits is unknown, because they were over before it was read. */
static const char *object_of(const struct step *step)
{
    const char *object = step->frame->object;
    return step->files || !object ? "" : object;
}

/* STACK's first CALLS of N frames are no wait. */
static void step_into_wait(struct call_tree *t, const struct shown_frame *stack, size_t calls,
                           size_t n)
{
    const struct shown_frame *f = &stack[calls];
    struct step step = {.frame = f, .futex = futex_kind(stack, n)};
    if (f->wait == WAIT_CPU)
        return;
    step.files = f->wait == WAIT_CALL && f->object && f->object[0] == '/' && !is_device(f->object);
    step.sockets = f->socket;
    step.idle = idle_pool_wait(stack, n) || idle_event_loop(stack, n);
    text_clear(&t->key);
    text_addf(&t->key, "%d\n%d\n%d\n%d\n%d\n%s\n%s\n%s", (int)f->wait, (int)f->spins,
              (int)f->asleep, (int)step.futex, step.idle, f->call ? f->call : "",
              f->mount ? f->mount : "", object_of(&step));
    add_step(t, step);
}

/* How much F says of a stack with nothing worth naming. */
static int speaks(const struct shown_frame *f)
{
    if (f->guessed || f->kind == SHOWN_WAIT)
        return 0;
    if (f->kind == SHOWN_MARK)
        return 1;
    return f->libc ? 2 : 3;
}

/* Of a stack with nothing worth naming: its innermost code, of the C library only if there is no
 * other. */
static void step_into_any(struct call_tree *t, const struct shown_frame *stack, size_t n)
{
    const struct shown_frame *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (speaks(&stack[i]) && (!best || speaks(&stack[i]) >= speaks(best)))
            best = &stack[i];
    if (best)
        step_into(t, best, ROLE_GLUE);
}

/* A path below a mount is two frames of one wait. */
static size_t without_wait(const struct shown_frame *stack, size_t n)
{
    while (n && stack[n - 1].kind == SHOWN_WAIT)
        n--;
    return n;
}

/* frame_role(), which looks through long lists of names, once for each frame. */
static enum frame_role role_of(struct call_tree *t, const struct shown_frame *f, bool blocked)
{
    uint8_t *known = &t->roles[blocked][f->id];
    if (!*known)
        *known = (uint8_t)(frame_role(f, blocked) + 1);
    return (enum frame_role)(*known - 1);
}

/* The function of the C library's in STACK, which waits in futex(2), whose own lock that is for:
 * rand(), localtime(); N: none. */
static size_t own_lock_of_libc(const struct shown_frame *stack, size_t calls, size_t n)
{
    const char *call = calls < n ? stack[calls].call : NULL;
    if (!call || !str_starts(call, "futex"))
        return n;
    size_t outer = calls;
    while (outer && stack[outer - 1].kind == SHOWN_NATIVE && stack[outer - 1].libc &&
           !stack[outer - 1].entry && !stack[outer - 1].nameless && !stack[outer - 1].guessed)
        outer--;
    return outer < calls && !known_does(&stack[outer], DOES_BLOCK) ? outer : n;
}

/* Python code from a string: the whole program (python -c), or what a library makes by exec():
 * methods of dataclasses, namedtuples, multiprocessing's proxies.  Those are no place of the
 * user's, who has called them. */
static bool is_of_string(const struct shown_frame *f)
{
    return f->kind == SHOWN_PYTHON && f->file && str_eq(f->file, "<string>");
}

static void list_steps(struct call_tree *t, struct spot at)
{
    size_t n = 0;
    const struct shown_frame *stack = view_stack(t->v, at, &n);
    size_t calls = without_wait(stack, n);
    bool blocked = calls < n && stack[calls].wait != WAIT_CPU; /* that one lost its CPU at work */
    size_t locks = own_lock_of_libc(stack, calls, n);
    bool in_file = false;
    t->n_steps = 0;
    for (size_t i = 0; i < calls; i++) {
        enum frame_role role = i == locks ? ROLE_LIBC : role_of(t, &stack[i], blocked);
        bool of_string = is_of_string(&stack[i]);
        in_file |= role == ROLE_OWN && stack[i].kind == SHOWN_PYTHON && !of_string;
        if (of_string && in_file && role == ROLE_OWN)
            role = ROLE_LIBRARY;
        if (role != ROLE_GLUE)
            step_into(t, &stack[i], role);
    }
    if (!t->n_steps)
        step_into_any(t, stack, calls);
    if (calls < n)
        step_into_wait(t, stack, calls, n);
}

/* ---- notes ---- */

static uint64_t note_key(const struct run *run)
{
    return hash_u64(spot_key(run->at) ^ hash_u64(run->state));
}

bool call_tree_note(const struct call_tree *t, const struct run *run, uint64_t *ret)
{
    return map_get(&t->notes, note_key(run), ret);
}

void call_tree_set_note(struct call_tree *t, const struct run *run, uint64_t note)
{
    map_put(&t->notes, note_key(run), note);
}

/* ---- nodes ---- */

static bool same_node_key(const void *item, const void *wanted)
{
    const struct node_key *a = item;
    const struct node_key *b = wanted;
    return a->parent == b->parent && a->key.ix == b->key.ix;
}

static uint32_t child_of(struct call_tree *t, uint32_t parent, const struct step *step)
{
    const struct node_key wanted = {parent, step->key};
    uint64_t hash = hash_u64((uint64_t)parent << 32 | step->key.ix);
    uint32_t found =
        index_find(&t->index, hash, t->node_keys, sizeof *t->node_keys, same_node_key, &wanted);
    if (found != INDEX_NONE)
        return found;
    uint32_t node = (uint32_t)++t->n;
    t->nodes = array_reserve(t->nodes, &t->nodes_capacity, t->n + 1, sizeof *t->nodes);
    t->node_keys =
        array_reserve(t->node_keys, &t->node_keys_capacity, t->n + 1, sizeof *t->node_keys);
    t->node_keys[node] = wanted;
    t->nodes[node] = (struct call_node){.parent = parent,
                                        .depth = t->nodes[parent].depth + 1,
                                        .frame = view_frame(t->v, step->frame->id),
                                        .role = step->role,
                                        .key = step->key.ix,
                                        .futex = step->futex,
                                        .files = step->files,
                                        .sockets = step->sockets,
                                        .idle = step->idle};
    index_add(&t->index, hash, node);
    return node;
}

uint32_t call_tree_of(struct call_tree *t, struct spot at)
{
    if (!spot_is_known(at))
        return 0;
    uint32_t known = spot_map_get(&t->by_spot, at);
    if (known)
        return known - 1;
    uint32_t node = 0;
    list_steps(t, at);
    for (size_t i = 0; i < t->n_steps; i++)
        node = child_of(t, node, &t->steps[i]);
    spot_map_put(&t->by_spot, at, node + 1);
    return node;
}

struct call_node call_tree_node(const struct call_tree *t, uint32_t node)
{
    assert(node <= t->n);
    return t->nodes[node];
}

uint32_t call_tree_count(const struct call_tree *t)
{
    return (uint32_t)t->n;
}

uint32_t call_tree_own(const struct call_tree *t, uint32_t node)
{
    while (node && t->nodes[node].role != ROLE_OWN)
        node = t->nodes[node].parent;
    return node;
}

bool call_tree_is_within(const struct call_tree *t, uint32_t node, uint32_t outer)
{
    while (t->nodes[node].depth > t->nodes[outer].depth)
        node = t->nodes[node].parent;
    return node == outer;
}

void call_tree_mark_loop(struct call_tree *t, uint32_t node)
{
    t->nodes[node].idle = t->nodes[node].own_loop = true;
}

void call_tree_mark_spin(struct call_tree *t, uint32_t node, enum own_spin spins, enum asked asked)
{
    t->nodes[node].spins = spins;
    t->nodes[node].asked = asked;
}

uint32_t call_tree_line(struct call_tree *t, struct spot at, uint32_t node)
{
    list_steps(t, at);
    uint32_t depth = t->nodes[node].depth;
    return depth && depth <= t->n_steps ? t->steps[depth - 1].frame->current_line : 0;
}

string_id call_tree_file(const struct call_tree *t, struct spot at)
{
    const struct wait *wait = profile_see_wait(t->p, at.wait);
    return wait && wait->kind == WAIT_CALL ? wait->object : (string_id){0};
}

string_id call_tree_peer(struct call_tree *t, struct spot at)
{
    const struct wait *wait = profile_see_wait(t->p, at.wait);
    if (!wait || !wait_has_address(wait))
        return (string_id){0};
    text_clear(&t->key);
    wait_add_address(&t->key, t->p, wait);
    return strings_add(&t->keys, t->key.s, t->key.len);
}

const char *call_tree_peer_text(const struct call_tree *t, string_id peer)
{
    return strings_text(&t->keys, peer);
}

const char *call_tree_text(const struct call_tree *t, string_id id)
{
    return profile_text(t->p, id);
}
