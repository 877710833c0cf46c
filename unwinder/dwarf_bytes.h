/* Reading DWARF's numbers from bytes that may be hostile, or change while they are read.  After the
 * first read past the end all others give 0, so the reader asks once, at last, for BAD.
 * Source: DWARF 5 §7.6. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left to read. */
struct dwarf_bytes {
    const uint8_t *at, *end;
    bool bad;
};

static inline size_t dwarf_left(const struct dwarf_bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline void dwarf_fail(struct dwarf_bytes *b)
{
    b->at = b->end;
    b->bad = true;
}

/* The next N bytes, which are skipped. */
static inline struct dwarf_bytes dwarf_part(struct dwarf_bytes *b, uint64_t n)
{
    if (n > dwarf_left(b))
        dwarf_fail(b);
    else
        b->at += n;
    return (struct dwarf_bytes){b->bad ? b->at : b->at - n, b->at, b->bad};
}

static inline uint8_t dwarf_u8(struct dwarf_bytes *b)
{
    if (b->at < b->end)
        return *b->at++;
    b->bad = true;
    return 0;
}

/* A number of N bytes, 8 at most. */
static inline uint64_t dwarf_unsigned(struct dwarf_bytes *b, size_t n)
{
    uint64_t value = 0;
    struct dwarf_bytes from = dwarf_part(b, n);
    if (!from.bad)
        memcpy(&value, from.at, n);
    return value;
}

static inline uint64_t dwarf_signed(struct dwarf_bytes *b, size_t n)
{
    const unsigned unused = 64 - 8 * (unsigned)n;
    return (uint64_t)((int64_t)(dwarf_unsigned(b, n) << unused) >> unused);
}

/* LEB128; RET_BITS is how many bits were there. */
static inline uint64_t dwarf_leb(struct dwarf_bytes *b, unsigned *ret_bits)
{
    uint64_t value = 0;
    uint8_t byte = 0x80;
    for (*ret_bits = 0; byte & 0x80 && *ret_bits < 64; *ret_bits += 7) {
        byte = dwarf_u8(b);
        value |= (uint64_t)(byte & 0x7f) << *ret_bits;
    }
    if (byte & 0x80) /* longer than any number of 64 bits */
        dwarf_fail(b);
    return value;
}

static inline uint64_t dwarf_uleb(struct dwarf_bytes *b)
{
    unsigned bits;
    return dwarf_leb(b, &bits);
}

static inline uint64_t dwarf_sleb(struct dwarf_bytes *b)
{
    unsigned bits;
    uint64_t value = dwarf_leb(b, &bits);
    return bits < 64 && value >> (bits - 1) & 1 ? value | UINT64_MAX << bits : value;
}
