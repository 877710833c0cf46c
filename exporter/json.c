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

/* Files are full of numbers: snprintf() took a third of the time to write one. */
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

void json_hex(struct json *j, uint64_t value)
{
    char s[24];
    (void)snprintf(s, sizeof s, "0x%llx", (unsigned long long)value);
    json_string(j, s);
}

void json_raw(struct json *j, const char *value)
{
    begin_value(j);
    put(j, value, strlen(value));
}

void json_bool(struct json *j, bool value)
{
    json_raw(j, value ? "true" : "false");
}

void json_null(struct json *j)
{
    json_raw(j, "null");
}

void json_string_field(struct json *j, const char *key, const char *s)
{
    if (json_known(j, key, s != NULL))
        json_string(j, s);
}

void json_optional_field(struct json *j, const char *key, const char *s)
{
    if (s)
        json_string_field(j, key, s);
}

bool json_known(struct json *j, const char *key, bool known)
{
    json_key(j, key);
    if (!known)
        json_null(j);
    return known;
}

void json_int_field(struct json *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_int(j, value);
}

void json_bool_field(struct json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

void json_number_field(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

void json_hex_field(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_hex(j, value);
}

void json_array_field(struct json *j, const char *key)
{
    json_key(j, key);
    json_array(j);
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

/* The code point of the character at S, of two or three bytes. */
static unsigned code_point(const char *s, size_t length)
{
    const unsigned char *u = (const unsigned char *)s;
    if (length == 2)
        return (u[0] & 0x1fU) << 6 | (u[1] & 0x3fU);
    return (u[0] & 0xfU) << 12 | (u[1] & 0x3fU) << 6 | (u[2] & 0x3fU);
}

void json_quote(struct text *out, const char *s)
{
    size_t len = strlen(s);
    text_add(out, "\"");
    while (len) {
        size_t n = utf8_length(s, len);
        if (n == 0)
            text_addf(out, "\\\\x%02x", (unsigned char)*s);
        else if (n == 1)
            quote_ascii(out, (unsigned char)*s);
        else if (utf8_is_order(s, n))
            text_addf(out, "\\u%04x", code_point(s, n));
        else
            text_add_bytes(out, s, n);
        n = n ? n : 1;
        s += n;
        len -= n;
    }
    text_add(out, "\"");
}
