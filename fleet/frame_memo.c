#include "fleet/frame_memo.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { MOST_ENTRIES = 1 << 14, MOST_RAW_BYTES = 1024, MOST_DIGITS = 18 };
static const char before_address[] = "\"address\":\"";

struct memo_entry {
    char *raw;           /* without the address's digits */
    uint16_t head, tail; /* bytes before them, and behind */
    struct memo_frame frame;
    uint32_t next[MEMO_WAYS]; /* items + 1, the last ones first */
};

void frame_memo_begin(struct frame_memo *m)
{
    m->at = 0;
}

static uint32_t *ways_from(struct frame_memo *m)
{
    return m->at ? m->items[m->at - 1].next : m->beginnings;
}

/* The first bytes behind the digits at S, of LEFT bytes. */
static size_t count_digits(const char *s, size_t left)
{
    size_t n = 0;
    while (n < left && n < MOST_DIGITS &&
           ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f') || s[n] == 'x'))
        n++;
    return n;
}

/* How long the object at S, of LEFT bytes, is if it is E; 0: it is another one. */
static size_t match(const struct memo_entry *e, const char *s, size_t left)
{
    if (left < (size_t)e->head + MOST_DIGITS + e->tail || memcmp(s, e->raw, e->head) != 0)
        return 0;
    size_t digits = e->tail ? count_digits(s + e->head, MOST_DIGITS) : 0;
    const char *tail = s + e->head + digits;
    return memcmp(tail, e->raw + e->head, e->tail) == 0 ? e->head + digits + e->tail : 0;
}

/* Makes ITEM the first of WAYS, in which it is number AT. */
static void prefer(uint32_t *ways, size_t at, uint32_t item)
{
    memmove(ways + 1, ways, at * sizeof *ways);
    ways[0] = item;
}

bool frame_memo_take(struct frame_memo *m, struct byte_source *s, struct memo_frame *ret)
{
    uint32_t *ways = ways_from(m);
    size_t left = (size_t)(s->end - s->at);
    for (size_t i = 0; i < MEMO_WAYS && ways[i]; i++) {
        uint32_t item = ways[i];
        size_t len = match(&m->items[item - 1], s->at, left);
        if (!len)
            continue;
        prefer(ways, i, item);
        s->at += len;
        m->at = item;
        *ret = m->items[item - 1].frame;
        return true;
    }
    return false;
}

void frame_memo_add(struct frame_memo *m, const char *raw, size_t len,
                    const struct memo_frame *frame)
{
    if (len > MOST_RAW_BYTES || m->n == MOST_ENTRIES)
        return;
    const char *address = memmem(raw, len, before_address, sizeof before_address - 1);
    size_t head = address ? (size_t)(address - raw) + sizeof before_address - 1 : len;
    size_t digits = address ? count_digits(raw + head, len - head) : 0;
    struct memo_entry e = {.raw = xmalloc(len),
                           .head = (uint16_t)head,
                           .tail = (uint16_t)(len - head - digits),
                           .frame = *frame};
    memcpy(e.raw, raw, head);
    memcpy(e.raw + head, raw + head + digits, e.tail);
    m->items = array_reserve(m->items, &m->capacity, m->n + 1, sizeof *m->items);
    m->items[m->n++] = e;
    prefer(ways_from(m), MEMO_WAYS - 1, (uint32_t)m->n);
    m->at = (uint32_t)m->n;
}

void frame_memo_release(struct frame_memo *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->items[i].raw);
    free(m->items);
    *m = (struct frame_memo){0};
}
