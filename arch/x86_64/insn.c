#include "arch/insn.h"

#include <string.h>

#include "base/bytes.h"

/* The operands behind the opcode, for the one-byte map and the 0F map:
 *   . unknown here   o nothing   m ModRM   b imm8   w imm16   z imm32 (imm16 after 66)   B ModRM
 * imm8 Z ModRM imm32   v mov's imm32/imm64   a moffs64   t, T test's group: ModRM, imm8 or imm32 if
 * /0 or /1   e enter's imm16 imm8 */
static const char one_byte_map[256 + 1] = "mmmmbz..mmmmbz.."  /* 00 */
                                          "mmmmbz..mmmmbz.."  /* 10 */
                                          "mmmmbz..mmmmbz.."  /* 20 */
                                          "mmmmbz..mmmmbz.."  /* 30 */
                                          "................"  /* 40: REX */
                                          "oooooooooooooooo"  /* 50: push, pop */
                                          "...m....zZbBoooo"  /* 60 */
                                          "bbbbbbbbbbbbbbbb"  /* 70: jcc rel8 */
                                          "BZ.Bmmmmmmmmmmmm"  /* 80 */
                                          "oooooooooo.ooooo"  /* 90 */
                                          "aaaaoooobzoooooo"  /* a0 */
                                          "bbbbbbbbvvvvvvvv"  /* b0 */
                                          "BBwo..BZeowoobo."  /* c0 */
                                          "mmmm...ommmmmmmm"  /* d0 */
                                          "bbbbbbbbzz.boooo"  /* e0 */
                                          ".o..ootToooooomm"; /* f0 */
static const char two_byte_map[256 + 1] = "mmmm.ooooo.o.mo."  /* 00 */
                                          "mmmmmmmmmmmmmmmm"  /* 10 */
                                          "mmmm....mmmmmmmm"  /* 20 */
                                          "oooooo.o........"  /* 30: 38, 3a are maps of their own */
                                          "mmmmmmmmmmmmmmmm"  /* 40 */
                                          "mmmmmmmmmmmmmmmm"  /* 50 */
                                          "mmmmmmmmmmmmmmmm"  /* 60 */
                                          "BBBBmmmommmmmmmm"  /* 70 */
                                          "zzzzzzzzzzzzzzzz"  /* 80: jcc rel32 */
                                          "mmmmmmmmmmmmmmmm"  /* 90 */
                                          "ooomBm..ooomBmmm"  /* a0 */
                                          "mmmmmmmmmmBmmmmm"  /* b0 */
                                          "mmBmBBBmoooooooo"  /* c0 */
                                          "mmmmmmmmmmmmmmmm"  /* d0 */
                                          "mmmmmmmmmmmmmmmm"  /* e0 */
                                          "mmmmmmmmmmmmmmmm"; /* f0 */

struct opcode {
    char follows; /* as in the maps */
    uint8_t prefix_rex;
    bool short_operands; /* 66 */
    size_t at;           /* of its last opcode byte */
};

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* The operands of OPCODE, from the map that ESCAPE (0F, 0F 38, 0F 3A) leads to. */
static char opcode_in_map(uint8_t escape, uint8_t opcode)
{
    switch (escape) {
    case 0x0f:
        return two_byte_map[opcode];
    case 0x38:
        return 'm';
    case 0x3a:
        return 'B';
    default:
        return '.';
    }
}

/* After 0F at AT. */
static bool find_in_0f_map(const uint8_t *bytes, size_t len, size_t at, struct opcode *op)
{
    bool three = at + 1 < len && (bytes[at + 1] == 0x38 || bytes[at + 1] == 0x3a);
    if (at + 1 + three >= len)
        return false;
    op->at = at + 1 + three;
    op->follows = opcode_in_map(three ? bytes[at + 1] : 0x0f, bytes[op->at]);
    return true;
}

