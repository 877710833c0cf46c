#include "profile/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "profile/kept.h"
#include "profile/profile_private.h"

struct profile *profile_new(size_t limit)
{
    struct profile *p = xcalloc(1, sizeof *p);
    p->limit = limit;
    thread_table_init(&p->threads, limit / 2, &p->strings);
    if (limit)
        p->storage_full = profile_mark(p, "[storage full]", NULL);
    return p;
}

struct profile *profile_free(struct profile *p)
{
    if (!p)
        return NULL;
    thread_table_release(&p->threads);
    for (size_t i = 0; i < p->n_processes; i++)
        free((void *)p->processes[i].children);
    free(p->processes);
    free(p->mounts);
    free(p->moments.marks);
    free(p->moments.pauses);
    strings_release(&p->moments.texts);
    index_release(&p->mount_index);
    free(p->locations);
    free(p->located);
    free(p->frames);
    index_release(&p->frame_index);
    free(p->waits);
    index_release(&p->wait_index);
    free(p->lists);
    index_release(&p->list_index);
    free(p->funcs);
    index_release(&p->func_index);
    free(p->modules);
    index_release(&p->module_index);
    metadata_release(&p->metadata);
    stack_tree_release(&p->stacks);
    strings_release(&p->strings);
    free(p);
    return NULL;
}

/* ---- what stacks and names take ---- */

/* In use for stacks, frames, waits and their names, which have half of the limit. */
static size_t stack_bytes(const struct profile *p)
{
    return stack_tree_bytes(&p->stacks) + strings_bytes(&p->strings) +
           p->n_frames * sizeof *p->frames + index_bytes(&p->frame_index) +
           p->n_funcs * sizeof *p->funcs + index_bytes(&p->func_index) +
           p->n_modules * sizeof *p->modules + p->n_locations * sizeof *p->locations +
           p->n_located * sizeof *p->located + p->n_waits * sizeof *p->waits +
           index_bytes(&p->wait_index) + p->n_lists * sizeof *p->lists +
           index_bytes(&p->list_index);
}

/* Of the half, a quarter is left to names that come at the end. */
bool profile_is_full(const struct profile *p)
{
    return p->limit && stack_bytes(p) > p->limit / 8 * 3;
}

static bool names_are_full(const struct profile *p)
{
    return p->limit && stack_bytes(p) > p->limit / 2;
}

string_id profile_string(struct profile *p, const char *s)
{
    return profile_string_n(p, s, strlen(s));
}

string_id profile_string_n(struct profile *p, const char *s, size_t len)
{
    string_id known = strings_find(&p->strings, s, len);
    if (known.ix)
        return known;
    if (!names_are_full(p))
        return strings_add(&p->strings, s, len);
    profile_add_number(p, METRIC_NAMES_REFUSED, 1);
    return profile_get_frame(p, p->storage_full)->mark.name;
}

const char *profile_text(const struct profile *p, string_id id)
{
    if (id.ix & of_a_mark)
        return strings_text(&p->moments.texts, (string_id){id.ix & ~of_a_mark});
    return strings_text(&p->strings, id);
}

const char *profile_text_or_null(const struct profile *p, string_id id)
{
    return id.ix ? profile_text(p, id) : NULL;
}

/* ---- modules, functions, frames ---- */

static uint64_t hash_pair(uint32_t a, uint32_t b)
{
    return hash_u64((uint64_t)a << 32 | b);
}

static bool same_module(const void *item, const void *wanted)
{
    const struct profile_module *a = item;
    const struct profile_module *b = wanted;
    return a->path.ix == b->path.ix && a->bias == b->bias && a->build_id.ix == b->build_id.ix &&
           a->name.ix == b->name.ix && a->file == b->file;
}

module_id profile_module(struct profile *p, const struct profile_module *m)
{
    uint64_t hash = hash_u64(hash_pair(m->path.ix, m->name.ix) ^ m->bias);
    uint32_t item =
        index_find(&p->module_index, hash, p->modules, sizeof *p->modules, same_module, m);
    if (item != INDEX_NONE)
        return (module_id){item + 1};
    p->modules =
        array_reserve(p->modules, &p->modules_capacity, p->n_modules + 1, sizeof *p->modules);
    index_add(&p->module_index, hash, (uint32_t)p->n_modules);
    p->modules[p->n_modules++] = *m;
    return (module_id){(uint32_t)p->n_modules};
}

