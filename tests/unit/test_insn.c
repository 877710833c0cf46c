#include "arch/insn.h"

#include <errno.h>
#include <string.h>

#include "tests/support/check_main.h"

struct length_case {
    const char *bytes;
    size_t len, want;
};
#define INSN(bytes)                                                                                \
    {                                                                                              \
        (bytes), sizeof(bytes) - 1, sizeof(bytes) - 1                                              \
    }
static const struct length_case lengths[] = {
    INSN("\x55"),                                     /* push rbp */
    INSN("\x41\x57"),                                 /* push r15 */
    INSN("\x48\x89\xe5"),                             /* mov rbp, rsp */
    INSN("\x48\x81\xec\x00\x10\x00\x00"),             /* sub rsp, 0x1000 */
    INSN("\x64\x48\x8b\x04\x25\x28\x00\x00\x00"),     /* mov rax, fs:[0x28] */
    INSN("\x48\x8d\x05\x11\x22\x33\x00"),             /* lea rax, [rip + …] */
    INSN("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"), /* movabs rax */
    INSN("\xb8\x01\x00\x00\x00"),                     /* mov eax, 1 */
    INSN("\x66\xb8\x01\x00"),                         /* mov ax, 1 */
    INSN("\x66\x81\x3c\x24\x34\x12"),                 /* cmp word [rsp], 0x1234 */
    INSN("\xf3\x0f\x1e\xfa"),                         /* endbr64 */
    INSN("\x66\x0f\x6f\x44\x24\x10"),                 /* movdqa xmm0, [rsp+16] */
    INSN("\x66\x0f\x3a\x0f\xc1\x08"),                 /* palignr xmm0, xmm1, 8 */
    INSN("\xc5\xf8\x77"),                             /* vzeroupper */
    INSN("\xc4\xe2\x7d\x18\x05\x01\x02\x03\x04"),     /* vbroadcastss ymm0, [rip + …] */
    INSN("\x62\xf1\x7c\x48\x28\xc1"),                 /* vmovaps zmm0, zmm1 */
    INSN("\x0f\x84\x01\x02\x03\x04"),                 /* je rel32 */
    INSN("\xf6\xc3\x01"),                             /* test bl, 1 */
    INSN("\xf7\xdb"),                                 /* neg ebx */
    INSN("\xf7\xc3\x01\x00\x00\x00"),                 /* test ebx, 1 */
    INSN("\x48\x83\x0c\x24\x00"),                     /* or qword [rsp], 0 */
    INSN("\xff\x94\xc3\x01\x02\x03\x04"),             /* call [rbx + rax*8 + …] */
    INSN("\x0f\x05"),                                 /* syscall */
    INSN("\x0f\xa2"),                                 /* cpuid */
    {"\x48\x81\xec\x00\x10", 5, 0},                   /* cut */
    {"\x06", 1, 0},                                   /* no such instruction */
    {"\x0f", 1, 0},
    {"\x48", 1, 0},
    {"\xc5\xf8", 2, 0},
    {"\xc4\xe2\x7d", 3, 0},
    {"\x62\xf1\x7c\x48", 4, 0},
    {"", 0, 0},
};

START_TEST(lengths_are_right)
{
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t bytes[32] = {0};
        memcpy(bytes, lengths[i].bytes, lengths[i].len);
        size_t n = insn_length(bytes, lengths[i].len);
        ck_assert_msg(n == lengths[i].want, "case %zu: %zu", i, n);
    }
}
END_TEST