/* VEX and EVEX: HEADER bytes, then an opcode of MAP 1 (0F), 2 (0F38) or 3 (0F3A). */
static bool find_in_vex_map(const uint8_t *bytes, size_t len, size_t at, struct opcode *op)
{
    size_t header = bytes[at] == 0xc5 ? 2 : bytes[at] == 0xc4 ? 3 : 4;
    if (at + header >= len)
        return false;
    unsigned map = header == 2 ? 1 : bytes[at + 1] & (header == 3 ? 0x1f : 0x07);
    op->at = at + header;
    static const uint8_t escapes[] = {0, 0x0f, 0x38, 0x3a};
    op->follows = opcode_in_map(map < sizeof escapes ? escapes[map] : 0, bytes[op->at]);
    return true;
}

static bool find_opcode(const uint8_t *bytes, size_t len, struct opcode *op)
{
    size_t at = 0;
    *op = (struct opcode){0};
    for (; at < len && is_prefix(bytes[at]); at++)
        op->short_operands |= bytes[at] == 0x66;
    if (at < len && (bytes[at] & 0xf0) == 0x40)
        op->prefix_rex = bytes[at++];
    if (at >= len)
        return false;
    if (bytes[at] == 0x0f)
        return find_in_0f_map(bytes, len, at, op);
    if (bytes[at] == 0xc4 || bytes[at] == 0xc5 || bytes[at] == 0x62)
        return find_in_vex_map(bytes, len, at, op);
    op->at = at;
    op->follows = one_byte_map[bytes[at]];
    return true;
}

/* Bytes of the ModRM byte at the start of BYTES, its SIB and its displacement; 0: does not fit. */
static size_t modrm_length(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    unsigned mod = bytes[0] >> 6, rm = bytes[0] & 7;
    size_t n = 1;
    if (mod != 3 && rm == 4) {
        if (len < 2)
            return 0;
        n++;
        if (mod == 0 && (bytes[1] & 7) == 5)
            n += 4;
    }
    if (mod == 1)
        n += 1;
    if (mod == 2 || (mod == 0 && rm == 5))
        n += 4;
    return n <= len ? n : 0;
}

static size_t immediate_length(const struct opcode *op, unsigned modrm_reg)
{
    size_t z = op->short_operands ? 2 : 4;
    switch (op->follows) {
    case 'b':
    case 'B':
        return 1;
    case 'w':
        return 2;
    case 'e':
        return 3;
    case 'z':
    case 'Z':
        return z;
    case 'v':
        return op->prefix_rex & 8 ? 8 : z;
    case 'a':
        return 8;
    case 't':
        return modrm_reg <= 1 ? 1 : 0;
    case 'T':
        return modrm_reg <= 1 ? z : 0;
    default:
        return 0;
    }
}

size_t insn_length(const uint8_t *bytes, size_t len)
{
    struct opcode op;
    if (len > INSN_MAX_BYTES)
        len = INSN_MAX_BYTES;
    if (!find_opcode(bytes, len, &op) || op.follows == '.')
        return 0;
    size_t n = op.at + 1;
    unsigned modrm_reg = 0;
    if (strchr("mBZtT", op.follows)) {
        size_t modrm = modrm_length(bytes + n, len - n);
        if (modrm == 0)
            return 0;
        modrm_reg = bytes[n] >> 3 & 7;
        n += modrm;
    }
    n += immediate_length(&op, modrm_reg);
    return n <= len ? n : 0;
}

enum call_kind call_before(const uint8_t *bytes, size_t len, int64_t *ret_rel)
{
    const uint8_t *end = bytes + len;
    if (len >= 5 && end[-5] == 0xe8) {
        *ret_rel = get_i32(end - 4);
        return CALL_DIRECT;
    }
    /* FF /2, whose operand reaches exactly to the end. */
    for (size_t n = 2; n <= CALL_MAX_BYTES && n <= len; n++) {
        const uint8_t *call = end - n;
        if (call[0] != 0xff || (call[1] & 0x38) != 0x10 || modrm_length(call + 1, n - 1) != n - 1)
            continue;
        if (call[1] != 0x15)
            return CALL_INDIRECT;
        *ret_rel = get_i32(call + 2);
        return CALL_SLOT;
    }
    return CALL_NONE;
}

