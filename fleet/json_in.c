#include "fleet/json_in.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static enum json_in_kind bad(struct json_in *j, const char *why)
{
    if (!j->wrong)
        j->wrong = why;
    return JSON_IN_BAD;
}

/* The next byte that is no space, not taken; −1: none. */
static int peek(struct json_in *j)
{
    struct byte_source *s = j->source;
    for (;;) {
        if (s->at == s->end && !byte_source_more(s)) {
            (void)bad(j, "it ends too early");
            return -1;
        }
        char c = *s->at;
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return (unsigned char)c;
        s->at++;
        if (c == '\n' && byte_source_more(s))
            j->line = s->at;
    }
}

/* ---- strings ---- */

struct filling { /* a text that grows up to a bound; what is behind it is dropped */
    char *to;
    size_t len;
};

static void put(struct filling *f, const char *s, size_t len)
{
    size_t room = JSON_IN_TEXT_BYTES - f->len;
    size_t n = len < room ? len : room;
    memcpy(f->to + f->len, s, n);
    f->len += n;
}

static void put_utf8(struct filling *f, uint32_t c)
{
    char s[4];
    put(f, s, utf8_put(c, s));
}

/* Four hexadecimal digits behind "\u"; UINT32_MAX: they are none. */
static uint32_t take_hex(struct json_in *j)
{
    uint32_t value = 0;
    if (byte_source_ahead(j->source, 4) < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdefABCDEF";
        char c = *j->source->at++;
        const char *at = c ? strchr(digits, c) : NULL;
        if (!at)
            return UINT32_MAX;
        uint32_t digit = (uint32_t)(at - digits);
        value = value << 4 | (digit > 15 ? digit - 6 : digit);
    }
    return value;
}