const struct profile_module *profile_get_module(const struct profile *p, module_id id)
{
    assert(id.ix && id.ix <= p->n_modules);
    return &p->modules[id.ix - 1];
}

static bool same_func(const void *item, const void *wanted)
{
    const struct func *a = item;
    const struct func *b = wanted;
    return a->name.ix == b->name.ix && a->file.ix == b->file.ix && a->first_line == b->first_line;
}

func_id profile_func(struct profile *p, const struct func *f)
{
    uint64_t hash = hash_u64(hash_pair(f->name.ix, f->file.ix) ^ f->first_line);
    uint32_t item = index_find(&p->func_index, hash, p->funcs, sizeof *p->funcs, same_func, f);
    if (item != INDEX_NONE)
        return (func_id){item + 1};
    p->funcs = array_reserve(p->funcs, &p->funcs_capacity, p->n_funcs + 1, sizeof *p->funcs);
    index_add(&p->func_index, hash, (uint32_t)p->n_funcs);
    p->funcs[p->n_funcs++] = *f;
    return (func_id){(uint32_t)p->n_funcs};
}

const struct func *profile_get_func(const struct profile *p, func_id id)
{
    assert(id.ix && id.ix <= p->n_funcs);
    return &p->funcs[id.ix - 1];
}

uint32_t profile_module_count(const struct profile *p)
{
    return (uint32_t)p->n_modules;
}

uint32_t profile_func_count(const struct profile *p)
{
    return (uint32_t)p->n_funcs;
}

/* The words that tell frames of one kind apart. */
enum { FRAME_WORDS = 2 };
static void frame_words(const struct frame *f, uint64_t ret[FRAME_WORDS])
{
    memset(ret, 0, FRAME_WORDS * sizeof *ret);
    switch (f->kind) {
    case FRAME_NATIVE:
        ret[0] = (uint64_t)f->native.name.ix << 32 | f->native.module.ix;
        ret[1] = f->native.offset;
        return;
    case FRAME_PYTHON:
        ret[0] = f->python.func.ix;
        ret[1] = f->python.line;
        return;
    case FRAME_MARK:
        ret[0] = f->mark.name.ix;
        ret[1] = f->mark.file.ix;
        return;
    }
    assert(!"a frame kind");
}

static bool same_frame(const void *item, const void *wanted)
{
    const struct frame *a = item;
    const struct frame *b = wanted;
    if (a->kind != b->kind || a->flags != b->flags)
        return false;
    uint64_t x[FRAME_WORDS];
    uint64_t y[FRAME_WORDS];
    frame_words(a, x);
    frame_words(b, y);
    return memcmp(x, y, sizeof x) == 0;
}

static uint64_t hash_of_frame(const struct frame *f)
{
    uint64_t words[FRAME_WORDS];
    frame_words(f, words);
    return hash_u64(words[1] ^ hash_u64(words[0] << 8 ^ f->flags << 4 ^ f->kind));
}

frame_id profile_frame(struct profile *p, const struct frame *f)
{
    uint64_t hash = hash_of_frame(f);
    uint32_t item = index_find(&p->frame_index, hash, p->frames, sizeof *p->frames, same_frame, f);
    if (item != INDEX_NONE)
        return (frame_id){item + 1};
    if (profile_is_full(p)) {
        profile_add_number(p, METRIC_FRAMES_REFUSED, 1);
        return p->storage_full;
    }
    assert(p->n_frames < UINT32_MAX - 1);
    p->frames = array_reserve(p->frames, &p->frames_capacity, p->n_frames + 1, sizeof *p->frames);
    index_add(&p->frame_index, hash, (uint32_t)p->n_frames);
    p->frames[p->n_frames++] = *f;
    return (frame_id){(uint32_t)p->n_frames};
}

void profile_flag_frame(struct profile *p, frame_id id, uint32_t flags)
{
    assert(id.ix && id.ix <= p->n_frames);
    p->frames[id.ix - 1].flags |= flags;
    /* Its earlier key fits no frame now. */
    index_add(&p->frame_index, hash_of_frame(&p->frames[id.ix - 1]), id.ix - 1);
}

const struct frame *profile_get_frame(const struct profile *p, frame_id id)
{
    assert(id.ix && id.ix <= p->n_frames);
    return &p->frames[id.ix - 1];
}

uint32_t profile_frame_count(const struct profile *p)
{
    return (uint32_t)p->n_frames;
}

