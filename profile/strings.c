#include "profile/strings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { HEAP_BYTES = 16 }; /* the cost of an allocation, about: malloc's head and rounding */

struct interned_string {
    char *text;
    size_t len;
};

struct text_span {
    const char *text;
    size_t len;
};

static bool same_string(const void *item, const void *wanted)
{
    const struct interned_string *a = item;
    const struct text_span *b = wanted;
    return a->len == b->len && memcmp(a->text, b->text, b->len) == 0;
}

static uint32_t find_string(const struct strings *t, uint64_t hash, const struct text_span *wanted)
{
    return index_find(&t->index, hash, t->items, sizeof *t->items, same_string, wanted);
}

string_id strings_find(const struct strings *t, const char *s, size_t len)
{
    struct text_span wanted = {s, strnlen(s, len)};
    uint32_t item = find_string(t, hash_bytes(s, wanted.len), &wanted);
    return (string_id){item == INDEX_NONE ? 0 : item + 1};
}

string_id strings_add(struct strings *t, const char *s, size_t len)
{
    struct text_span wanted = {s, strnlen(s, len)};
    uint64_t hash = hash_bytes(s, wanted.len);
    uint32_t item = find_string(t, hash, &wanted);
    if (item != INDEX_NONE)
        return (string_id){item + 1};
    assert(t->n < STRINGS_MOST);
    t->items = array_reserve(t->items, &t->capacity, t->n + 1, sizeof *t->items);
    char *copy = xmalloc(wanted.len + 1);
    memcpy(copy, s, wanted.len);
    copy[wanted.len] = '\0';
    index_add(&t->index, hash, (uint32_t)t->n);
    t->text_bytes += wanted.len + 1 + HEAP_BYTES;
    t->items[t->n++] = (struct interned_string){copy, wanted.len};
    return (string_id){(uint32_t)t->n};
}

const char *strings_text(const struct strings *t, string_id id)
{
    if (!id.ix)
        return "";
    assert(id.ix <= t->n);
    return t->items[id.ix - 1].text;
}

size_t strings_bytes(const struct strings *t)
{
    return t->text_bytes + t->n * sizeof *t->items + index_bytes(&t->index);
}

void strings_release(struct strings *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->items[i].text);
    free(t->items);
    index_release(&t->index);
    *t = (struct strings){0};
}
