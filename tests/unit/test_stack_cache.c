/* Stacks whose outer part was walked before come out as if it had not been.  They are this
 * thread's own, from within calls that change at one end, and the same with some of their bytes
 * changed. */
#include "unwinder/stack_cache.h"

#include <malloc.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/check_main.h"

enum { DEPTH = 24, ROUNDS = 400, FLIPS = 40 };

static struct mem *mem;
static struct modules *modules;
static struct unwinder *keeping, *forgetting;
static struct native_stack kept, fresh;
static uint8_t *copy;
static uint64_t state = 88172645463325252U;

static uint64_t random_word(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void set_up(void)
{
    ck_assert_int_eq(mem_live_open(&mem, getpid(), NULL), 0);
    modules = modules_new(getpid(), mem);
    ck_assert_int_eq(modules_refresh(modules), 0);
    keeping = unwinder_new(modules);
    forgetting = unwinder_new(modules);
    kept.capacity = fresh.capacity = UNWIND_MAX_FRAMES;
    kept.frames = xcalloc(kept.capacity, sizeof *kept.frames);
    fresh.frames = xcalloc(fresh.capacity, sizeof *fresh.frames);
}

static void tear_down(void)
{
    unwinder_free(keeping);
    unwinder_free(forgetting);
    modules_free(modules);
    mem_free(mem);
    free(kept.frames);
    free(fresh.frames);
    free(copy);
    copy = NULL;
}

static void assert_same_frames(void)
{
    ck_assert_int_eq(kept.end, fresh.end);
    ck_assert_uint_eq(kept.n, fresh.n);
    ck_assert_uint_eq(kept.stack_needed, fresh.stack_needed);
    for (size_t i = 0; i < kept.n; i++) {
        const struct native_frame *a = &kept.frames[i];
        const struct native_frame *b = &fresh.frames[i];
        ck_assert(a->pc == b->pc && a->sp == b->sp && a->cfa == b->cfa && a->trust == b->trust);
        ck_assert(a->function == b->function && a->is_call == b->is_call);
        ck_assert_uint_eq(a->regs.known, b->regs.known);
        for (unsigned r = 0; r < X86_COUNT; r++)
            ck_assert(!(a->regs.known & 1U << r) || a->regs.r[r] == b->regs.r[r]);
    }
}

static void run_both(const struct snapshot *s)
{
    unwinder_maps_same(forgetting);
    unwinder_run(forgetting, s, &fresh);
    unwinder_run(keeping, s, &kept);
    assert_same_frames();
}

/* This thread, from here to the end of its stack. */
static struct snapshot here(const ucontext_t *context)
{
    static const int places[X86_COUNT] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                          REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                          REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    struct snapshot s = {.tid = getpid(), .regs.known = (1U << X86_COUNT) - 1};
    for (int i = 0; i < X86_COUNT; i++)
        s.regs.r[i] = (uint64_t)context->uc_mcontext.gregs[places[i]];
    s.stack_start = s.regs.r[X86_RSP];
    s.stack_bytes = maps_find(modules_maps(modules), s.stack_start)->end - s.stack_start;
    copy = xrealloc(copy, s.stack_bytes);
    ck_assert_int_eq(mem_read(mem, s.stack_start, copy, s.stack_bytes), 0);
    s.stack = copy;
    return s;
}

/* Also as a capture without a stop, which knows no other register. */
static void flip_and_compare(struct snapshot *s)
{
    for (int i = 0; i < FLIPS; i++) {
        uint64_t used = kept.stack_needed ? kept.stack_needed : s->stack_bytes;
        uint64_t at = random_word() % used;
        uint8_t before = copy[at];
        copy[at] ^= (uint8_t)(1U << random_word() % 8);
        s->regs.known = i % 3 ? (1U << X86_COUNT) - 1 : 1U << X86_PC | 1U << X86_RSP;
        run_both(s);
        if (i % 2)
            copy[at] = before;
    }
}

static bool flipping;
__attribute__((noinline)) static uint64_t compare_here(void)
{
    ucontext_t context = {0}; /* it leaves some registers out */
    getcontext(&context);
    struct snapshot s = here(&context);
    run_both(&s);
    ck_assert_int_eq(kept.end, UNWIND_DONE);
    ck_assert_uint_gt(kept.n, DEPTH);
    if (flipping)
        flip_and_compare(&s);
    return kept.n;
}

/* Bit n: which of the two is called at depth n.  It is no argument, because that would be on the
 * stack, and differ. */
static uint64_t path;

static uint64_t left(unsigned depth);
__attribute__((noinline)) static uint64_t right(unsigned depth)
{
    volatile char room[48];
    room[0] = 1;
    uint64_t ret = depth == DEPTH ? compare_here() : (path >> depth & 1 ? left : right)(depth + 1);
    return ret + (uint64_t)room[0];
}

__attribute__((noinline)) static uint64_t left(unsigned depth)
{
    uint64_t ret = depth == DEPTH ? compare_here() : (path >> depth & 1 ? left : right)(depth + 1);
    return ret * 3 + depth;
}

/* The innermost calls change most often, the outermost now and then.  Nothing else that changes
 * is a local variable either. */
static int round_number;
static void walk_about(int rounds)
{
    for (round_number = 0; round_number < rounds; round_number++) {
        uint64_t outer = (UINT64_C(1) << random_word() % DEPTH) - 1;
        path = (path & outer) | (random_word() & ~outer);
        ck_assert_uint_ne(left(0), 0);
    }
}

START_TEST(the_outer_part_is_kept)
{
    walk_about(ROUNDS);
    const struct unwind_counters *c = unwinder_counters(keeping);
    ck_assert_msg(c->joined > c->frames / 10, "%lu of %lu", (unsigned long)c->joined,
                  (unsigned long)c->frames);
    ck_assert_uint_eq(unwinder_counters(forgetting)->joined, 0);
}
END_TEST

START_TEST(changed_bytes_are_seen)
{
    flipping = true;
    walk_about(ROUNDS / 10);
    ck_assert_uint_gt(unwinder_counters(keeping)->joined, 0);
}
END_TEST

START_TEST(more_threads_than_are_kept)
{
    ucontext_t context = {0};
    getcontext(&context);
    struct snapshot s = here(&context);
    for (int i = 0; i < 1000; i++) {
        s.tid = 1 + (int)(random_word() % 40);
        run_both(&s);
    }
    ck_assert_uint_gt(unwinder_counters(keeping)->joined, 0);
}
END_TEST

/* Maps are read once a second: a process of one thread would soon have memory for many. */
START_TEST(what_was_forgotten_gives_its_memory)
{
    enum { LESS_THAN_A_STACK = 1 << 14 };
    ucontext_t context = {0};
    getcontext(&context);
    struct snapshot s = here(&context);
    run_both(&s);
    const struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 100; i++)
        run_both(&s);
    const struct mallinfo2 after = mallinfo2();
    ck_assert_uint_lt(after.uordblks + after.hblkhd,
                      before.uordblks + before.hblkhd + LESS_THAN_A_STACK);
}
END_TEST

