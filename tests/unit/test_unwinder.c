/* Hostile stacks: whatever bytes a snapshot holds, the walk ends within its bounds.  The modules
 * are this process's own, so that rules are real. */
#include "unwinder/unwinder.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/support/check_main.h"

enum { STACK_WORDS = 4096, STACK_AT = 0x10000000 };

/* This process, and how often it was read. */
struct counting_mem {
    struct mem mem;
    struct mem *live;
    unsigned reads;
};

struct fixture {
    struct counting_mem mem;
    struct modules *modules;
    struct unwinder *unwinder;
    struct native_stack out;
    uint64_t words[STACK_WORDS];
    struct snapshot s;
};
static struct fixture f;

static int read_and_count(struct mem *m, uint64_t addr, void *buf, size_t len)
{
    struct counting_mem *counting = (struct counting_mem *)m;
    counting->reads++;
    return mem_read(counting->live, addr, buf, len);
}

static void set_up(void)
{
    static const struct mem_ops ops = {.read = read_and_count};
    f.mem.mem.ops = &ops;
    ck_assert_int_eq(mem_live_open(&f.mem.live, getpid(), NULL), 0);
    f.modules = modules_new(getpid(), &f.mem.mem);
    ck_assert_int_eq(modules_refresh(f.modules), 0);
    f.unwinder = unwinder_new(f.modules);
    f.out.capacity = UNWIND_MAX_FRAMES;
    f.out.frames = xcalloc(f.out.capacity, sizeof *f.out.frames);
    f.s = (struct snapshot){
        .stack_start = STACK_AT, .stack_bytes = sizeof f.words, .stack = (const uint8_t *)f.words};
    f.s.tid = 1; /* what is kept of one is held against the next */
    f.s.regs.known = (1U << X86_COUNT) - 1;
    f.s.regs.r[X86_RSP] = STACK_AT;
}

static void tear_down(void)
{
    unwinder_free(f.unwinder);
    modules_free(f.modules);
    mem_free(f.mem.live);
    free(f.out.frames);
}

static uint64_t random_word(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t code_addr(uint64_t *state)
{
    return (uint64_t)(uintptr_t)set_up + random_word(state) % 65536 - 32768;
}

/* Words that look like pointers into code and into the stack, so that the walk goes far. */
static uint64_t plausible_word(uint64_t *state)
{
    switch (random_word(state) % 4) {
    case 0:
        return code_addr(state);
    case 1:
        return STACK_AT + random_word(state) % sizeof f.words;
    case 2:
        return (uint64_t)(uintptr_t)memcpy + random_word(state) % 262144 - 131072;
    default:
        return random_word(state);
    }
}

START_TEST(random_stacks_end)
{
    uint64_t state = 88172645463325252U;
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < STACK_WORDS; i++)
            f.words[i] = plausible_word(&state);
        for (int reg = 0; reg < X86_COUNT; reg++)
            f.s.regs.r[reg] = plausible_word(&state);
        f.s.regs.r[X86_RSP] = STACK_AT;
        f.s.regs.r[X86_PC] = code_addr(&state);
        f.s.stack_cut = round & 1;
        f.s.regs.known = round & 2 ? (1U << X86_COUNT) - 1 : 1U << X86_PC | 1U << X86_RSP;
        unwinder_run(f.unwinder, &f.s, &f.out);
        ck_assert_uint_ge(f.out.n, 1);
        ck_assert_int_lt(f.out.end, UNWIND_END_COUNT);
    }
}
END_TEST

