#include "exporter/json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put(struct json *j, const char *s, size_t len)
{
    if (j->error)
        return;
    errno = 0;
    if (fwrite_unlocked(s, 1, len, j->out) != len)
        j->error = errno ? -errno : -EIO;
}

static void begin_value(struct json *j)
{
    if (j->comma)
        put(j, ",", 1);
    j->comma = true;
}

static void open_bracket(struct json *j, const char *bracket)
{
    begin_value(j);
    put(j, bracket, 1);
    j->comma = false;
    j->depth++;
}

static void close_bracket(struct json *j, const char *bracket)
{
    assert(j->depth);
    put(j, bracket, 1);
    j->comma = true;
    j->depth--;
}

void json_object(struct json *j)
{
    open_bracket(j, "{");
}

void json_end_object(struct json *j)
{
    close_bracket(j, "}");
}

void json_array(struct json *j)
{
    open_bracket(j, "[");
}

void json_end_array(struct json *j)
{
    close_bracket(j, "]");
}

void json_key(struct json *j, const char *key)
{
    json_string(j, key);
    put(j, ":", 1);
    j->comma = false;
}

void json_string(struct json *j, const char *s)
{
    struct text quoted = {0};
    json_quote(&quoted, s);
    begin_value(j);
    put(j, quoted.s, quoted.len);
    text_release(&quoted);
}

/* Files are full of these: a third of the time to write one went into snprintf(). */
void json_int(struct json *j, int64_t value)
{
    char s[24];
    char *at = s + sizeof s;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    begin_value(j);
    put(j, at, (size_t)(s + sizeof s - at));
}

void json_number(struct json *j, double value)
{
    if (!isfinite(value)) {
        json_null(j);
        return;
    }
    char s[40];
    int len = snprintf(s, sizeof s, "%.15g", value);
    if (strtod(s, NULL) != value)
        len = snprintf(s, sizeof s, "%.17g", value);
    begin_value(j);
    put(j, s, (size_t)len);
}

static void literal(struct json *j, const char *word)
{
    begin_value(j);
    put(j, word, strlen(word));
}

void json_bool(struct json *j, bool value)
{
    literal(j, value ? "true" : "false");
}

void json_null(struct json *j)
{
    literal(j, "null");
}

void json_newline(struct json *j)
{
    if (j->comma)
        put(j, ",", 1);
    put(j, "\n", 1);
    j->comma = false;
}

int json_finish(struct json *j)
{
    assert(!j->depth);
    put(j, "\n", 1);
    errno = 0;
    if (!j->error && fflush(j->out) != 0)
        j->error = errno ? -errno : -EIO;
    return j->error;
}

/* The length of the well-formed UTF-8 sequence at S, 0 if there is none.
 * Source: Unicode 15 table 3-7; a NUL ends S, so no byte past it is looked at. */
static size_t utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char first, last, second_low, second_high, length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        size_t length = forms[i].length;
        if (length > 1 && (s[1] < forms[i].second_low || s[1] > forms[i].second_high))
            return 0;
        for (size_t k = 2; k < length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return length;
    }
    return 0;
}

static void quote_ascii(struct text *out, unsigned char c)
{
    if (c == '"' || c == '\\')
        text_addf(out, "\\%c", c);
    else if (c == '\n')
        text_add(out, "\\n");
    else if (c == '\t')
        text_add(out, "\\t");
    else if (c < 0x20 || c == 0x7f)
        text_addf(out, "\\u%04x", c);
    else
        text_add_bytes(out, (const char *)&c, 1);
}

void json_quote(struct text *out, const char *s)
{
    text_add(out, "\"");
    while (*s) {
        size_t length = utf8_length((const unsigned char *)s);
        if (length == 0)
            text_addf(out, "\\\\x%02x", (unsigned char)*s);
        else if (length == 1)
            quote_ascii(out, (unsigned char)*s);
        else
            text_add_bytes(out, s, length);
        s += length ? length : 1;
    }
    text_add(out, "\"");
}
