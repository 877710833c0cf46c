#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

bool str_eq(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s);
    size_t m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

const char *parse_u64(const char *s, const char *end, unsigned base, uint64_t *ret)
{
    const char *start = s;
    uint64_t value = 0;
    for (; s < end; s++) {
        unsigned digit = (unsigned)digit_of(*s);
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return NULL;
    }
    if (s == start)
        return NULL;
    *ret = value;
    return s;
}

int parse_whole_i64(const char *s, int64_t min, int64_t max, int64_t *ret)
{
    uint64_t value = 0;
    const char *end = s + strlen(s);
    bool negative = *s == '-';
    if (parse_u64(s + negative, end, 10, &value) != end || value > INT64_MAX)
        return -EINVAL;
    int64_t n = negative ? -(int64_t)value : (int64_t)value;
    if (n < min || n > max)
        return -EINVAL;
    *ret = n;
    return 0;
}

void text_add_bytes(struct text *t, const char *s, size_t len)
{
    t->s = array_reserve(t->s, &t->capacity, t->len + len + 1, 1);
    memcpy(t->s + t->len, s, len);
    t->len += len;
    t->s[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
    text_add_bytes(t, s, strlen(s));
}

void text_addf(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        t->s = array_reserve(t->s, &t->capacity, t->len + (size_t)n + 1, 1);
        (void)vsnprintf(t->s + t->len, (size_t)n + 1, format, again);
        t->len += (size_t)n;
    }
    va_end(again);
}

static size_t columns_of(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

size_t text_add_wrapped(struct text *t, const char *s, size_t column, size_t indent, size_t width)
{
    while (*s) {
        if (*s == '\n') {
            text_add(t, "\n");
            column = 0;
            s++;
        }
        size_t spaces = strspn(s, " ");
        s += spaces;
        size_t len = strcspn(s, " \n");
        size_t columns = columns_of(s, len);
        if (column > indent && column + spaces + columns > width) {
            text_addf(t, "\n%*s", (int)indent, "");
            column = indent;
            spaces = 0;
        }
        text_addf(t, "%*s%.*s", (int)spaces, "", (int)len, s);
        s += len;
        column += spaces + columns;
    }
    return column;
}

void text_clear(struct text *t)
{
    t->len = 0;
    if (t->s)
        t->s[0] = '\0';
}

void text_release(struct text *t)
{
    free(t->s);
    *t = (struct text){0};
}
