#include "unwinder/trail.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    MAX_TRAILS = 16,           /* those that run at once are few */
    MAX_TRAIL_FRAMES = 256,    /* the outermost of a stack */
    MAX_TRAIL_BYTES = 1 << 16, /* the same */
    BLOCK_BYTES = 256,         /* compared at once */
};

/* Both arrays are filled from their ends, so that what lies outside stays where it is. */
struct trail {
    pid_t tid; /* 0: none */
    uint64_t turn;
    uint64_t start, end; /* addresses of the bytes */
    uint8_t *bytes;
    struct native_frame *frames;
    size_t n;
};

struct trails {
    struct trail trails[MAX_TRAILS];
    uint64_t turn;
    /* This unwind. */
    const struct snapshot *snapshot;
    struct trail *last; /* of its thread; NULL: none */
    bool compared;      /* SAME_FROM is known */
    uint64_t same_from; /* bytes from here to the trail's end are the same */
    size_t at;          /* frames of the trail before it lie further in than where the walk is */
    size_t joined;      /* frames that were taken over */
};

struct trails *trails_new(void)
{
    return xcalloc(1, sizeof(struct trails));
}

struct trails *trails_free(struct trails *t)
{
    for (size_t i = 0; t && i < MAX_TRAILS; i++) {
        free(t->trails[i].bytes);
        free(t->trails[i].frames);
    }
    free(t);
    return NULL;
}

void trails_forget(struct trails *t)
{
    for (size_t i = 0; i < MAX_TRAILS; i++)
        t->trails[i].tid = 0;
    t->last = NULL;
}

void trails_begin(struct trails *t, const struct snapshot *s)
{
    t->snapshot = s;
    t->last = NULL;
    t->compared = false;
    t->at = t->joined = 0;
    for (size_t i = 0; s->stack && i < MAX_TRAILS; i++)
        if (t->trails[i].tid && t->trails[i].tid == s->tid)
            t->last = &t->trails[i];
}

/* Frame I, counted outwards. */
static struct native_frame *frame_at(const struct trail *t, size_t i)
{
    return &t->frames[MAX_TRAIL_FRAMES - t->n + i];
}

static uint8_t *byte_at(const struct trail *t, uint64_t addr)
{
    return &t->bytes[MAX_TRAIL_BYTES - (t->end - addr)];
}

/* From which address on are the bytes up to the trail's end the same? */
static uint64_t find_same(const struct trail *last, const struct snapshot *s)
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
    for (unsigned i = 0; same && i < X86_COUNT; i++)
        same = !(a->known & 1U << i) || a->r[i] == b->r[i];
    return same;
}

bool trails_join(struct trails *t, struct native_stack *out, struct stack_view *view, bool *at_root)
{
    const struct trail *last = t->last;
    const struct native_frame *f = &out->frames[out->n - 1];
    while (last && t->at < last->n && frame_at(last, t->at)->sp < f->sp)
        t->at++;
    if (!last || t->at == last->n)
        return false;
    const struct native_frame *then = frame_at(last, t->at);
    if (!f->is_call || !then->is_call || then->pc != f->pc ||
        !same_registers(&then->regs, &f->regs))
        return false;
    if (!t->compared)
        t->same_from = find_same(last, t->snapshot);
    t->compared = true;
    size_t n = last->n - t->at;
    if (f->sp < t->same_from || out->capacity - out->n + 1 < n)
        return false;
    memcpy(&out->frames[out->n - 1], then, n * sizeof *then);
    out->n += n - 1;
    t->joined = n - 1;
    *at_root = true;
    if (view->used < last->end - view->start)
        view->used = last->end - view->start;
    return true;
}

static struct trail *choose(struct trails *t)
{
    struct trail *oldest = &t->trails[0];
    if (t->last)
        return t->last;
    for (size_t i = 1; i < MAX_TRAILS; i++)
        if (t->trails[i].turn < oldest->turn)
            oldest = &t->trails[i];
    return oldest;
}

/* The outermost frames that follow from one another by exact rules, as many as are kept. */
static size_t count_exact(const struct native_stack *out)
{
    size_t n = 0;
    while (n < out->n && n < MAX_TRAIL_FRAMES && out->frames[out->n - 1 - n].trust == FRAME_EXACT)
        n++;
    return n;
}

/* What was the same, and the frames that were taken over, are there already. */
static void keep(struct trails *t, struct trail *trail, const struct native_stack *out,
                 uint64_t end)
{
    const struct snapshot *s = t->snapshot;
    bool same_end = trail == t->last && t->compared && trail->end == end && t->same_from <= end;
    uint64_t copy_end = same_end ? t->same_from : end;
    size_t kept = same_end && t->joined ? t->joined + 1 : 0;
    size_t n = count_exact(out);
    uint64_t start = s->stack_start;
    if (end - start > MAX_TRAIL_BYTES)
        start = end - MAX_TRAIL_BYTES;
    if (!trail->bytes) {
        trail->bytes = xmalloc(MAX_TRAIL_BYTES);
        trail->frames = xmalloc(MAX_TRAIL_FRAMES * sizeof *trail->frames);
    }
    trail->tid = s->tid;
    trail->start = start;
    trail->end = end;
    trail->n = n;
    if (copy_end > start)
        memcpy(byte_at(trail, start), s->stack + (start - s->stack_start), copy_end - start);
    if (n > kept)
        memcpy(frame_at(trail, 0), &out->frames[out->n - n], (n - kept) * sizeof *trail->frames);
}

size_t trails_end(struct trails *t, const struct native_stack *out, const struct stack_view *view,
                  bool sound)
{
    if (t->snapshot->stack && sound && !view->elsewhere) {
        struct trail *trail = choose(t);
        trail->turn = ++t->turn;
        keep(t, trail, out, view->start + view->used);
    }
    t->snapshot = NULL;
    t->last = NULL;
    return t->joined;
}