struct call_case {
    const char *bytes;
    size_t len;
    enum call_kind kind;
    int64_t rel;
};
#define CALL(bytes) (bytes), sizeof(bytes) - 1
static const struct call_case calls[] = {
    {CALL("\x90\x90\xe8\xf0\xff\xff\xff"), CALL_DIRECT, -16},
    {CALL("\x90\xff\x15\x10\x00\x00\x00"), CALL_SLOT, 16},
    {CALL("\x90\x90\xff\xd0"), CALL_INDIRECT, 0},             /* call rax */
    {CALL("\x41\xff\xd4"), CALL_INDIRECT, 0},                 /* call r12 */
    {CALL("\xff\x50\x18"), CALL_INDIRECT, 0},                 /* call [rax+24] */
    {CALL("\xff\x14\xc3"), CALL_INDIRECT, 0},                 /* call [rbx+rax*8] */
    {CALL("\xff\x90\x00\x01\x00\x00"), CALL_INDIRECT, 0},     /* call [rax+256] */
    {CALL("\xff\x94\x24\x00\x01\x00\x00"), CALL_INDIRECT, 0}, /* call [rsp+256] */
    {CALL("\xff\xe0"), CALL_NONE, 0},                         /* jmp rax */
    {CALL("\xff\x10\x90"), CALL_NONE, 0},                     /* not adjacent */
    {CALL("\xff"), CALL_NONE, 0},
    {CALL(""), CALL_NONE, 0},
};

START_TEST(calls_are_told_from_what_precedes)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        int64_t rel = 0;
        enum call_kind kind = call_before((const uint8_t *)calls[i].bytes, calls[i].len, &rel);
        ck_assert_msg(kind == calls[i].kind && rel == calls[i].rel, "case %zu: %d", i, (int)kind);
    }
}
END_TEST

START_TEST(stubs_and_tail_jumps_are_read)
{
    int64_t rel = 0;
    const uint8_t stub[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 1, 2, 0, 0};
    ck_assert(plt_stub_slot(stub, sizeof stub, &rel) && rel == 11 + 0x201);
    ck_assert(!plt_stub_slot(stub, 8, &rel));
    ck_assert(!plt_stub_slot(stub, 0, &rel));
    const uint8_t of_mold[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 7, 0,
                               0,    0,    0xff, 0x25, 1,    2,    0, 0};
    ck_assert(plt_stub_slot(of_mold, sizeof of_mold, &rel) && rel == 16 + 0x201);
    ck_assert(plt_stub_slot(of_mold + 4, sizeof of_mold - 4, &rel) && rel == 12 + 0x201);
    ck_assert(!plt_stub_slot(of_mold, 10, &rel));
    const uint8_t code[] = {0x90, 0xe9, 0x0a, 0,    0,    0,    0x0f,
                            0x84, 0xf4, 0xff, 0xff, 0xff, 0xeb, 0x20};
    ck_assert(code_jumps_to(code, sizeof code, 16));
    ck_assert(code_jumps_to(code, sizeof code, 0));
    ck_assert(code_jumps_to(code, sizeof code, 46));
    ck_assert(!code_jumps_to(code, sizeof code, 4));
}
END_TEST

START_TEST(the_way_back_from_clone_is_known)
{
    static const uint8_t libc[] = {0xb8, 0x38, 0,    0,    0,    0x0f, 0x05, 0x48, 0x85, 0xc0,
                                   0x7c, 0x13, 0x74, 0x01, 0xc3, 0x31, 0xed, 0x58, 0x5f};
    static const uint8_t far_error[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x0f, 0x8c, 1,
                                        2,    3,    4,    0x74, 0x01, 0xc3, 0x31};
    static const size_t libc_at[] = {7, 10, 12, 14}, far_at[] = {2, 5, 11, 13};
    for (size_t at = 0, i = 0; at <= sizeof libc; at++) {
        bool is = i < 4 && at == libc_at[i];
        ck_assert_msg(code_is_behind_clone(libc, sizeof libc, at) == is, "%zu", at);
        i += is;
    }
    for (size_t at = 0, i = 0; at <= sizeof far_error; at++) {
        bool is = i < 4 && at == far_at[i];
        ck_assert_msg(code_is_behind_clone(far_error, sizeof far_error, at) == is, "%zu", at);
        i += is;
    }
    for (size_t len = 0; len < 13; len++)
        ck_assert(!code_is_behind_clone(far_error, len, 2));
}
END_TEST