/* Where the jump at BYTES leads, relative to its end. */
static bool jump_distance(const uint8_t *bytes, size_t len, int64_t *ret)
{
    bool near_jmp = bytes[0] == 0xe9, near_jcc = bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80;
    bool short_jump = bytes[0] == 0xeb || (bytes[0] & 0xf0) == 0x70;
    if (near_jmp || near_jcc)
        *ret = get_i32(bytes + len - 4);
    else
        *ret = (bytes[len - 1] ^ 0x80) - 0x80;
    return near_jmp || near_jcc || short_jump;
}

bool code_jumps_to(const uint8_t *code, size_t len, int64_t target)
{
    size_t n;
    for (size_t at = 0; (n = insn_length(code + at, len - at)) > 0; at += n) {
        int64_t distance;
        size_t skip = code[at] == 0xf2; /* bnd */
        if (n >= 2 + skip && jump_distance(code + at + skip, n - skip, &distance) &&
            (int64_t)(at + n) + distance == target)
            return true;
    }
    return false;
}

bool code_jumps_away(const uint8_t *code, size_t len)
{
    size_t n;
    for (size_t at = 0; (n = insn_length(code + at, len - at)) > 0; at += n) {
        size_t skip = at;
        while (skip + 1 < at + n && (code[skip] == 0xf2 || code[skip] == 0x3e || /* bnd, notrack */
                                     (code[skip] & 0xf0) == 0x40))
            skip++;
        int64_t distance;
        bool indirect = n >= 2 && code[skip] == 0xff && (code[skip + 1] & 0x38) == 0x20;
        if (indirect)
            return true;
        if (at + n - skip < 2 || !jump_distance(code + skip, at + n - skip, &distance))
            continue;
        int64_t target = (int64_t)(at + n) + distance;
        if (target < 0 || target > (int64_t)len)
            return true;
    }
    return false;
}

/* Do the LEN bytes of CODE from START on follow clone's system call, and is AT the start of one
 * of their instructions? */
static bool is_clone_return(const uint8_t *code, size_t len, size_t start, size_t at)
{
    static const uint8_t syscall_test[] = {0x0f, 0x05, 0x48, 0x85, 0xc0}; /* test rax, rax */
    enum { TEST_AT = 2, JE = 0x74, JE_BYTES = 2, RET = 0xc3 };
    if (start < TEST_AT || memcmp(code + start - TEST_AT, syscall_test, sizeof syscall_test) != 0)
        return false;
    size_t jl = start + sizeof syscall_test - TEST_AT;
    size_t je = jl + (code[jl] == 0x0f ? 6 : 2);
    bool is_jl = code[jl] == 0x7c || (code[jl] == 0x0f && code[jl + 1] == 0x8c);
    return is_jl && je + JE_BYTES < len && code[je] == JE && code[je + JE_BYTES] == RET &&
           (at == start || at == jl || at == je || at == je + JE_BYTES);
}

bool code_is_behind_clone(const uint8_t *code, size_t len, size_t at)
{
    for (size_t before = 0; before <= CLONE_RETURN_MAX_BYTES && before <= at; before++)
        if (len - (at - before) >= CLONE_RETURN_LEAST_BYTES &&
            is_clone_return(code, len, at - before, at))
            return true;
    return false;
}

bool plt_stub_slot(const uint8_t *code, size_t len, int64_t *ret_rel)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    enum { MOV_BYTES = 6 };
    size_t at = 0;
    if (len >= sizeof endbr64 && memcmp(code, endbr64, sizeof endbr64) == 0)
        at += sizeof endbr64;
    if (len - at > MOV_BYTES && code[at] == 0x41 && code[at + 1] == 0xbb) /* mold's: mov r11d, N */
        at += MOV_BYTES;
    if (at < len && code[at] == 0xf2) /* bnd */
        at++;
    if (len - at < 6 || code[at] != 0xff || code[at + 1] != 0x25)
        return false;
    *ret_rel = (int64_t)at + 6 + get_i32(code + at + 2);
    return true;
}

bool code_is_nop(const uint8_t code[NOP_BYTES])
{
    return code[0] == 0x90;
}
