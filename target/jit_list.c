#include "target/jit_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/hash.h"

enum { VERSION = 1, TRIES = 3 };

/* struct jit_descriptor and struct jit_code_entry. */
enum {
    HEAD_BYTES = 24,
    HEAD_VERSION = 0,
    HEAD_RELEVANT = 8,
    HEAD_FIRST = 16,
    LINK_BYTES = 32,
    LINK_NEXT = 0,
    LINK_FILE = 16,
    LINK_FILE_BYTES = 24,
};

/* Of the descriptor in SEEN, 0 if it is not one. */
static uint64_t first_link(const uint8_t *seen)
{
    return get_u32(seen + HEAD_VERSION) == VERSION ? get_u64(seen + HEAD_FIRST) : 0;
}

/* The descriptor, and the link that it led to last time.  Compilers put new links first, and
 * name in the descriptor the link that comes or goes.  If both are as they were, so is the list. */
static void read_heads(const struct jit_list *l, struct mem *mem, uint8_t *seen)
{
    static_assert(HEAD_BYTES + LINK_BYTES <= sizeof l->seen, "no room for what is compared");
    uint64_t first = first_link(l->seen);
    struct mem_span spans[] = {{l->descriptor, seen, HEAD_BYTES},
                               {first, seen + HEAD_BYTES, LINK_BYTES}};
    memset(seen, 0, sizeof l->seen);
    size_t got = mem_read_spans(mem, spans, first ? 2 : 1);
    if (got < HEAD_BYTES)
        memset(seen, 0, sizeof l->seen);
    else if (got < HEAD_BYTES + LINK_BYTES)
        memset(seen + HEAD_BYTES, 0, LINK_BYTES);
}

/* Follows the links.  Returns whether it came to the end. */
static bool walk(struct jit_list *l, struct mem *mem, uint64_t first)
{
    struct map visited = {0};
    uint64_t ignored;
    bool end = false;
    l->n = 0;
    for (uint64_t at = first; !(end = at == 0) && l->n < MAX_JIT_OBJECTS;) {
        uint8_t link[LINK_BYTES];
        if (map_get(&visited, at, &ignored) || mem_read(mem, at, link, sizeof link) < 0)
            break;
        map_put(&visited, at, 1);
        l->items = array_reserve(l->items, &l->capacity, l->n + 1, sizeof *l->items);
        l->items[l->n++] =
            (struct jit_object){at, {get_u64(link + LINK_FILE), get_u64(link + LINK_FILE_BYTES)}};
        at = get_u64(link + LINK_NEXT);
    }
    map_release(&visited);
    return end;
}

bool jit_list_refresh(struct jit_list *l, struct mem *mem)
{
    uint8_t seen[sizeof l->seen];
    read_heads(l, mem, seen);
    if (l->whole && memcmp(seen, l->seen, sizeof seen) == 0)
        return false;
    for (int i = 0; i < TRIES; i++) {
        memcpy(l->seen, seen, sizeof seen);
        l->whole = walk(l, mem, first_link(seen));
        read_heads(l, mem, seen);
        if (l->whole && memcmp(seen, l->seen, HEAD_BYTES) == 0)
            break;
        l->whole = false;
    }
    memcpy(l->seen, seen, sizeof seen);
    return true;
}

void jit_list_release(struct jit_list *l)
{
    free(l->items);
    *l = (struct jit_list){0};
}
