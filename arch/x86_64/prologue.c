#include <errno.h>
#include <string.h>

#include "arch/insn.h"
#include "base/bytes.h"

/* No compiler makes a frame that large without alloca. */
enum { MAX_DEPTH_BYTES = 1 << 26, STACK_ALIGN = 16 };

struct decoder {
    const uint8_t *at; /* the instruction */
    size_t len;        /* its bytes */
    bool framed;       /* after mov rbp, rsp */
    uint64_t depth;
    uint64_t align, above; /* rsp was made a multiple of it, when DEPTH was that; 0: not */
    uint64_t probe_depth; /* where a probing loop will end: lea r11, [rsp − N] was seen; 0: none */
    bool is_drap;
};

static bool is(const struct decoder *d, const char *bytes, size_t len)
{
    return d->len == len && memcmp(d->at, bytes, len) == 0;
}

static bool starts(const struct decoder *d, const char *bytes, size_t len)
{
    return d->len > len && memcmp(d->at, bytes, len) == 0;
}

static uint64_t operand32(const struct decoder *d)
{
    return (uint64_t)(int64_t)get_i32(d->at + d->len - sizeof(int32_t));
}

static bool is_push(const struct decoder *d)
{
    const uint8_t *op = d->at;
    size_t len = d->len;
    if (len && *op == 0x41) { /* r8 to r15 */
        op++;
        len--;
    }
    bool reg = len == 1 && *op >= 0x50 && *op <= 0x57;
    return reg || (len == 2 && *op == 0x6a) || (len == 5 && *op == 0x68);
}

/* Does the instruction end the prologue: jump, call, return, system call?  A thread that is blocked
 * in a function without a branch before its system call is found right behind that. */
static bool leaves_prologue(const struct decoder *d)
{
    enum { BND = 0xf2, NOTRACK = 0x3e };
    const uint8_t *at = d->at;
    const uint8_t *last = at + d->len - 1;
    while (at < last && (*at == BND || *at == NOTRACK || (*at & 0xf0) == 0x40)) /* or REX */
        at++;
    uint8_t op = at[0];
    bool call = op == 0xff && at < last && (at[1] & 0x38) >= 0x10 && (at[1] & 0x38) <= 0x28;
    bool far_jcc = op == 0x0f && at < last && (at[1] & 0xf0) == 0x80;
    bool system_call = op == 0x0f && at < last && at[1] == 0x05;
    return call || far_jcc || system_call || (op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xeb) ||
           op == 0xc3 || op == 0xc9 || op == 0xcc;
}

/* lea rsp, [rsp + imm8] or [rsp + imm32]: gcc's sub, where the flags must stay. */
static bool shifts_rsp(const uint8_t *code, size_t len)
{
    return len > 4 && code[0] == 0x48 && code[1] == 0x8d && (code[2] == 0x64 || code[2] == 0xa4) &&
           code[3] == 0x24;
}

/* What the instruction does to rsp, once rbp is set. */
static void follow_rsp(struct decoder *d)
{
    if (is_push(d))
        d->depth += 8;
    else if (starts(d, "\x48\x83\xec", 3)) /* sub rsp, imm8 */
        d->depth += (uint64_t)(int64_t)(int8_t)d->at[3];
    else if (starts(d, "\x48\x81\xec", 3)) /* sub rsp, imm32 */
        d->depth += operand32(d);
    else if (starts(d, "\x48\x83\xc4", 3)) /* add rsp, imm8: −128 is written so */
        d->depth -= (uint64_t)(int64_t)(int8_t)d->at[3];
    else if (d->len == 5 && shifts_rsp(d->at, d->len))
        d->depth -= (uint64_t)(int64_t)(int8_t)d->at[4];
    else if (d->len == 8 && shifts_rsp(d->at, d->len))
        d->depth -= operand32(d);
    else if (starts(d, "\x4c\x8d\x9c\x24", 4)) /* lea r11, [rsp + imm32] */
        d->probe_depth = d->depth - operand32(d);
}

/* The probing loop of -fstack-clash-protection: sub; or; cmp rsp, r11; jne.  It leaves rsp at r11.
 * True if the instruction at D is its end. */
