#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

const uint8_t *feed_bytes(struct feed *f, size_t len, size_t *ret_len)
{
    const uint8_t *bytes = f->at;
    *ret_len = len < f->left ? len : f->left;
    f->at += *ret_len;
    f->left -= *ret_len;
    return bytes;
}

static uint64_t take(struct feed *f, size_t bytes)
{
    uint64_t value = 0;
    size_t len;
    const uint8_t *from = feed_bytes(f, bytes, &len);
    if (len)
        memcpy(&value, from, len);
    return value;
}

uint8_t feed_u8(struct feed *f)
{
    return (uint8_t)take(f, 1);
}

uint16_t feed_u16(struct feed *f)
{
    return (uint16_t)take(f, 2);
}

uint32_t feed_u32(struct feed *f)
{
    return (uint32_t)take(f, 4);
}

uint64_t feed_u64(struct feed *f)
{
    return take(f, 8);
}

char *feed_string(struct feed *f)
{
    size_t len;
    const uint8_t *bytes = feed_bytes(f, feed_u8(f), &len);
    char *s = xmalloc(len + 1);
    if (len)
        memcpy(s, bytes, len);
    s[len] = '\0';
    return s;
}

void fuzz_check(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

/* The code point at *S, which moves behind it; UINT32_MAX: no well-formed UTF-8.  Source: RFC
 * 3629. */
static uint32_t next_character(const unsigned char **s, const unsigned char *end)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    unsigned char first = *(*s)++;
    size_t more = first < 0x80 ? 0 : first < 0xc0 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    uint32_t c = more ? first & (0x3fU >> more) : first;
    if (more == 4 || (size_t)(end - *s) < more)
        return UINT32_MAX;
    for (size_t i = 0; i < more; i++) {
        if ((**s & 0xc0) != 0x80)
            return UINT32_MAX;
        c = c << 6 | (*(*s)++ & 0x3f);
    }
    bool ok = c >= least[more] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    return ok ? c : UINT32_MAX;
}

bool is_plain_text(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    const unsigned char *end = s + len;
    while (s < end) {
        uint32_t c = next_character(&s, end);
        bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
        if (c == UINT32_MAX || (c < 0x20 && c != '\n') || (c >= 0x7f && c < 0xa0) || turns)
            return false;
    }
    return true;
}

bool take_word(const char **at, const char *end, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}