START_TEST(registers_at_the_edges_of_memory)
{
    static const uint64_t edges[] = {
        0, 1, 7, STACK_AT, STACK_AT + sizeof f.words - 1, INT64_MAX, UINT64_MAX - 7, UINT64_MAX};
    enum { N = sizeof edges / sizeof *edges };
    for (size_t i = 0; i < (size_t)N * N * N; i++) {
        f.s.regs.r[X86_RSP] = edges[i % N];
        f.s.regs.r[X86_RBP] = edges[i / N % N];
        f.s.regs.r[X86_PC] = i / N / N ? edges[i / N / N] : (uint64_t)(uintptr_t)set_up;
        f.s.stack_start = i & 1 ? f.s.regs.r[X86_RSP] : STACK_AT;
        f.s.stack_cut = i & 2;
        unwinder_run(f.unwinder, &f.s, &f.out);
        ck_assert_uint_ge(f.out.n, 1);
    }
}
END_TEST

START_TEST(no_room_for_frames)
{
    f.out.capacity = 0;
    f.s.regs.r[X86_PC] = (uint64_t)(uintptr_t)set_up;
    unwinder_run(f.unwinder, &f.s, &f.out);
    ck_assert_uint_eq(f.out.n, 0);
    ck_assert_int_eq(f.out.end, UNWIND_TOO_DEEP);
}
END_TEST

START_TEST(the_kernel_is_asked_instead)
{
    f.s.regs.r[X86_PC] = 0x1000;
    unwinder_run(f.unwinder, &f.s, &f.out);
    bool can = maps_no_code_at(getpid(), 0x1000);
    ck_assert_int_eq(unwinder_settle_unmapped(f.unwinder, getpid()), can);
    ck_assert_int_eq(unwinder_wants_maps(f.unwinder), !can);
    for (uint64_t i = 0; i < 100; i++) { /* too many to ask for each */
        f.s.regs.r[X86_PC] = 0x2000 + i;
        unwinder_run(f.unwinder, &f.s, &f.out);
    }
    ck_assert(!unwinder_settle_unmapped(f.unwinder, getpid()));
    ck_assert(unwinder_wants_maps(f.unwinder));
}
END_TEST

START_TEST(unknown_code_asks_for_maps)
{
    f.s.regs.r[X86_PC] = 0x1000;
    ck_assert(!unwinder_wants_maps(f.unwinder));
    unwinder_run(f.unwinder, &f.s, &f.out);
    ck_assert(unwinder_wants_maps(f.unwinder));
    ck_assert_int_eq(f.out.end, UNWIND_NO_CFI);
    unwinder_maps_changed(f.unwinder);
    ck_assert(!unwinder_wants_maps(f.unwinder));
}
END_TEST

/* Functions whose frames the tests make; NAME_at is where a thread is in each. */
#define FUNCTION(name, body)                                                                       \
    ".p2align 4, 0xcc\n.type " name ", @function\n" name ":\n.cfi_startproc\n" body                \
    "\n.cfi_endproc\n.size " name ", . - " name "\n"
__asm__(".text\n" /* a frame of 8 bytes, with rbp as the caller left it */
        FUNCTION("plain", "push %rax\n.cfi_def_cfa_offset 16\ncall *%rax\nplain_at: pop %rax\nret")
        /* rbp is the frame pointer from the start, so that no prologue tells where it points */
        FUNCTION("framed", ".cfi_def_cfa rbp, 16\n.cfi_offset rbp, -16\ncall *%rax\n"
                           "framed_at: leave\nret")
            FUNCTION("planted", "nop\nplanted_at: call *%rax\nnop")
                FUNCTION("never_returns",
                         ".cfi_undefined rbp\n.cfi_undefined r12\nnever_returns_at: ud2")
                    FUNCTION("first", ".cfi_undefined rip\ncall plain\nfirst_at: ud2")
                        FUNCTION("calls_libc", "push %rax\n.cfi_def_cfa_offset 16\n"
                                               "call getpid@plt\ncalls_libc_at: pop %rax\nret"));
extern const char plain_at[], framed_at[], planted_at[], never_returns_at[], first_at[],
    calls_libc_at[];
/* Without CFI: one whose code says all, and one whose code says nothing. */
__asm__(".type clear, @function\nclear: push %rbx\ncall *%rax\nclear_at: pop %rbx\nret\n"
        ".size clear, . - clear\n"
        ".type dark, @function\ndark: jmp *%rax\nnop\ncall *%rax\ndark_at: jmp *%rax\n"
        ".size dark, . - dark\n");
