#include "unwinder/stack_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    MAX_STACKS = 32,           /* those that run at once are few */
    MAX_STACK_FRAMES = 256,    /* the outermost of a stack */
    MAX_STACK_BYTES = 1 << 16, /* the same */
    FIRST_FRAMES = 32,         /* room for so many at first: most stacks are small */
    FIRST_BYTES = 4096,
    BLOCK_BYTES = 256, /* compared at once */
};

/* Both arrays are filled from their ends, so that what lies outside stays where it is. */
struct cached_stack {
    const void *owner; /* NULL: none */
    pid_t tid;
    uint64_t turn;
    uint64_t start, end; /* addresses of the bytes */
    uint8_t *bytes;
    size_t bytes_capacity;
    struct native_frame *frames;
    size_t n, frames_capacity;
};

struct stack_cache {
    struct cached_stack stacks[MAX_STACKS];
    uint64_t turn;
    /* This unwind. */
    const void *owner;
    const struct snapshot *snapshot;
    struct cached_stack *last; /* of its thread; NULL: none */
    bool compared;             /* SAME_FROM is known */
    uint64_t same_from;        /* bytes from here to the stack's end are the same */
    size_t at;     /* frames of the stack before it lie further in than where the walk is */
    size_t joined; /* frames that were taken over */
};

struct stack_cache *stack_cache_new(void)
{
    return xcalloc(1, sizeof(struct stack_cache));
}

struct stack_cache *stack_cache_free(struct stack_cache *c)
{
    for (size_t i = 0; c && i < MAX_STACKS; i++) {
        free(c->stacks[i].bytes);
        free(c->stacks[i].frames);
    }
    free(c);
    return NULL;
}

void stack_cache_forget(struct stack_cache *c, const void *owner)
{
    for (size_t i = 0; i < MAX_STACKS; i++) {
        if (c->stacks[i].owner != owner)
            continue;
        c->stacks[i].owner = NULL;
        c->stacks[i].turn = 0; /* those with memory are taken first again */
    }
    c->last = NULL;
}

void stack_cache_begin(struct stack_cache *c, const void *owner, const struct snapshot *s)
{
    c->owner = owner;
    c->snapshot = s;
    c->last = NULL;
    c->compared = false;
    c->at = c->joined = 0;
    for (size_t i = 0; s->stack && i < MAX_STACKS; i++)
        if (c->stacks[i].owner == owner && c->stacks[i].tid == s->tid)
            c->last = &c->stacks[i];
}

/* Frame I, counted outwards. */
static struct native_frame *frame_at(const struct cached_stack *c, size_t i)
{
    return &c->frames[c->frames_capacity - c->n + i];
}

static uint8_t *byte_at(const struct cached_stack *c, uint64_t addr)
{
    return &c->bytes[c->bytes_capacity - (c->end - addr)];
}

/* From which address on are the bytes up to the stack's end the same? */
static uint64_t find_same(const struct cached_stack *last, const struct snapshot *s)
{
    uint64_t low = last->start > s->stack_start ? last->start : s->stack_start;
    uint64_t at = last->end;
    if (s->stack_start > last->end || last->end - s->stack_start > s->stack_bytes)
        return UINT64_MAX;
    while (at > low) {
        uint64_t n = at - low < BLOCK_BYTES ? at - low : BLOCK_BYTES;
        const uint8_t *then = byte_at(last, at - n);
        const uint8_t *now = s->stack + (at - n - s->stack_start);
        if (memcmp(then, now, n) == 0) {
            at -= n;
            continue;
        }
        while (then[n - 1] == now[n - 1]) {
            n--;
            at--;
        }
        break;
    }
    return at;
}

static bool same_registers(const struct regs *a, const struct regs *b)
{
    bool same = a->known == b->known;
    for (unsigned i = 0; same && i < REG_COUNT; i++)
        same = !(a->known & REG_BIT(i)) || a->r[i] == b->r[i];
    return same;
}