frame_id profile_mark(struct profile *p, const char *name, const char *file)
{
    struct frame f = {.kind = FRAME_MARK};
    f.mark.name = profile_string(p, name);
    if (file)
        f.mark.file = profile_string(p, file);
    return profile_frame(p, &f);
}

void profile_locate(struct profile *p, frame_id f, const struct location *loc, size_t n)
{
    assert(n && f.ix && f.ix <= p->n_frames);
    if (p->n_located < f.ix) {
        p->located = array_reserve(p->located, &p->located_capacity, f.ix, sizeof *p->located);
        memset(p->located + p->n_located, 0, (f.ix - p->n_located) * sizeof *p->located);
        p->n_located = f.ix;
    }
    p->locations = array_reserve(p->locations, &p->locations_capacity, p->n_locations + n,
                                 sizeof *p->locations);
    memcpy(p->locations + p->n_locations, loc, n * sizeof *loc);
    p->located[f.ix - 1] = (struct located){p->n_locations, n};
    p->n_locations += n;
}

const struct location *profile_locations(const struct profile *p, frame_id f, size_t *ret_n)
{
    *ret_n = f.ix <= p->n_located ? p->located[f.ix - 1].n : 0;
    return *ret_n ? &p->locations[p->located[f.ix - 1].first] : NULL;
}

/* ---- stacks ---- */

/* PARENT's end where it goes on into something new; where even those are too many, one for all. */
static stack_id storage_full(struct profile *p, stack_id parent)
{
    stack_id s = stack_tree_find(&p->stacks, parent, p->storage_full);
    if (s.ix)
        return s;
    if (parent.ix && stack_bytes(p) > p->limit / 16 * 7)
        return storage_full(p, (stack_id){0});
    return stack_tree_add(&p->stacks, parent, p->storage_full);
}

stack_id profile_push(struct profile *p, stack_id parent, frame_id f)
{
    if (parent.ix && p->limit && profile_stack_frame(p, parent).ix == p->storage_full.ix)
        return parent;
    stack_id s = stack_tree_find(&p->stacks, parent, f);
    if (s.ix)
        return s;
    if (!profile_is_full(p))
        return stack_tree_add(&p->stacks, parent, f);
    profile_add_number(p, METRIC_STACKS_REFUSED, 1);
    return storage_full(p, parent);
}

frame_id profile_stack_frame(const struct profile *p, stack_id s)
{
    return stack_tree_node(&p->stacks, s)->frame;
}

stack_id profile_stack_parent(const struct profile *p, stack_id s)
{
    return stack_tree_node(&p->stacks, s)->parent;
}

uint32_t profile_stack_depth(const struct profile *p, stack_id s)
{
    return s.ix ? stack_tree_node(&p->stacks, s)->depth : 0;
}

uint32_t profile_stack_count(const struct profile *p)
{
    return (uint32_t)p->stacks.n;
}

/* ---- processes, threads, runs ---- */

process_id profile_process(struct profile *p, const struct profile_process *process)
{
    p->processes = array_reserve(p->processes, &p->processes_capacity, p->n_processes + 1,
                                 sizeof *p->processes);
    p->processes[p->n_processes++] = *process;
    return (process_id){(uint32_t)p->n_processes};
}

struct profile_process *profile_get_process(struct profile *p, process_id id)
{
    assert(id.ix && id.ix <= p->n_processes);
    return &p->processes[id.ix - 1];
}

const struct profile_process *profile_see_process(const struct profile *p, process_id id)
{
    assert(id.ix && id.ix <= p->n_processes);
    return &p->processes[id.ix - 1];
}

process_id profile_find_process(const struct profile *p, pid_t pid)
{
    for (uint32_t i = 1; i <= profile_process_count(p); i++)
        if (profile_see_process(p, (process_id){i})->pid == pid)
            return (process_id){i};
    return (process_id){0};
}

void profile_set_children(struct profile *p, process_id id, const struct profile_child *children,
                          size_t n)
{
    struct profile_process *process = profile_get_process(p, id);
    struct profile_child *copy = xcalloc(n, sizeof *copy);
    if (n)
        memcpy(copy, children, n * sizeof *copy);
    free((void *)process->children);
    process->children = copy;
    process->n_children = n;
}

uint32_t profile_process_count(const struct profile *p)
{
    return (uint32_t)p->n_processes;
}