static bool ends_probing(struct decoder *d, const uint8_t *end)
{
    if (!d->probe_depth || !is(d, "\x4c\x39\xdc", 3) || end - d->at < 5 || d->at[3] != 0x75)
        return false;
    d->depth = d->probe_depth;
    d->probe_depth = 0;
    d->len += 2;
    return true;
}

/* May the bytes at CODE be an instruction that computes rsp from a register or from memory?
 * Asked at every byte: data and misread instructions only make the answer more careful. */
static bool computes_rsp(const uint8_t *code)
{
    enum { RSP = 4 };
    uint8_t rex = code[0], op = code[1], modrm = code[2];
    if ((rex & 0xf8) != 0x48)
        return false;
    bool to_rm = op == 0x01 || op == 0x21 || op == 0x29 || op == 0x89;
    bool to_reg = op == 0x03 || op == 0x23 || op == 0x2b || op == 0x8b || op == 0x8d;
    bool and_imm = (op == 0x81 || op == 0x83) && (modrm >> 3 & 7) == 4;
    if (to_rm || and_imm)
        return modrm >> 6 == 3 && (modrm & 7) == RSP && !(rex & 1);
    return to_reg && (modrm >> 3 & 7) == RSP && !(rex & 4);
}

/* and rsp, −16 to −64. */
static bool aligns_rsp(struct decoder *d)
{
    if (d->align || d->len != 4 || memcmp(d->at, "\x48\x83\xe4", 3) != 0)
        return false;
    uint8_t align = (uint8_t)-d->at[3];
    if (align != 16 && align != 32 && align != 64)
        return false;
    d->align = align;
    d->above = d->depth;
    return true;
}

static int follow(struct decoder *d, const uint8_t *code, size_t len, size_t *ret_end)
{
    const uint8_t *end = code + len;
    for (d->at = code; d->at < end; d->at += d->len) {
        d->len = insn_length(d->at, (size_t)(end - d->at));
        if (d->len == 0 || d->depth > MAX_DEPTH_BYTES)
            return -ENOENT;
        if (!d->framed) {
            d->framed = is(d, "\x48\x89\xe5", 3) || is(d, "\x48\x8b\xec", 3);
            d->is_drap |= is(d, "\x41\xff\x72\xf8", 4); /* push [r10 − 8] */
        } else if (!ends_probing(d, end)) {
            if (leaves_prologue(d))
                break;
            if (aligns_rsp(d))
                continue;
            if (d->len >= 3 && computes_rsp(d->at) && !shifts_rsp(d->at, d->len))
                return -ENOENT;
            follow_rsp(d);
        }
    }
    *ret_end = (size_t)(d->at - code);
    return d->framed && d->at < end && !d->probe_depth ? 0 : -ENOENT;
}

bool prologue_is_undone(const uint8_t *code, size_t len)
{
    /* xor eax, eax and the like */
    while (len > 2 && code[0] == 0x31 && code[1] >= 0xc0) {
        code += 2;
        len -= 2;
    }
    if (len > 1 && code[0] == 0x41) /* r8 to r15 */
        return code[1] >= 0x58 && code[1] <= 0x5f;
    return len && ((code[0] >= 0x58 && code[0] <= 0x5f) || code[0] == 0xc3);
}

int prologue_decode(const uint8_t *code, size_t len, struct prologue *ret)
{
    struct decoder d = {0};
    size_t end;
    if (follow(&d, code, len, &end) < 0)
        return -ENOENT;
    /* The epilogue's lea rsp, [rbp − N] or [r10 − 8] restores what pushes saved: it is followed by
     * pop, or by ret. */
    for (size_t i = end; i + 3 <= len; i++) {
        if (!computes_rsp(code + i) || shifts_rsp(code + i, len - i))
            continue;
        size_t n = insn_length(code + i, len - i);
        bool lea = code[i + 1] == 0x8d && n && i + n < len;
        if (!lea || !prologue_is_undone(code + i + n, len - i - n))
            return -ENOENT;
    }
    *ret = (struct prologue){.end = end,
                             .depth = d.depth,
                             .align = d.align,
                             .below = d.depth - d.above,
                             .is_drap = d.is_drap};
    return 0;
}

bool prologue_fits(const struct prologue *p, uint64_t sp, uint64_t rbp)
{
    if (!p->align)
        return rbp - sp == p->depth;
    return (sp + p->below) % p->align == 0 && rbp - sp - p->depth < p->align &&
           rbp % STACK_ALIGN == 0;
}
