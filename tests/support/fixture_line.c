#include "tests/support/fixture_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* ---- writing ---- */

void line_add_number(struct text *out, const char *key, int64_t value)
{
    if (value)
        text_addf(out, " %s=%lld", key, (long long)value);
}

void line_add_text(struct text *out, const char *key, const char *text)
{
    text_addf(out, " %s=\"", key);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            text_addf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            text_addf(out, "\\x%02x", c);
        else
            text_add_bytes(out, text, 1);
    }
    text_add(out, "\"");
}

void line_add_double(struct text *out, const char *key, double value)
{
    if (value == 0)
        return;
    char shortest[32];
    int digits = 0;
    do /* the fewest digits that read back */
        (void)snprintf(shortest, sizeof shortest, "%.*g", ++digits, value);
    while (digits < 17 && strtod(shortest, NULL) != value);
    text_addf(out, " %s=%s", key, shortest);
}

static void add_string(struct text *out, const struct profile *p, const char *key, string_id id)
{
    if (id.ix)
        line_add_text(out, key, profile_text(p, id));
}

static void add_field(struct text *out, const struct profile *p, const struct field *f,
                      const void *at)
{
    switch (f->type) {
    case FIELD_BOOL:
        line_add_number(out, f->key, *(const bool *)at);
        break;
    case FIELD_INT:
        line_add_number(out, f->key, *(const int32_t *)at);
        break;
    case FIELD_UINT:
    case FIELD_ID:
        line_add_number(out, f->key, *(const uint32_t *)at);
        break;
    case FIELD_I64:
        line_add_number(out, f->key, *(const int64_t *)at);
        break;
    case FIELD_U64:
        if (*(const uint64_t *)at)
            text_addf(out, " %s=%llu", f->key, *(const unsigned long long *)at);
        break;
    case FIELD_DOUBLE:
        line_add_double(out, f->key, *(const double *)at);
        break;
    case FIELD_STRING:
        add_string(out, p, f->key, *(const string_id *)at);
        break;
    case FIELD_TEXT:
        if (*(char *const *)at)
            line_add_text(out, f->key, *(char *const *)at);
        break;
    case FIELD_WORD:
        if (*(const uint32_t *)at)
            text_addf(out, " %s=%s", f->key, f->words[*(const uint32_t *)at]);
        break;
    }
}

void line_add_fields(struct text *out, const struct profile *p, const struct field *fields,
                     size_t n, const void *item)
{
    for (size_t i = 0; i < n; i++)
        add_field(out, p, &fields[i], (const char *)item + fields[i].at);
}

/* ---- reading ---- */

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Undoes the escapes of the text from S on, in place.  Returns what follows its closing quote; NULL
 * if it has none. */
static char *unquote(char *s)
{
    char *to = s;
    for (; *s && *s != '"'; s++) {
        if (*s == '\\' && s[1] == 'x' && hex_digit(s[2]) >= 0 && hex_digit(s[3]) >= 0) {
            *to++ = (char)(hex_digit(s[2]) << 4 | hex_digit(s[3]));
            s += 3;
        } else {
            s += *s == '\\' && s[1];
            *to++ = *s;
        }
    }
    if (!*s)
        return NULL;
    *to = '\0';
    return s + 1;
}

/* Ends the word at S, and returns what follows the space behind it. */
static char *end_word(char *s)
{
    s += strcspn(s, " ");
    if (*s)
        *s++ = '\0';
    return s;
}

const char *line_parse(struct line *ret, char *s)
{
    ret->word = s;
    ret->n = 0;
    s = end_word(s);
    while (*s) {
        char *equals = s + strcspn(s, "= ");
        if (*equals != '=')
            return "a field without '='";
        if (ret->n == LINE_PAIRS)
            return "too many fields";
        *equals = '\0';
        ret->pairs[ret->n].key = s;
        bool quoted = equals[1] == '"';
        s = equals + 1 + quoted;
        ret->pairs[ret->n++].value = s;
        s = quoted ? unquote(s) : end_word(s);
        if (!s)
            return "a text without its closing quote";
        s += quoted && *s == ' ';
    }
    return NULL;
}

const char *line_value(const struct line *line, const char *key)
{
    for (size_t i = 0; i < line->n; i++)
        if (str_eq(line->pairs[i].key, key))
            return line->pairs[i].value;
    return NULL;
}

static bool read_i64(const char *s, int64_t *ret)
{
    return parse_whole_i64(s, INT64_MIN, INT64_MAX, ret) == 0;
}

uint32_t line_number(const struct line *line, const char *key)
{
    const char *s = line_value(line, key);
    int64_t value = 0;
    return s && parse_whole_i64(s, 0, UINT32_MAX, &value) == 0 ? (uint32_t)value : 0;
}

static bool read_u64(const char *s, uint64_t *ret)
{
    const char *end = s + strlen(s);
    return parse_u64(s, end, 10, ret) == end;
}

static bool read_double(const char *s, double *ret)
{
    char *end;
    *ret = strtod(s, &end);
    return end > s && !*end;
}

static bool read_word(const char *s, const char *const *words, uint32_t *ret)
{
    for (uint32_t i = 0; words[i]; i++)
        if (str_eq(words[i], s)) {
            *ret = i;
            return true;
        }
    return false;
}

static bool read_field(struct profile *p, const struct field *f, const char *value, void *at)
{
    int64_t number = 0;
    switch (f->type) {
    case FIELD_BOOL:
        *(bool *)at = str_eq(value, "1");
        return *(bool *)at || str_eq(value, "0");
    case FIELD_INT:
        if (!read_i64(value, &number) || number < INT32_MIN || number > INT32_MAX)
            return false;
        *(int32_t *)at = (int32_t)number;
        return true;
    case FIELD_UINT:
    case FIELD_ID:
        if (!read_i64(value, &number) || number < 0 || number > UINT32_MAX)
            return false;
        *(uint32_t *)at = (uint32_t)number;
        return true;
    case FIELD_I64:
        return read_i64(value, at);
    case FIELD_U64:
        return read_u64(value, at);
    case FIELD_DOUBLE:
        return read_double(value, at);
    case FIELD_STRING:
        *(string_id *)at = profile_string(p, value);
        return true;
    case FIELD_TEXT:
        free(*(char **)at);
        *(char **)at = xstrdup(value);
        return true;
    case FIELD_WORD:
        return read_word(value, f->words, at);
    }
    return false;
}

const char *line_read_fields(const struct line *line, struct profile *p, const struct field *fields,
                             size_t n, void *item)
{
    for (size_t i = 0; i < n; i++) {
        const char *value = line_value(line, fields[i].key);
        if (value && !read_field(p, &fields[i], value, (char *)item + fields[i].at))
            return fields[i].key;
    }
    return NULL;
}