/* Two processes share one: each finds its own stacks alone, until it forgets them. */
START_TEST(processes_share_the_room)
{
    struct stack_cache *stacks = stack_cache_new();
    struct unwinder *other = unwinder_new(modules);
    unwinder_share(keeping, stacks);
    unwinder_share(other, stacks);
    ucontext_t context = {0};
    getcontext(&context);
    struct snapshot s = here(&context);
    unwinder_run(keeping, &s, &kept);
    unwinder_run(other, &s, &fresh);
    ck_assert_uint_eq(unwinder_counters(other)->joined, 0);
    unwinder_run(keeping, &s, &kept);
    uint64_t joined = unwinder_counters(keeping)->joined;
    ck_assert_uint_gt(joined, 0);
    unwinder_free(other);
    unwinder_run(keeping, &s, &kept);
    ck_assert_uint_gt(unwinder_counters(keeping)->joined, joined);
    joined = unwinder_counters(keeping)->joined;
    unwinder_maps_changed(keeping);
    unwinder_run(keeping, &s, &kept);
    ck_assert_uint_eq(unwinder_counters(keeping)->joined, joined);
    keeping = unwinder_free(keeping);
    stack_cache_free(stacks);
}
END_TEST

CHECK_MAIN_WITH("stack_cache", 30, set_up, tear_down, the_outer_part_is_kept,
                changed_bytes_are_seen, more_threads_than_are_kept,
                what_was_forgotten_gives_its_memory, processes_share_the_room)
