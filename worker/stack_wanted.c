#include "worker/stack_wanted.h"

#include "base/minmax.h"

enum {
    STEP_BYTES = 4096,
    LEAST_BYTES = 16384, /* read in 1.2 µs; half of numpy's stacks need 13 kB */
    FADES_BY = 32,       /* per sample */
    MOST_BYTES = 8 << 20,
    GAP_BYTES = 64 * 1024,         /* copied in 3 µs, as long as another part takes */
    TOP_BYTES = 1024,              /* of a frame: what it saved of its caller's */
    MORE_BYTES = 16 * 1024,        /* above what was cut: the next frames */
    PARTS_MOST_BYTES = 256 * 1024, /* of all of them */
    MAX_AGE = 200,
};

/* NEEDED bytes, more than there were if CUT; deep stacks come back, so BEFORE fades. */
static uint32_t next_bytes(uint64_t needed, bool cut, uint64_t before, uint64_t least)
{
    uint64_t wanted = cut ? needed * 2 : max_u64(needed + needed / 4, before - before / FADES_BY);
    wanted = max_u64((wanted + STEP_BYTES) / STEP_BYTES * STEP_BYTES, least);
    return (uint32_t)(wanted < MOST_BYTES ? wanted : MOST_BYTES);
}

/* The parts that one stack needs, by address: from sp on, and above large frames. */
struct extents {
    struct {
        uint64_t start, end;
    } items[FEEDBACK_RANGES + 1];
    size_t n;
    bool too_many;
};

/* Frames rise: what does not lie behind the last is there, or on another stack. */
static void need(struct extents *e, uint64_t start, uint64_t end)
{
    uint64_t *last = &e->items[e->n - 1].end;
    if (end <= *last)
        return;
    if (start <= *last || start - *last <= GAP_BYTES) {
        *last = end;
        return;
    }
    e->too_many |= e->n > FEEDBACK_RANGES;
    if (e->too_many)
        return;
    e->items[e->n].start = start;
    e->items[e->n++].end = end;
}

static struct extents find_extents(const struct native_stack *native, const struct snapshot *s)
{
    uint64_t start = s->stack_start;
    struct extents e = {.n = 1};
    e.items[0].start = e.items[0].end = start;
    for (size_t i = 0; i < native->n; i++) {
        const struct native_frame *f = &native->frames[i];
        if (f->sp < start || f->cfa <= f->sp || f->cfa - start > MOST_BYTES)
            continue;
        /* A guess looked through all of it. */
        bool top = f->trust == FRAME_EXACT && f->cfa - f->sp > TOP_BYTES;
        need(&e, top ? f->cfa - TOP_BYTES : f->sp, f->cfa);
    }
    if (native->end != UNWIND_STACK_CUT)
        return e;
    uint64_t wanted = start + native->stack_needed;
    need(&e, max_u64(start, wanted - TOP_BYTES), wanted);
    uint64_t had = e.items[e.n - 1].end - e.items[e.n - 1].start;
    e.items[e.n - 1].end += e.n > 1 ? max_u64(MORE_BYTES, had) : 0;
    return e;
}

static bool touch(const struct stack_range *a, const struct stack_range *b)
{
    return a->addr <= b->addr + b->len && b->addr <= a->addr + a->len;
}

/* The range to read next time: this capture needed A, earlier ones needed B. */
static struct stack_range join(const struct stack_range *a, const struct stack_range *b)
{
    uint64_t start = a->addr < b->addr ? a->addr : b->addr;
    uint64_t end = max_u64(a->addr + a->len, b->addr + b->len);
    bool same = end - start == a->len;
    if (b->age >= MAX_AGE || end - start > PARTS_MOST_BYTES)
        return *a;
    return (struct stack_range){start, (uint32_t)(end - start), (uint8_t)(same ? 0 : b->age + 1)};
}

static struct stack_range part_of(uint64_t start, uint64_t end)
{
    const uint64_t mask = STACK_RANGE_UNIT_BYTES - 1;
    start &= ~mask;
    return (struct stack_range){start, (uint32_t)(((end + mask) & ~mask) - start), 0};
}

/* The thread may be back soon where it was before. */
static size_t keep_older(struct stack_range *parts, size_t n, const struct stack_range *before,
                         size_t n_before)
{
    const size_t n_new = n;
    for (size_t i = 0; i < n_before; i++) {
        size_t k = 0;
        while (k < n_new && !touch(&parts[k], &before[i]))
            k++;
        if (k < n_new) {
            parts[k] = join(&parts[k], &before[i]);
        } else if (n < FEEDBACK_RANGES && before[i].age < MAX_AGE) {
            parts[n] = before[i];
            parts[n++].age++;
        }
    }
    return n;
}

static void send_parts(struct feedback *f, uint32_t thread_no, const struct native_stack *native,
                       const struct snapshot *s)
{
    struct stack_range parts[FEEDBACK_RANGES];
    struct stack_range before[FEEDBACK_RANGES];
    uint32_t near_before = feedback_read_bytes(f, thread_no);
    struct extents e = find_extents(native, s);
    if (e.n == 1 && !near_before)
        return;
    size_t n_before = near_before ? feedback_ranges(f, thread_no, before) : 0;
    uint64_t bytes = 0;
    size_t n = e.n - 1;
    for (size_t i = 0; i < n; i++) {
        parts[i] = part_of(e.items[i + 1].start, e.items[i + 1].end);
        bytes += parts[i].len;
    }
    if (e.too_many || s->other_bytes || bytes > PARTS_MOST_BYTES) {
        feedback_want_ranges(f, thread_no, 0, NULL, 0);
        return;
    }
    n = keep_older(parts, n, before, n_before);
    bool near_cut = native->end == UNWIND_STACK_CUT && e.n == 1;
    uint32_t near = next_bytes(e.items[0].end - e.items[0].start, near_cut, near_before, GAP_BYTES);
    feedback_want_ranges(f, thread_no, n ? near : 0, parts, n);
}

void stack_wanted_send(struct feedback *f, uint32_t thread_no, const struct native_stack *native,
                       const struct snapshot *s)
{
    bool cut = native->end == UNWIND_STACK_CUT;
    uint64_t needed = cut ? max_u64(native->stack_needed, s->stack_bytes) : native->stack_needed;
    feedback_want_stack(f, thread_no,
                        next_bytes(needed, cut, feedback_stack(f, thread_no), LEAST_BYTES));
    send_parts(f, thread_no, native, s);
}