extern const char clear_at[], dark_at[];

/* Walks from a thread that is at PC. */
static void run_at(const char *pc)
{
    f.s.regs.r[X86_PC] = (uint64_t)(uintptr_t)pc;
    unwinder_run(f.unwinder, &f.s, &f.out);
}

static void assert_end(enum unwind_end end, size_t n)
{
    ck_assert_int_eq(f.out.end, end);
    ck_assert_uint_eq(f.out.n, n);
}

static uint64_t word_of(const char *label)
{
    return (uint64_t)(uintptr_t)label;
}

START_TEST(a_zero_alone_is_no_root)
{
    f.s.regs.r[X86_RBP] = STACK_AT + 64; /* and there are two zeros more */
    run_at(plain_at);
    assert_end(UNWIND_NO_CFI, 1);
    run_at(framed_at);
    assert_end(UNWIND_NO_CFI, 1);
    f.words[1] = word_of(plain_at);
    run_at(plain_at);
    assert_end(UNWIND_NO_CFI, 2);
    f.s.regs.known = 1U << X86_PC | 1U << X86_RSP;
    run_at(plain_at);
    assert_end(UNWIND_NO_CFI, 2);
}
END_TEST

START_TEST(a_zero_and_a_witness_are_a_root)
{
    f.s.regs.r[X86_RBP] = 0; /* there is no outer frame */
    run_at(plain_at);
    assert_end(UNWIND_DONE, 1);
    f.s.regs.r[X86_RBP] = STACK_AT + 64;
    f.words[1] = word_of(planted_at); /* no call returns there */
    run_at(plain_at);
    assert_end(UNWIND_DONE, 2);
    f.s.regs.r[X86_RSP] = f.s.stack_start = STACK_AT + 4096 - 16; /* the stack's first word */
    f.words[1] = 0;
    run_at(plain_at);
    assert_end(UNWIND_DONE, 1);
}
END_TEST

START_TEST(what_lies_in_no_code_is_no_frame)
{
    f.words[1] = UINT64_C(0x6161616161616161);
    run_at(plain_at);
    assert_end(UNWIND_NO_CFI, 1);
    ck_assert(unwinder_wants_maps(f.unwinder)); /* they may be old */
    f.words[1] = STACK_AT;
    run_at(plain_at);
    assert_end(UNWIND_NO_CFI, 1);
}
END_TEST

START_TEST(the_longest_walk_is_kept)
{
    f.words[1] = f.words[3] = word_of(clear_at);
    f.words[5] = UINT64_C(0x6161616161616161);
    run_at(clear_at);
    assert_end(UNWIND_NO_CFI, 3);
    ck_assert_int_eq(f.out.frames[2].trust, FRAME_RECOVERED);
    f.words[5] = word_of(dark_at);
    run_at(clear_at);
    assert_end(UNWIND_NO_CFI, 4);
    ck_assert_int_eq(f.out.frames[3].trust, FRAME_RECOVERED);
}
END_TEST

START_TEST(a_guess_is_called_by_what_stands_before_it)
{
    f.words[3] = word_of(calls_libc_at); /* left over: it called getpid() */
    f.words[5] = word_of(first_at);
    run_at(dark_at);
    assert_end(UNWIND_NO_CFI, 1);
    f.words[7] = word_of(plain_at);
    f.words[9] = word_of(first_at);
    run_at(dark_at);
    assert_end(UNWIND_DONE, 3);
    ck_assert_uint_eq(f.out.frames[1].pc, word_of(plain_at));
    ck_assert_int_eq(f.out.frames[1].trust, FRAME_GUESSED);
}
END_TEST

