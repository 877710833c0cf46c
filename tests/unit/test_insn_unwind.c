/* Ways out of pieces of machine code, written as bytes. */
#include "unwinder/insn_unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "tests/support/bytes_mem.h"
#include "tests/support/check_main.h"
#include "unwinder/cfi.h"

enum { START = 0x1000 };

static int find(const char *bytes, size_t len, struct rule *ret)
{
    struct bytes_mem c = bytes_mem_of(START, (const uint8_t *)bytes, len);
    return insn_unwind_to_return(bytes_mem_read, &c, START, ret);
}

#define FIND(bytes, rule) find(bytes, sizeof(bytes) - 1, rule)

static void assert_cfa(const struct rule *r, uint8_t reg, int32_t offset)
{
    ck_assert_int_eq(r->cfa.kind, VALUE_REG);
    ck_assert_int_eq(r->cfa.reg, reg);
    ck_assert_int_eq(r->cfa.offset, offset);
}

static void assert_saved(const struct rule *r, uint8_t of, uint8_t reg, int32_t offset)
{
    ck_assert_int_eq(r->values[of].kind, VALUE_AT_REG);
    ck_assert_int_eq(r->values[of].reg, reg);
    ck_assert_int_eq(r->values[of].offset, offset);
}

START_TEST(straight_ways)
{
    struct rule r;
    ck_assert_int_eq(FIND("\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 8);
    ck_assert_int_eq(r.values[X86_RBX].kind, VALUE_SAME);
    /* add rsp, 8; ret: CPython 3.12's trampoline behind its call */
    ck_assert_int_eq(FIND("\x48\x83\xc4\x08\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 16);
    /* add rsp, 0x118; pop rbx; pop r14; pop rbp; ret */
    ck_assert_int_eq(FIND("\x48\x81\xc4\x18\x01\x00\x00\x5b\x41\x5e\x5d\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 0x118 + 32);
    assert_saved(&r, X86_RBX, X86_RSP, 0x118);
    assert_saved(&r, X86_R14, X86_RSP, 0x120);
    assert_saved(&r, X86_RBP, X86_RSP, 0x128);
    ck_assert_int_eq(r.values[X86_R12].kind, VALUE_SAME);
    /* ret 16 */
    ck_assert_int_eq(FIND("\xc2\x10\x00", &r), 0);
    assert_cfa(&r, X86_RSP, 8);
    ck_assert_int_eq(r.values[X86_RSP].offset, 16);
    /* mov rbx, [rsp + 8]; vzeroupper; lea rsp, [rsp + 24]; ret */
    ck_assert_int_eq(FIND("\x48\x8b\x5c\x24\x08\xc5\xf8\x77\x48\x8d\x64\x24\x18\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 32);
    assert_saved(&r, X86_RBX, X86_RSP, 8);
}
END_TEST

START_TEST(ways_by_the_frame_pointer)
{
    struct rule r;
    /* leave; ret */
    ck_assert_int_eq(FIND("\xc9\xc3", &r), 0);
    assert_cfa(&r, X86_RBP, 16);
    assert_saved(&r, X86_RBP, X86_RBP, 0);
    /* mov rbx, [rbp - 8]; mov rsp, rbp; pop rbp; ret 8: V8 */
    ck_assert_int_eq(FIND("\x48\x8b\x5d\xf8\x48\x89\xec\x5d\xc2\x08\x00", &r), 0);
    assert_cfa(&r, X86_RBP, 16);
    assert_saved(&r, X86_RBX, X86_RBP, -8);
    /* mov rsp, rbp; pop rbp; pop r10; lea rsp, [rsp + rcx * 8]; push r10; ret: V8 */
    ck_assert_int_eq(FIND("\x48\x89\xec\x5d\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3", &r), 0);
    assert_cfa(&r, X86_RBP, 16);
    assert_saved(&r, X86_RBP, X86_RBP, 0);
    /* lea rsp, [rbp - 16]; pop rbx; pop r12; pop rbp; ret */
    ck_assert_int_eq(FIND("\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3", &r), 0);
    assert_cfa(&r, X86_RBP, 16);
    assert_saved(&r, X86_R12, X86_RBP, -8);
    /* push rbp; mov rbp, rsp; sub rsp, 32; leave; ret: at the function's start */
    ck_assert_int_eq(FIND("\x55\x48\x89\xe5\x48\x83\xec\x20\xc9\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 8);
    ck_assert_int_eq(r.values[X86_RBP].kind, VALUE_SAME);
    /* push rbx; push rbp; pop rbx; pop rbp; ret: what lies there now is of the past */
    ck_assert_int_eq(FIND("\x53\x55\x5b\x5d\xc3", &r), 0);
    ck_assert_int_eq(r.values[X86_RBX].kind, VALUE_UNDEFINED);
    ck_assert_int_eq(r.values[X86_RBP].kind, VALUE_UNDEFINED);
    ck_assert_int_eq(r.values[X86_R12].kind, VALUE_SAME);
}
END_TEST

START_TEST(ways_through_jumps_and_over_calls)
{
    struct rule r;
    /* again: dec rax; jne again; add rsp, 40; ret */
    ck_assert_int_eq(FIND("\x48\xff\xc8\x75\xfb\x48\x83\xc4\x28\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 48);
    /* jmp over; ud2; over: pop rbx; ret */
    ck_assert_int_eq(FIND("\xeb\x02\x0f\x0b\x5b\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 16);
    /* call rax; pop rbx; ret */
    ck_assert_int_eq(FIND("\xff\xd0\x5b\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 16);
    /* je out; call abort; (another function:) push rbx; pop rbx; ret; out: add rsp, 24; ret */
    ck_assert_int_eq(FIND("\x74\x08\xe8\x00\x10\x00\x00\x53\x5b\xc3\x48\x83\xc4\x18\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 32);
    /* push rdi; call rax; pop rcx; ret */
    ck_assert_int_eq(FIND("\x57\xff\xd0\x59\xc3", &r), 0);
    assert_cfa(&r, X86_RSP, 8);
}
END_TEST

START_TEST(no_way)
{
    struct rule r;
    ck_assert_int_eq(FIND("", &r), -ENOENT);
    ck_assert_int_eq(FIND("\x90", &r), -ENOENT);                 /* the code ends */
    ck_assert_int_eq(FIND("\xeb\xfe", &r), -ENOENT);             /* jmp here */
    ck_assert_int_eq(FIND("\xff\xe0\xc3", &r), -ENOENT);         /* jmp rax */
    ck_assert_int_eq(FIND("\x0f\x0b\xc3", &r), -ENOENT);         /* ud2 */
    ck_assert_int_eq(FIND("\x5c\xc3", &r), -ENOENT);             /* pop rsp */
    ck_assert_int_eq(FIND("\x50\xc3", &r), -ENOENT);             /* push rax; ret: a jump */
    ck_assert_int_eq(FIND("\x48\x83\xe4\xf0\xc3", &r), -ENOENT); /* and rsp, -16 */
    ck_assert_int_eq(FIND("\x48\x89\xc4\xc3", &r), -ENOENT);     /* mov rsp, rax */
    /* lea rsp, [rsp + rcx * 8 + 8]: pops as many arguments as there are */
    ck_assert_int_eq(FIND("\x48\x8d\x64\xcc\x08\xc3", &r), -ENOENT);
    /* mov rbp, rax; leave; ret */
    ck_assert_int_eq(FIND("\x48\x89\xc5\xc9\xc3", &r), -ENOENT);
    /* pop rbp; mov rsp, rbp; ret */
    ck_assert_int_eq(FIND("\x5d\x48\x89\xec\xc3", &r), -ENOENT);
    /* lea rsp, [rsp + r12]; ret: REX.X makes the absent index r12 */
    ck_assert_int_eq(FIND("\x4a\x8d\x24\x24\xc3", &r), -ENOENT);
    /* je skip; push rax; skip: je end; jmp rax; end: hlt: rsp is not the same at skip */
    ck_assert_int_eq(FIND("\x74\x01\x50\x74\x02\xff\xe0\xf4", &r), -ENOENT);
}
END_TEST

/* Of functions that begin at START, at the byte AT. */
#define FIND_IN(bytes, at, rule) find_in(bytes, sizeof(bytes) - 1, at, rule)
static int find_in(const char *bytes, size_t len, uint64_t at, struct rule *ret)
{
    struct bytes_mem c = bytes_mem_of(START, (const uint8_t *)bytes, len);
    return insn_unwind_from_entry(bytes_mem_read, &c, START, START + at, ret);
}

START_TEST(ways_in)
{
    struct rule r;
    /* push rbx; mov ebx, 1; sub rsp, 0x20; call: never returns */
    static const char leads_nowhere[] =
        "\x53\xbb\x01\x00\x00\x00\x48\x83\xec\x20\xe8\x00\x10\x00\x00";
    ck_assert_int_eq(FIND_IN(leads_nowhere, 0, &r), 0);
    assert_cfa(&r, X86_RSP, 8);
    ck_assert_int_eq(FIND_IN(leads_nowhere, 15, &r), 0);
    assert_cfa(&r, X86_RSP, 8 + 8 + 0x20);
    ck_assert_int_eq(r.values[X86_RBX].kind, VALUE_AT_CFA);
    ck_assert_int_eq(r.values[X86_RBX].offset, -16);
    ck_assert_int_eq(r.values[X86_R12].kind, VALUE_SAME);
    /* xor ebx, ebx; call: whose rbx it was is lost */
    ck_assert_int_eq(FIND_IN("\x31\xdb\xe8\x00\x10\x00\x00", 7, &r), 0);
    ck_assert_int_eq(r.values[X86_RBX].kind, VALUE_UNDEFINED);
    /* push rbp; mov rbp, rsp; push r13; sub rsp, rax; call: alloca */
    ck_assert_int_eq(FIND_IN("\x55\x48\x89\xe5\x41\x55\x48\x29\xc4\xe8\x00\x10\x00\x00", 14, &r),
                     0);
    assert_cfa(&r, X86_RBP, 16);
    ck_assert_int_eq(r.values[X86_R13].offset, -24);
    ck_assert_int_eq(r.values[X86_RBP].offset, -16);
    /* and out again, as far as the stack goes: lea rsp, [rbp - 8]; pop r13; pop rbp; ret */
    ck_assert_int_eq(FIND("\x48\x29\xc4\x48\x8d\x65\xf8\x41\x5d\x5d\xc3", &r), 0);
    assert_cfa(&r, X86_RBP, 16);
    /* Not to the middle of an instruction, nor behind a return. */
    ck_assert_int_eq(FIND_IN(leads_nowhere, 3, &r), -ENOENT);
    ck_assert_int_eq(FIND_IN("\xc3\x90", 1, &r), -ENOENT);
}
END_TEST

START_TEST(the_usual_depth)
{
    /* push rbx; sub rsp, 0x20; nop; cmp al, 3; ja end; jmp *rax; end: add rsp, 0x20; pop rbx;
     * ret */
    static const char dispatches[] = "\x53\x48\x83\xec\x20\x90\x3c\x03\x77\x02\xff\xe0"
                                     "\x48\x83\xc4\x20\x5b\xc3";
    struct bytes_mem c = bytes_mem_of(START, (const uint8_t *)dispatches, sizeof dispatches - 1);
    struct rule r;
    ck_assert_int_eq(insn_unwind_usual(bytes_mem_read, &c, START, &r), 0);
    assert_cfa(&r, X86_RSP, 8 + 8 + 0x20);
    ck_assert_int_eq(r.values[X86_RBX].offset, -16);
    c.len = 5; /* no more than the way there */
    ck_assert_int_eq(insn_unwind_usual(bytes_mem_read, &c, START, &r), -ENOENT);
}
END_TEST

#define IS_EXIT(bytes) is_exit(bytes, sizeof(bytes) - 1)
static bool is_exit(const char *bytes, size_t len)
{
    struct bytes_mem c = bytes_mem_of(START, (const uint8_t *)bytes, len);
    return insn_unwind_is_exit(bytes_mem_read, &c, START);
}

START_TEST(ends_of_threads)
{
    /* musl's clone, behind the call of the thread's function: mov edi, eax; xor eax, eax; mov al,
     * 60; syscall; hlt */
    ck_assert(IS_EXIT("\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4"));
    /* Go's: mov edi, 111; mov eax, 60; syscall; jmp back */
    ck_assert(IS_EXIT("\xbf\x6f\x00\x00\x00\xb8\x3c\x00\x00\x00\x0f\x05\xeb\xf2"));
    /* boost.context's make_fcontext: xor rdi, rdi; call _exit; hlt */
    ck_assert(IS_EXIT("\x48\x31\xff\xe8\x00\x10\x00\x00\xf4"));
    /* glibc's __start_context: mov rsp, rbx; mov rdi, [rsp]; test rdi, rdi; je; call; mov rdi, rax;
     * call; hlt */
    ck_assert(IS_EXIT("\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74\x08\xe8\x00\x10\x00\x00"
                      "\x48\x89\xc7\xe8\x00\x10\x00\x00\xf4"));
    /* main's last call, that never returns, and _start behind it: xor ebp, ebp; mov r9, rdx; pop
     * rsi; mov rdx, rsp; and rsp, -16; push rax; call; hlt */
    ck_assert(!IS_EXIT("\x31\xed\x49\x89\xd1\x5e\x48\x89\xe2\x48\x83\xe4\xf0\x50"
                       "\xe8\x00\x10\x00\x00\xf4"));
    /* Another system call; a return; a jump before it; no end in sight. */
    ck_assert(!IS_EXIT("\xb8\x27\x00\x00\x00\x0f\x05\xf4"));
    ck_assert(!IS_EXIT("\xc3\xf4"));
    ck_assert(!IS_EXIT("\xeb\x00\xf4"));
    ck_assert(!IS_EXIT("\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\x99\xf4"));
    ck_assert(!IS_EXIT("\x0f\x05"));
}
END_TEST

/* Any bytes: no way out of bounds, no endless search. */
START_TEST(any_bytes_do_no_harm)
{
    uint8_t bytes[600];
    uint64_t random = 1;
    for (unsigned round = 0; round < 5000; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[i] = (uint8_t)(random >> 56);
            if (round % 2) /* mostly jumps and pushes */
                bytes[i] =
                    (uint8_t) "\x74\x75\xeb\x50\x58\xff\x0f\x85\x48\x83\xc4\xec\x02\xf0\x10\xe8"
                        [bytes[i] & 15];
        }
        struct bytes_mem c = bytes_mem_of(START, bytes, sizeof bytes);
        struct rule r;
        if (insn_unwind_to_return(bytes_mem_read, &c, START + round % 64, &r) == 0)
            ck_assert_int_ge(r.cfa.offset, 8);
        if (insn_unwind_from_entry(bytes_mem_read, &c, START, START + round % 64, &r) == 0)
            ck_assert_int_ge(r.cfa.offset, 8);
        (void)insn_unwind_is_exit(bytes_mem_read, &c, START + round % 64);
    }
}
END_TEST

/* ---- against CFI, which says the same in another way ---- */

struct thread_summaries {
    struct elf_file *file;
    struct cfi *cfi;
    unsigned same, different;
    unsigned same_saved,
        different_saved; /* the callee-saved registers too, where the CFA is the same */
    bool by_ways_in;     /* else out */
    uint64_t function;
};

static int read_file(void *ctx, uint64_t addr, void *buf, size_t len)
{
    return elf_file_is_code(ctx, addr) ? elf_file_read(ctx, addr, buf, len) : -EFAULT;
}

/* Is the caller's REG the same by both rules, which have the same CFA?  A register that one of
 * them does not know is not wrong.  Nor is CFI, behind a pop, that still says where the register
 * was. */
static bool agree(const struct rule *a, const struct rule *b, int reg)
{
    struct value_rule v = a->values[reg];
    struct value_rule w = b->values[reg];
    if (v.kind == VALUE_AT_REG && v.reg == a->cfa.reg)
        v = (struct value_rule){VALUE_AT_CFA, 0, 0, v.offset - a->cfa.offset};
    bool popped = w.kind == VALUE_AT_CFA && b->cfa.reg == X86_RSP && b->cfa.offset + w.offset < 0;
    if (v.kind == VALUE_UNDEFINED || w.kind == VALUE_UNDEFINED || popped)
        return true;
    return v.kind == w.kind && (v.kind != VALUE_AT_CFA || v.offset == w.offset);
}

static void compare_saved(struct thread_summaries *s, const struct rule *found,
                          const struct rule *want)
{
    static const int saved[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
    bool all = true;
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++)
        all = all && agree(found, want, saved[i]);
    s->same_saved += all;
    s->different_saved += !all;
}

/* Where both count from the same register. */
static void compare(struct thread_summaries *s, uint64_t addr, const struct rule *want)
{
    struct rule r;
    if (want->cfa.kind != VALUE_REG)
        return;
    int found = s->by_ways_in ? insn_unwind_from_entry(read_file, s->file, s->function, addr, &r)
                              : insn_unwind_to_return(read_file, s->file, addr, &r);
    if (found < 0 || r.cfa.reg != want->cfa.reg)
        return;
    bool same = r.cfa.offset == want->cfa.offset;
    s->same += same;
    s->different += !same;
    if (same)
        compare_saved(s, &r, want);
}

static void compare_function(void *ctx, const char *name, const struct addr_range *where,
                             uint8_t info)
{
    struct thread_summaries *s = ctx;
    (void)name, (void)info;
    s->function = where->start;
    for (uint64_t at = where->start; at - where->start < where->len;) {
        uint8_t code[INSN_MAX_BYTES];
        struct addr_range function;
        struct rule want;
        size_t n =
            read_file(s->file, at, code, sizeof code) == 0 ? insn_length(code, sizeof code) : 0;
        if (!n || cfi_find(s->cfi, at, &want, &function) < 0)
            return;
        compare(s, at, &want);
        at += n;
    }
}

static void compare_libc(struct thread_summaries *s)
{
    Dl_info libc;
    ck_assert_int_ne(dladdr((void *)(uintptr_t)&abort, &libc), 0);
    ck_assert_int_eq(elf_file_open(&s->file, libc.dli_fname, NULL), 0);
    s->cfi = cfi_open(s->file);
    elf_file_each_exported(s->file, compare_function, s);
    printf("# CFA same %u, different %u; registers same %u, different %u\n", s->same, s->different,
           s->same_saved, s->different_saved);
    cfi_free(s->cfi);
    elf_file_free(s->file);
}

/* The code that differs, 1.8 % of glibc 2.36, is never run, as the padding behind a return, or
 * leads to a call that does not return. */
START_TEST(ways_through_libc_agree_with_its_cfi)
{
    struct thread_summaries s = {0};
    compare_libc(&s);
    ck_assert_uint_gt(s.same, 50000);
    ck_assert_uint_lt(s.different, s.same / 25);
    ck_assert_uint_lt(s.different_saved, s.same_saved / 100);
}
END_TEST

START_TEST(ways_into_libc_agree_with_its_cfi)
{
    struct thread_summaries s = {.by_ways_in = true};
    compare_libc(&s);
    ck_assert_uint_gt(s.same, 50000);
    ck_assert_uint_lt(s.different, s.same / 100);
    ck_assert_uint_lt(s.different_saved, s.same_saved / 100);
}
END_TEST

CHECK_MAIN("insn_unwind", 30, straight_ways, ways_by_the_frame_pointer,
           ways_through_jumps_and_over_calls, no_way, ways_in, the_usual_depth, ends_of_threads,
           any_bytes_do_no_harm, ways_through_libc_agree_with_its_cfi,
           ways_into_libc_agree_with_its_cfi)
