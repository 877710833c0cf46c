#include "fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Of hostile input; a job of 10,000 ranks with 1,000 threads each stays below them. */
enum { MOST_NODES = 1 << 23, MOST_THREADS = 1 << 24, MOST_PROCESSES = 1 << 20 };

uint32_t fleet_text(struct fleet *f, const char *s)
{
    return texts_add(&f->functions.texts, s, strlen(s));
}

const char *fleet_see_text(const struct fleet *f, uint32_t id)
{
    return texts_see(&f->functions.texts, id);
}

uint32_t fleet_wait(struct fleet *f, const char *words, const char *sort, enum fleet_doing doing)
{
    uint64_t id;
    struct fleet_wait w = {fleet_text(f, words), fleet_text(f, sort), doing};
    uint64_t key = (uint64_t)w.words << 35 | (uint64_t)w.sort << 3 | doing;
    if (map_get(&f->waits_by_text, key, &id))
        return (uint32_t)id;
    f->waits = array_reserve(f->waits, &f->waits_capacity, f->n_waits + 1, sizeof *f->waits);
    f->waits[f->n_waits] = w;
    map_put(&f->waits_by_text, key, f->n_waits);
    return (uint32_t)f->n_waits++;
}

/* ---- stacks ---- */

void fleet_stack_push(struct fleet_stack *s, const struct memo_frame *frame)
{
    if (frame->note || s->n == FLEET_FRAMES)
        return;
    s->functions[s->n] = frame->function;
    s->lines[s->n++] = frame->line;
}

struct memo_frame fleet_stack_add(struct fleet *f, struct fleet_stack *s,
                                  const struct frame_in *frame)
{
    struct memo_frame ret = {.note = frame->kind == FLEET_NOTE, .line = frame->line};
    if (!ret.note)
        ret.function = function_table_add(&f->functions, frame);
    fleet_stack_push(s, &ret);
    return ret;
}

static uint32_t add_node(struct fleet *f, struct fleet_node node)
{
    f->nodes = array_reserve(f->nodes, &f->nodes_capacity, f->n_nodes + 1, sizeof *f->nodes);
    f->nodes[f->n_nodes] = node;
    return (uint32_t)f->n_nodes++;
}

static uint32_t child_of(struct fleet *f, uint32_t parent, uint32_t function, uint32_t line)
{
    uint64_t id;
    uint64_t key = (uint64_t)parent << 32 | function;
    if (map_get(&f->children, key, &id))
        return (uint32_t)id;
    if (f->n_nodes >= MOST_NODES) {
        f->full = true;
        return parent;
    }
    uint16_t depth = (uint16_t)(f->nodes[parent].depth + 1);
    id = add_node(f, (struct fleet_node){parent, function, line, depth});
    map_put(&f->children, key, id);
    return (uint32_t)id;
}

/* The node of a stack whose functions have HASH.  Most stacks have been seen before. */
static uint32_t find_stack(struct fleet *f, const struct fleet_stack *s, uint64_t hash)
{
    uint64_t node = 0;
    if (map_get(&f->stacks, hash, &node))
        return (uint32_t)node;
    if (!f->n_nodes)
        (void)add_node(f, (struct fleet_node){.function = FLEET_NONE});
    for (size_t i = s->n; i-- > 0;)
        node = child_of(f, (uint32_t)node, s->functions[i], s->lines[i]);
    if (!f->full)
        map_put(&f->stacks, hash, node);
    return (uint32_t)node;
}

void fleet_stack_end(struct fleet *f, const struct fleet_stack *s, struct fleet_thread *t)
{
    uint64_t hash = s->n;
    uint64_t lines = 0;
    for (size_t i = s->n; i-- > 0;) {
        hash = hash_u64(hash ^ s->functions[i]);
        if (f->functions.items[s->functions[i]].role == FUNCTION_IS_OWN)
            lines = (lines ^ s->lines[i]) * 0x9e3779b97f4a7c15U;
    }
    t->path = find_stack(f, s, hash);
    t->lines = (uint32_t)(lines >> 32);
}

/* ---- processes ---- */