/* call rax; jmp rax, again and again: whence nothing leads on but a guess. */
static const uint8_t *map_dark_code(size_t bytes)
{
    static const uint8_t call_and_jump[] = {0xff, 0xd0, 0xff, 0xe0};
    uint8_t *code =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(code != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += sizeof call_and_jump)
        memcpy(code + i, call_and_jump, sizeof call_and_jump);
    ck_assert_int_eq(modules_refresh(f.modules), 0);
    return code;
}

START_TEST(frame_records_of_compiled_code_are_followed)
{
    enum { CODE_BYTES = 4096, AFTER_CALL = 102, AFTER_JUMP = 104 };
    const uint8_t *code = map_dark_code(CODE_BYTES);
    f.words[3] = word_of(plain_at); /* left over */
    f.words[5] = word_of(first_at);
    f.s.regs.r[X86_RBP] = STACK_AT + 32 * sizeof(uint64_t);
    f.words[32] = STACK_AT + 40 * sizeof(uint64_t);
    f.words[33] = (uint64_t)(uintptr_t)code + AFTER_JUMP; /* an interpreter's way to call */
    f.words[41] = word_of(plain_at);
    f.words[43] = word_of(first_at);
    run_at((const char *)code + AFTER_CALL);
    assert_end(UNWIND_DONE, 3);
    ck_assert_uint_eq(f.out.frames[0].cfa, STACK_AT + 42 * sizeof(uint64_t));
    ck_assert_int_eq(f.out.frames[1].trust, FRAME_GUESSED);
    f.s.regs.r[X86_RBP] = STACK_AT - 8; /* something else */
    run_at((const char *)code + AFTER_CALL);
    assert_end(UNWIND_DONE, 3);
    ck_assert_uint_eq(f.out.frames[0].cfa, STACK_AT + 4 * sizeof(uint64_t));
}
END_TEST

START_TEST(undefined_is_not_the_same)
{
    f.s.regs.r[X86_RBP] = STACK_AT + 64; /* a local variable that looks like a frame */
    f.words[0] = word_of(framed_at);
    f.words[9] = word_of(plain_at);
    run_at(never_returns_at);
    assert_end(UNWIND_NEEDS_REGS, 2);
    const reg_set known = f.out.frames[1].regs.known;
    ck_assert(!(known & (1U << X86_RBP | 1U << X86_R12)) && known & 1U << X86_R13);
    ck_assert(known & 1U << X86_RBX);
}
END_TEST

/* Words that follow a call.  Half of them lead into code that no file holds, from where only a
 * guess leads on: each begins to look through all words above it. */
START_TEST(a_stack_of_guesses_costs_little)
{
    enum { CODE_BYTES = 4096, AFTER_CALL = 102 };
    const uint8_t *code = map_dark_code(CODE_BYTES);
    for (size_t i = 0; i + 3 <= STACK_WORDS; i += 3) {
        f.words[i] = word_of(plain_at);
        f.words[i + 2] = (uint64_t)(uintptr_t)code + AFTER_CALL;
    }
    f.s.regs.known = 1U << X86_PC | 1U << X86_RSP;
    f.mem.reads = 0;
    run_at((const char *)code + AFTER_CALL);
    assert_end(UNWIND_NO_CFI, 1);
    const struct unwind_counters *c = unwinder_counters(f.unwinder);
    ck_assert_uint_lt(c->rule_hits + c->rule_misses, 8 * STACK_WORDS);
    ck_assert_uint_lt(f.mem.reads, 1000);
}
END_TEST

CHECK_MAIN_WITH("unwinder", 30, set_up, tear_down, random_stacks_end,
                registers_at_the_edges_of_memory, no_room_for_frames, unknown_code_asks_for_maps,
                the_kernel_is_asked_instead, a_zero_alone_is_no_root,
                a_zero_and_a_witness_are_a_root, what_lies_in_no_code_is_no_frame,
                the_longest_walk_is_kept, a_guess_is_called_by_what_stands_before_it,
                frame_records_of_compiled_code_are_followed, undefined_is_not_the_same,
                a_stack_of_guesses_costs_little)