struct prologue_case {
    const char *name, *bytes;
    size_t len;
    int code;
    uint64_t depth;
    bool is_drap;
};
#define ENTER       "\x55\x48\x89\xe5"     /* push rbp; mov rbp, rsp */
#define LEAVE       "\xe8\0\0\0\0\xc9\xc3" /* call; leave; ret */
#define CODE(bytes) (bytes), sizeof(bytes) - 1
static const struct prologue_case prologues[] = {
    {"bare", CODE(ENTER LEAVE), 0, 0, false},
    {"pushes and sub, other work between",
     CODE("\xf3\x0f\x1e\xfa" ENTER "\x41\x54\x49\x89\xf4\x53\x48\x83\xec\x10" LEAVE), 0, 32, false},
    {"behind call r8", CODE(ENTER "\x41\xff\xd0\x53" LEAVE), 0, 0, false},
    {"behind bnd call", CODE(ENTER "\xf2\xe8\0\0\0\0\x53" LEAVE), 0, 0, false},
    {"behind notrack jmp rax", CODE(ENTER "\x3e\xff\xe0\x53" LEAVE), 0, 0, false},
    {"sub 128 as add", CODE(ENTER "\x48\x83\xc4\x80" LEAVE), 0, 128, false},
    {"sub imm32", CODE(ENTER "\x48\x81\xec\x00\x20\x00\x00" LEAVE), 0, 0x2000, false},
    {"lea for sub, the flags being used", /* test rdi, rdi; js */
     CODE(ENTER "\x48\x8d\x64\x24\xd0\x48\x85\xff\x78\x72" LEAVE), 0, 0x30, false},
    {"lea imm32, undone later",
     CODE(ENTER "\x48\x8d\xa4\x24\x00\xfe\xff\xff\xe8\0\0\0\0\x48\x8d\xa4\x24\x00\x02\0\0" LEAVE),
     0, 0x200, false},
    {"probing loop",
     CODE(ENTER "\x4c\x8d\x9c\x24\x00\x80\xff\xff" /* lea r11, [rsp-0x8000] */
                "\x48\x81\xec\x00\x10\x00\x00"     /* sub rsp, 0x1000 */
                "\x48\x83\x0c\x24\x00"             /* or qword [rsp], 0 */
                "\x4c\x39\xdc\x75\xef"             /* cmp rsp, r11; jne */
                "\x48\x83\xec\x20" LEAVE),
     0, 0x8020, false},
    {"DRAP",
     CODE("\x4c\x8d\x54\x24\x08\x48\x83\xe4\xe0\x41\xff\x72\xf8" ENTER
          "\x41\x52\x48\x83\xec\x28" LEAVE),
     0, 48, true},
    {"epilogue by lea", CODE(ENTER "\x53\x51\xe8\0\0\0\0\x48\x8d\x65\xf0\x5b\x5d\xc3"), 0, 16,
     false},
    {"epilogue by lea, eax cleared", /* as in the vdso of Linux 6.18 */
     CODE(ENTER "\x41\x56\x53\xe8\0\0\0\0\x48\x8d\x65\xf0\x31\xc0\x5b\x41\x5e\x5d\xc3"), 0, 16,
     false},
    {"lea, and on", CODE(ENTER "\x53\xe8\0\0\0\0\x48\x8d\x65\xf0\x31\xc0\xe8\0\0\0\0\xc9\xc3"),
     -ENOENT, 0, false},
    {"lea, and on with r12", /* mov r12d, eax is no pop */
     CODE(ENTER "\x53\xe8\0\0\0\0\x48\x8d\x65\xf0\x41\x89\xc4\xc9\xc3"), -ENOENT, 0, false},
    {"alloca", CODE(ENTER "\xe8\0\0\0\0\x48\x29\xc4\xe8\0\0\0\0\xc9\xc3"), -ENOENT, 0, false},
    {"aligned twice", CODE(ENTER "\x48\x83\xe4\xe0\x48\x83\xe4\xc0" LEAVE), -ENOENT, 0, false},
    {"aligned to 128", CODE(ENTER "\x48\x83\xe4\x80" LEAVE), -ENOENT, 0, false},
    {"masked otherwise", CODE(ENTER "\x48\x83\xe4\xf1" LEAVE), -ENOENT, 0, false},
    {"aligned later, in the body", CODE(ENTER "\xe8\0\0\0\0\x48\x83\xe4\xe0" LEAVE), -ENOENT, 0,
     false},
    {"no frame pointer", CODE("\x48\x83\xec\x10\xe8\0\0\0\0\x48\x83\xc4\x10\xc3"), -ENOENT, 0,
     false},
    {"unknown instruction", CODE(ENTER "\x06" LEAVE), -ENOENT, 0, false},
    {"cut", CODE(ENTER "\x53"), -ENOENT, 0, false},
    {"absurd", CODE(ENTER "\x48\x81\xec\xff\xff\xff\x7f\x90" LEAVE), -ENOENT, 0, false},
    {"growing the wrong way", CODE(ENTER "\x48\x83\xc4\x10\x90" LEAVE), -ENOENT, 0, false},
};