thread_id profile_thread(struct profile *p, process_id process, pid_t tid, string_id name,
                         int64_t start_ns)
{
    return thread_table_add(
        &p->threads, &(struct profile_thread){
                         .process = process, .tid = tid, .name = name, .start_ns = start_ns});
}

struct profile_thread *profile_get_thread(struct profile *p, thread_id id)
{
    return thread_table_get(&p->threads, id);
}

const struct profile_thread *profile_see_thread(const struct profile *p, thread_id id)
{
    return thread_table_get(&p->threads, id);
}

uint32_t profile_thread_count(const struct profile *p)
{
    return (uint32_t)p->threads.n;
}

void profile_add_run(struct profile *p, thread_id id, const struct run *run)
{
    if (thread_table_add_run(&p->threads, id, run))
        return;
    /* No room for another run: time goes on in one run whose stack says so, whatever the state. */
    struct run refused = *run;
    refused.at = (struct spot){.stack = storage_full(p, (stack_id){0})};
    profile_add_number(p, METRIC_RUNS_REFUSED, 1);
    thread_table_force_run(&p->threads, id, &refused);
}

void profile_append_run(struct profile *p, thread_id id, const struct run *run)
{
    thread_table_append_run(&p->threads, id, run);
}

void profile_mark_counts(struct profile *p, thread_id id, int64_t at_ns)
{
    thread_table_mark_counts(&p->threads, id, at_ns);
}

void profile_end_thread(struct profile *p, thread_id id, int64_t end_ns)
{
    thread_table_get(&p->threads, id)->end_ns = end_ns;
    thread_table_get(&p->threads, id)->closed = true;
    thread_table_end(&p->threads, id);
}

int64_t profile_time_step_ns(const struct profile *p)
{
    return p->threads.exact.step_ns;
}

const struct exact_time *profile_exact_time(const struct profile *p)
{
    return &p->threads.exact;
}

void profile_set_origin(struct profile *p, const struct profile_origin *origin)
{
    p->origin = *origin;
}

const struct profile_origin *profile_origin(const struct profile *p)
{
    return &p->origin;
}

void profile_set_exact_time(struct profile *p, const struct exact_time *e)
{
    p->threads.exact = *e;
}

size_t profile_limit(const struct profile *p)
{
    return p->limit;
}

/* ---- the whole ---- */

void profile_end(struct profile *p, int64_t end_ns)
{
    p->end_ns = end_ns;
    for (size_t i = 0; i < p->threads.n; i++)
        if (!p->threads.items[i].ended && !p->threads.items[i].closed)
            p->threads.items[i].end_ns = end_ns;
    thread_table_scale_weights(&p->threads);
    profile_count_threads(p);
}

void profile_count_threads(struct profile *p)
{
    profile_set_number(p, METRIC_TIME_STEP_S, (double)p->threads.exact.step_ns / NS_PER_S);
    profile_set_number(p, METRIC_RING_S, (double)p->threads.keep_ns / NS_PER_S);
    profile_set_number(p, METRIC_THREADS_FOLDED, (double)p->threads.n_folded);
    profile_set_number(p, METRIC_THREADS_WITHOUT_A_SAMPLE, (double)p->threads.n_without_a_run);
}

int64_t profile_end_ns(const struct profile *p)
{
    return p->end_ns;
}

void profile_set_number(struct profile *p, enum metric m, double value)
{
    assert(m > METRIC_NONE && m < METRIC_COUNT);
    p->numbers[m] = value;
}

void profile_add_number(struct profile *p, enum metric m, double delta)
{
    profile_set_number(p, m, profile_number(p, m) + delta);
}

double profile_number(const struct profile *p, enum metric m)
{
    assert(m > METRIC_NONE && m < METRIC_COUNT);
    return p->numbers[m];
}

void profile_set_text(struct profile *p, const char *key, const char *text)
{
    metadata_at(&p->metadata, key)->text = strings_add(&p->strings, text, strlen(text));
}

void profile_forget_metadatum(struct profile *p, const char *key)
{
    metadata_forget(&p->metadata, key);
}

const struct profile_metadatum *profile_metadata(const struct profile *p, size_t *ret_n)
{
    *ret_n = p->metadata.n;
    return p->metadata.items;
}

const char *profile_metadata_text(const struct profile *p, const char *key)
{
    const struct profile_metadatum *fact = metadata_find(&p->metadata, key);
    return fact ? profile_text(p, fact->text) : "";
}