/* Behind "\u": one character, of one or two such escapes. */
static bool take_unicode(struct json_in *j, struct filling *f)
{
    struct byte_source *s = j->source;
    uint32_t c = take_hex(j);
    if (c == UINT32_MAX)
        return false;
    if (c >= 0xd800 && c < 0xdc00 && byte_source_ahead(s, 6) >= 6 && s->at[0] == '\\' &&
        s->at[1] == 'u') {
        s->at += 2;
        uint32_t low = take_hex(j);
        if (low < 0xdc00 || low >= 0xe000)
            return false;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    put_utf8(f, c >= 0xd800 && c < 0xe000 ? '?' : c);
    return true;
}

static bool take_escape(struct json_in *j, struct filling *f)
{
    static const char letters[] = "bfnrt\"\\/";
    static const char meant[] = "\b\f\n\r\t\"\\/";
    struct byte_source *s = j->source;
    if (!byte_source_more(s))
        return false;
    char c = *s->at++;
    const char *at = c ? strchr(letters, c) : NULL;
    if (at)
        put(f, &meant[at - letters], 1);
    return at || (c == 'u' && take_unicode(j, f));
}

/* The first C of the LEN bytes at AT; their end if there is none. */
static size_t length_to(const char *at, char c, size_t len)
{
    const char *found = memchr(at, c, len);
    return found ? (size_t)(found - at) : len;
}

/* The first byte from AT on that ends a plain part of a string, or END.  Piece by piece, so that no
 * byte is looked at again and again where many are escaped. */
static const char *find_special(const char *at, const char *end)
{
    enum { PIECE = 64 };
    while (at < end) {
        size_t len = end - at < PIECE ? (size_t)(end - at) : PIECE;
        size_t n = length_to(at, '"', len);
        n = length_to(at, '\\', n);
        n = length_to(at, '\n', n);
        at += n;
        if (n < len)
            return at;
    }
    return end;
}

/* The rest of a string, piece by piece. */
static enum json_in_kind take_pieces(struct json_in *j, struct slice *ret)
{
    struct filling f = {.to = j->text};
    struct byte_source *s = j->source;
    while (byte_source_more(s)) {
        const char *from = s->at;
        s->at = find_special(from, s->end);
        put(&f, from, (size_t)(s->at - from));
        if (s->at == s->end)
            continue;
        if (*s->at == '\n')
            return bad(j, "it ends within a text");
        if (*s->at++ == '"') {
            *ret = (struct slice){f.to, f.len};
            return JSON_IN_STRING;
        }
        if (!take_escape(j, &f))
            return bad(j, s->at == s->end && s->ended ? "it ends within a text"
                                                      : "a text has an unknown escape");
    }
    return bad(j, "it ends within a text");
}

/* Behind its quote.  Most strings lie in the window as they are. */
static enum json_in_kind take_string(struct json_in *j, struct slice *ret)
{
    struct byte_source *s = j->source;
    const char *end = find_special(s->at, s->end);
    if (end < s->end && *end == '"' && end - s->at <= JSON_IN_TEXT_BYTES) {
        *ret = (struct slice){s->at, (size_t)(end - s->at)};
        s->at = end + 1;
        return JSON_IN_STRING;
    }
    return take_pieces(j, ret);
}

/* ---- values ---- */

static bool is_bare(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.';
}

/* A number, or a word. */
static enum json_in_kind take_bare(struct json_in *j, struct slice *ret)
{
    enum { MOST_BYTES = 64 };
    struct byte_source *s = j->source;
    size_t there = byte_source_ahead(s, MOST_BYTES + 1);
    size_t len = 0;
    while (len < there && is_bare(s->at[len]))
        len++;
    if (!len || len > MOST_BYTES)
        return bad(j, "it has a value that is none");
    *ret = (struct slice){s->at, len};
    s->at += len;
    if (*ret->s == '-' || (*ret->s >= '0' && *ret->s <= '9'))
        return JSON_IN_NUMBER;
    bool word = slice_is(*ret, "true") || slice_is(*ret, "false") || slice_is(*ret, "null");
    return word ? JSON_IN_WORD : bad(j, "it has a word that is none");
}

static enum json_in_kind open_bracket(struct json_in *j, enum json_in_kind kind)
{
    if (j->depth == JSON_IN_DEPTH)
        return bad(j, "it has too many open brackets");
    j->first[++j->depth] = true;
    return kind;
}

enum json_in_kind json_in_value(struct json_in *j, struct slice *ret)
{
    struct slice own;
    ret = ret ? ret : &own;
    int c = j->wrong ? -1 : peek(j);
    if (c < 0)
        return JSON_IN_BAD;
    if (c != '{' && c != '[' && c != '"')
        return take_bare(j, ret);
    j->source->at++;
    if (c == '"')
        return take_string(j, ret);
    return open_bracket(j, c == '{' ? JSON_IN_OBJECT : JSON_IN_ARRAY);
}

/* Goes behind the comma, or the CLOSING bracket.  False: nothing follows. */
static bool go_on(struct json_in *j, char closing)
{
    int c = j->wrong || !j->depth ? -1 : peek(j);
    if (c < 0)
        return false;
    if (c == closing) {
        j->source->at++;
        j->depth--;
        return false;
    }
    bool first = j->first[j->depth];
    j->first[j->depth] = false;
    if (first)
        return true;
    if (c != ',') {
        (void)bad(j, "a comma is missing");
        return false;
    }
    j->source->at++;
    return true;
}

bool json_in_key(struct json_in *j, struct slice *ret)
{
    *ret = (struct slice){"", 0};
    if (!go_on(j, '}'))
        return false;
    if (json_in_value(j, ret) != JSON_IN_STRING) {
        (void)bad(j, "a key is missing");
        return false;
    }
    /* A key at the window's end must outlive the look at what is behind it. */
    struct byte_source *s = j->source;
    if (ret->s != j->text && s->end - s->at < JSON_IN_DEPTH && !s->ended) {
        memcpy(j->text, ret->s, ret->len);
        ret->s = j->text;
    }
    if (peek(j) != ':') {
        (void)bad(j, "a colon is missing");
        return false;
    }
    s->at++;
    return true;
}

int json_in_peek(struct json_in *j)
{
    return j->wrong ? -1 : peek(j);
}

bool json_in_item(struct json_in *j)
{
    return go_on(j, ']');
}

/* Closes what is open above DEPTH. */
static void close_to(struct json_in *j, unsigned depth, const bool *objects)
{
    while (j->depth > depth && !j->wrong) {
        struct slice key;
        bool more = objects[j->depth] ? json_in_key(j, &key) : json_in_item(j);
        if (more)
            return;
    }
}

void json_in_skip(struct json_in *j)
{
    bool objects[JSON_IN_DEPTH + 1];
    unsigned depth = j->depth;
    do {
        enum json_in_kind kind = json_in_value(j, NULL);
        if (kind == JSON_IN_OBJECT || kind == JSON_IN_ARRAY)
            objects[j->depth] = kind == JSON_IN_OBJECT;
        close_to(j, depth, objects);
    } while (j->depth > depth && !j->wrong);
}

static void skip_opened(struct json_in *j, enum json_in_kind kind)
{
    struct slice key;
    if (kind == JSON_IN_OBJECT)
        while (json_in_key(j, &key))
            json_in_skip(j);
    if (kind == JSON_IN_ARRAY)
        while (json_in_item(j))
            json_in_skip(j);
}

bool json_in_text(struct json_in *j, char *ret, size_t bytes)
{
    struct slice text;
    enum json_in_kind kind = json_in_value(j, &text);
    if (kind != JSON_IN_STRING) {
        skip_opened(j, kind);
        return false;
    }
    size_t len = text.len < bytes - 1 ? text.len : bytes - 1;
    memcpy(ret, text.s, len);
    ret[len] = '\0';
    return true;
}

bool json_in_int(struct json_in *j, int64_t *ret)
{
    struct slice text;
    char number[32];
    enum json_in_kind kind = json_in_value(j, &text);
    if (kind != JSON_IN_NUMBER || text.len >= sizeof number) {
        skip_opened(j, kind);
        return false;
    }
    memcpy(number, text.s, text.len);
    number[text.len] = '\0';
    *ret = strtoll(number, NULL, 10);
    return true;
}

bool json_in_bool(struct json_in *j, bool *ret)
{
    struct slice text;
    enum json_in_kind kind = json_in_value(j, &text);
    if (kind != JSON_IN_WORD || *text.s == 'n') {
        skip_opened(j, kind);
        return false;
    }
    *ret = *text.s == 't';
    return true;
}

bool json_in_object(struct json_in *j)
{
    enum json_in_kind kind = json_in_value(j, NULL);
    if (kind != JSON_IN_OBJECT)
        skip_opened(j, kind);
    return kind == JSON_IN_OBJECT;
}

bool json_in_array(struct json_in *j)
{
    enum json_in_kind kind = json_in_value(j, NULL);
    if (kind != JSON_IN_ARRAY)
        skip_opened(j, kind);
    return kind == JSON_IN_ARRAY;
}