/* ioctl() of Ubuntu 24.04: there is no branch before its system call. */
START_TEST(a_system_call_ends_the_prologue)
{
    static const char code[] = "\xf3\x0f\x1e\xfa" ENTER "\x48\x83\xec\x50\xb8\x10\0\0\0"
                               "\x0f\x05\x89\xc2" LEAVE;
    struct prologue p;
    ck_assert_int_eq(prologue_decode((const uint8_t *)code, sizeof code - 1, &p), 0);
    ck_assert_uint_eq(p.depth, 0x50);
    ck_assert_uint_eq(p.end, 17);
}
END_TEST

START_TEST(prologues_are_decoded)
{
    for (size_t i = 0; i < sizeof prologues / sizeof *prologues; i++) {
        const struct prologue_case *c = &prologues[i];
        struct prologue p = {0};
        int r = prologue_decode((const uint8_t *)c->bytes, c->len, &p);
        ck_assert_msg(r == c->code && p.depth == c->depth && p.is_drap == c->is_drap,
                      "%s: code %d, depth %lu", c->name, r, (unsigned long)p.depth);
    }
}
END_TEST

/* push rbx; and rsp, -64; sub rsp, 0x40: rbx lies above what is aligned. */
START_TEST(rbp_of_an_aligned_frame_is_one_of_some)
{
    static const char code[] = ENTER "\x53\x48\x83\xe4\xc0\x48\x83\xec\x40" LEAVE;
    struct prologue p;
    ck_assert_int_eq(prologue_decode((const uint8_t *)code, sizeof code - 1, &p), 0);
    ck_assert(p.depth == 0x48 && p.align == 64 && p.below == 0x40);
    for (uint64_t rbp = 0x1000; rbp < 0x1200; rbp++) {
        bool fits = rbp == 0x1050 || rbp == 0x1060 || rbp == 0x1070 || rbp == 0x1080;
        ck_assert_msg(prologue_fits(&p, 0x1000, rbp) == fits, "0x%lx", (unsigned long)rbp);
        ck_assert(!prologue_fits(&p, 0x1008, rbp));
    }
    const struct prologue plain = {.depth = 24};
    ck_assert(prologue_fits(&plain, 0x1008, 0x1020) && !prologue_fits(&plain, 0x1008, 0x1028));
}
END_TEST

CHECK_MAIN("insn", 6, lengths_are_right, calls_are_told_from_what_precedes,
           the_way_back_from_clone_is_known, stubs_and_tail_jumps_are_read,
           a_system_call_ends_the_prologue, prologues_are_decoded,
           rbp_of_an_aligned_frame_is_one_of_some)