struct fleet_process *fleet_add_process(struct fleet *f, const struct fleet_process *p)
{
    if (f->n_processes == MOST_PROCESSES) {
        f->full = true;
        return NULL;
    }
    f->processes = array_reserve(f->processes, &f->processes_capacity, f->n_processes + 1,
                                 sizeof *f->processes);
    struct fleet_process *ret = &f->processes[f->n_processes++];
    *ret = *p;
    ret->first_thread = (uint32_t)f->n_threads;
    ret->first_line = (uint32_t)f->n_lines;
    ret->first_connection = (uint32_t)f->n_connections;
    ret->first_shared = (uint32_t)f->n_shared;
    ret->first_link = (uint32_t)f->n_links;
    ret->first_remote = (uint32_t)f->n_remotes;
    ret->n_connections = ret->n_shared = 0;
    ret->n_threads = 0;
    return ret;
}

void fleet_describe_process(struct fleet *f, const struct fleet_process *p)
{
    struct fleet_process *last = &f->processes[f->n_processes - 1];
    struct fleet_process before = *last;
    *last = *p;
    last->first_thread = before.first_thread;
    last->n_threads = before.n_threads;
    last->first_line = before.first_line;
    last->first_connection = before.first_connection;
    last->n_connections = before.n_connections;
    last->first_shared = before.first_shared;
    last->n_shared = before.n_shared;
    last->first_link = before.first_link;
    last->first_remote = before.first_remote;
}

static void keep_lines(struct fleet *f, const struct fleet_stack *s)
{
    f->lines = array_reserve(f->lines, &f->lines_capacity, f->n_lines + s->n, sizeof *f->lines);
    for (size_t i = s->n; i-- > 0;)
        f->lines[f->n_lines++] = s->lines[i];
}

void fleet_add_thread(struct fleet *f, const struct fleet_thread *t, const struct fleet_stack *s)
{
    f->full |= f->n_threads == MOST_THREADS;
    if (f->full)
        return;
    f->threads =
        array_reserve(f->threads, &f->threads_capacity, f->n_threads + 1, sizeof *f->threads);
    f->threads[f->n_threads++] = *t;
    if (f->processes[f->n_processes - 1].n_threads++ == 0)
        keep_lines(f, s);
}

void fleet_add_connection(struct fleet *f, const char *local, const char *remote)
{
    f->full |= f->n_connections == MOST_THREADS;
    if (f->full)
        return;
    f->connections = array_reserve(f->connections, &f->connections_capacity, f->n_connections + 1,
                                   sizeof *f->connections);
    f->connections[f->n_connections++] =
        (struct fleet_connection){fleet_text(f, local), fleet_text(f, remote)};
    f->processes[f->n_processes - 1].n_connections++;
}

void fleet_add_shared(struct fleet *f, uint32_t file)
{
    f->full |= f->n_shared == MOST_THREADS;
    if (f->full)
        return;
    f->shared = array_reserve(f->shared, &f->shared_capacity, f->n_shared + 1, sizeof *f->shared);
    f->shared[f->n_shared++] = file;
    f->processes[f->n_processes - 1].n_shared++;
}

void fleet_add_remote(struct fleet *f, const char *remote)
{
    f->full |= f->n_remotes == MOST_THREADS;
    if (f->full)
        return;
    f->remotes =
        array_reserve(f->remotes, &f->remotes_capacity, f->n_remotes + 1, sizeof *f->remotes);
    f->remotes[f->n_remotes++] = fleet_text(f, remote);
}

uint32_t fleet_add_link(struct fleet *f, const struct fleet_link *link)
{
    f->full |= f->n_links == MOST_THREADS;
    if (f->full)
        return FLEET_NONE;
    f->links = array_reserve(f->links, &f->links_capacity, f->n_links + 1, sizeof *f->links);
    f->links[f->n_links] = *link;
    return (uint32_t)f->n_links++;
}

void fleet_drop_process(struct fleet *f)
{
    const struct fleet_process *p = &f->processes[--f->n_processes];
    f->n_threads = p->first_thread;
    f->n_lines = p->first_line;
    f->n_connections = p->first_connection;
    f->n_shared = p->first_shared;
    f->n_links = p->first_link;
    f->n_remotes = p->first_remote;
}

void fleet_release(struct fleet *f)
{
    for (size_t i = 0; i < f->n_inputs; i++)
        free(f->inputs[i].name);
    function_table_release(&f->functions);
    map_release(&f->children);
    map_release(&f->stacks);
    frame_memo_release(&f->memo);
    map_release(&f->waits_by_text);
    free(f->nodes);
    free(f->waits);
    free(f->threads);
    free(f->processes);
    free(f->lines);
    free(f->dimensions);
    free(f->connections);
    free(f->shared);
    free(f->links);
    free(f->remotes);
    free(f->inputs);
    *f = (struct fleet){0};
}
