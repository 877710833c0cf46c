#include "pyframes/py_code_store.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_FRAMES = 1 << 18 };

struct py_code_store {
    struct map by_hash; /* → address; of several with one hash the first */
    struct py_lines *first;
    size_t n_frames; /* in all maps */
    uint8_t *scratch;
    size_t scratch_bytes;
};

struct py_code_store *py_code_store_new(void)
{
    return xcalloc(1, sizeof(struct py_code_store));
}

struct py_code_store *py_code_store_free(struct py_code_store *s)
{
    if (!s)
        return NULL;
    map_release(&s->by_hash);
    free(s->scratch);
    free(s);
    return NULL;
}

static uint64_t hash_of(const struct py_lines *l)
{
    uint64_t place = (uint64_t)l->func.ix << 32 | (uint32_t)l->first_line;
    return hash_u64(hash_bytes(l->table, l->table_len) ^ place) ^ l->kind;
}

static bool is_same(const struct py_lines *a, const struct py_lines *b)
{
    return a->func.ix == b->func.ix && a->kind == b->kind && a->first_line == b->first_line &&
           a->table_len == b->table_len && memcmp(a->table, b->table, a->table_len) == 0;
}

static struct py_lines *find_lines(const struct py_code_store *s, uint64_t hash)
{
    uint64_t addr;
    return map_get(&s->by_hash, hash, &addr) ? (struct py_lines *)(uintptr_t)addr : NULL;
}

struct py_lines *py_lines_take(struct py_code_store *s, const struct py_lines *wanted)
{
    uint64_t hash = hash_of(wanted);
    struct py_lines *known = find_lines(s, hash);
    if (known && is_same(known, wanted)) {
        free(wanted->table);
        known->users++;
        return known;
    }
    struct py_lines *lines = xmalloc(sizeof *lines);
    *lines = *wanted;
    lines->frames = (struct map){0};
    lines->users = 1;
    lines->hash = hash;
    lines->store = s;
    lines->before = NULL;
    lines->after = s->first;
    if (s->first)
        s->first->before = lines;
    s->first = lines;
    if (!known)
        map_put(&s->by_hash, hash, (uintptr_t)lines);
    return lines;
}

void py_lines_keep(struct py_lines *lines, uint32_t offset, frame_id frame)
{
    lines->store->n_frames -= lines->frames.n;
    map_put(&lines->frames, offset, frame.ix);
    lines->store->n_frames += lines->frames.n;
}

void py_code_store_trim(struct py_code_store *s)
{
    if (s->n_frames <= MAX_FRAMES)
        return;
    for (struct py_lines *l = s->first; l; l = l->after)
        map_release(&l->frames);
    s->n_frames = 0;
}

size_t py_code_store_frames(const struct py_code_store *s)
{
    return s->n_frames;
}

struct py_lines *py_lines_drop(struct py_lines *lines)
{
    if (!lines || --lines->users)
        return NULL;
    struct py_code_store *s = lines->store;
    *(lines->before ? &lines->before->after : &s->first) = lines->after;
    if (lines->after)
        lines->after->before = lines->before;
    s->n_frames -= lines->frames.n;
    if (find_lines(s, lines->hash) == lines)
        map_remove(&s->by_hash, lines->hash);
    free(lines->table);
    map_release(&lines->frames);
    free(lines);
    return NULL;
}

uint8_t *py_code_store_scratch(struct py_code_store *s, size_t bytes)
{
    s->scratch = array_reserve(s->scratch, &s->scratch_bytes, bytes, 1);
    return s->scratch;
}