bool stack_cache_join(struct stack_cache *c, struct native_stack *out, struct stack_view *view,
                      bool *at_root)
{
    const struct cached_stack *last = c->last;
    const struct native_frame *f = &out->frames[out->n - 1];
    while (last && c->at < last->n && frame_at(last, c->at)->sp < f->sp)
        c->at++;
    if (!last || c->at == last->n)
        return false;
    const struct native_frame *then = frame_at(last, c->at);
    if (!f->is_call || !then->is_call || then->pc != f->pc ||
        !same_registers(&then->regs, &f->regs))
        return false;
    if (!c->compared)
        c->same_from = find_same(last, c->snapshot);
    c->compared = true;
    size_t n = last->n - c->at;
    if (c->same_from == UINT64_MAX || f->sp < c->same_from || out->capacity - out->n + 1 < n)
        return false;
    memcpy(&out->frames[out->n - 1], then, n * sizeof *then);
    out->n += n - 1;
    c->joined = n - 1;
    *at_root = true;
    if (view->used < last->end - view->start)
        view->used = last->end - view->start;
    return true;
}

/* The thread's own, or the oldest; of those forgotten the first, which has memory. */
static struct cached_stack *choose(struct stack_cache *c)
{
    struct cached_stack *oldest = &c->stacks[0];
    if (c->last)
        return c->last;
    for (size_t i = 1; i < MAX_STACKS; i++)
        if (c->stacks[i].turn < oldest->turn)
            oldest = &c->stacks[i];
    return oldest;
}

/* The outermost frames that follow from one another by exact rules, as many as are kept. */
static size_t count_exact(const struct native_stack *out)
{
    size_t n = 0;
    while (n < out->n && n < MAX_STACK_FRAMES && out->frames[out->n - 1 - n].trust == FRAME_EXACT)
        n++;
    return n;
}

/* ARRAY with room for N items of SIZE at least; what it has stays at its end. */
static void *grown(void *array, size_t *capacity, size_t n, size_t first, size_t size)
{
    size_t more = *capacity ? *capacity : first;
    while (more < n)
        more *= 2;
    if (more == *capacity)
        return array;
    uint8_t *ret = xmalloc(more * size);
    if (*capacity)
        memcpy(ret + (more - *capacity) * size, array, *capacity * size);
    free(array);
    *capacity = more;
    return ret;
}

/* The equal frames, and those that were taken over, are there already. */
static void keep(struct stack_cache *c, struct cached_stack *stack, const struct native_stack *out,
                 uint64_t end)
{
    const struct snapshot *s = c->snapshot;
    bool same_end = stack == c->last && c->compared && stack->end == end && c->same_from <= end;
    uint64_t copy_end = same_end ? c->same_from : end;
    size_t kept = same_end && c->joined ? c->joined + 1 : 0;
    size_t n = count_exact(out);
    uint64_t start = s->stack_start;
    if (end - start > MAX_STACK_BYTES)
        start = end - MAX_STACK_BYTES;
    stack->bytes = grown(stack->bytes, &stack->bytes_capacity, end - start, FIRST_BYTES, 1);
    stack->frames =
        grown(stack->frames, &stack->frames_capacity, n, FIRST_FRAMES, sizeof *stack->frames);
    stack->owner = c->owner;
    stack->tid = s->tid;
    stack->start = start;
    stack->end = end;
    stack->n = n;
    if (copy_end > start)
        memcpy(byte_at(stack, start), s->stack + (start - s->stack_start), copy_end - start);
    if (n > kept)
        memcpy(frame_at(stack, 0), &out->frames[out->n - n], (n - kept) * sizeof *stack->frames);
}

size_t stack_cache_end(struct stack_cache *c, const struct native_stack *out,
                       const struct stack_view *view, bool sound)
{
    if (c->snapshot->stack && sound && !view->elsewhere) {
        struct cached_stack *stack = choose(c);
        stack->turn = ++c->turn;
        keep(c, stack, out, view->start + view->used);
    }
    c->snapshot = NULL;
    c->last = NULL;
    return c->joined;
}
