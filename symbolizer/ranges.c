#include "symbolizer/ranges.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "base/search.h"

bool ranges_add(struct ranges *r, uint64_t start, uint64_t end, uint32_t item)
{
    if (r->n >= MAX_RANGES)
        return false;
    if (start >= end)
        return true;
    r->items = array_reserve(r->items, &r->capacity, r->n + 1, sizeof *r->items);
    r->items[r->n++] = (struct range){start, end, item};
    return true;
}

static int outer_first(const void *a, const void *b)
{
    const struct range *x = a;
    const struct range *y = b;
    int order = compare_u64(x->start, y->start);
    if (!order)
        order = compare_u64(y->end, x->end);
    return order ? order : compare_u64(x->item, y->item);
}

static void emit(struct ranges *out, uint64_t *pos, uint64_t end, uint32_t item)
{
    if (*pos >= end)
        return;
    out->items = array_reserve(out->items, &out->capacity, out->n + 1, sizeof *out->items);
    out->items[out->n++] = (struct range){*pos, end, item};
    *pos = end;
}

/* Cuts the nested ranges into disjoint ones, so that a look-up is one binary search: a sweep by
 * address with the ranges that are open, the innermost on top.
 *
 *   outer  |-------------------|          outer |--|    |-----|    |--|
 *   inner     |---|     |---|      →      inner    |----|     |----|            */
void ranges_finish(struct ranges *r)
{
    if (!r->n)
        return;
    qsort(r->items, r->n, sizeof *r->items, outer_first);
    struct ranges flat = {0};
    struct range *open = xmalloc(r->n * sizeof *open);
    size_t depth = 0;
    uint64_t pos = 0;
    for (size_t i = 0; i < r->n; i++) {
        for (; depth && open[depth - 1].end <= r->items[i].start; depth--)
            emit(&flat, &pos, open[depth - 1].end, open[depth - 1].item);
        if (depth)
            emit(&flat, &pos, r->items[i].start, open[depth - 1].item);
        pos = r->items[i].start;
        open[depth++] = r->items[i];
    }
    for (; depth; depth--)
        emit(&flat, &pos, open[depth - 1].end, open[depth - 1].item);
    free(open);
    free(r->items);
    *r = flat;
}

uint32_t ranges_find(const struct ranges *r, uint64_t addr)
{
    size_t n = COUNT_UP_TO(r->items, r->n, start, addr);
    return n && addr < r->items[n - 1].end ? r->items[n - 1].item : RANGES_NONE;
}

void ranges_release(struct ranges *r)
{
    free(r->items);
    *r = (struct ranges){0};
}
