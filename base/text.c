#include "base/text.h"

#include <assert.h>
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

bool str_is_one_of(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(s, *list))
            return true;
    return false;
}

bool str_starts_any(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (str_starts(s, *list))
            return true;
    return false;
}

bool str_ends_any(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (str_ends(s, *list))
            return true;
    return false;
}

bool str_has_any(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (strstr(s, *list))
            return true;
    return false;
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool path_ends(const char *path, const char *end)
{
    return str_ends(path, end) || (*end == '/' && str_eq(path, end + 1));
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
    if (len)
        memcpy(t->s + t->len, s, len);
    t->len += len;
    t->s[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
    text_add_bytes(t, s, strlen(s));
}

const char *text_str(const struct text *t)
{
    return t->len ? t->s : "";
}

void text_addf(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    char brief[256]; /* nearly all fit, and are formatted once */
    int n = vsnprintf(brief, sizeof brief, format, args);
    va_end(args);
    if (n >= (int)sizeof brief) {
        t->s = array_reserve(t->s, &t->capacity, t->len + (size_t)n + 1, 1);
        (void)vsnprintf(t->s + t->len, (size_t)n + 1, format, again);
        t->len += (size_t)n;
    } else if (n > 0) {
        text_add_bytes(t, brief, (size_t)n);
    }
    va_end(again);
}

size_t utf8_length(const char *s, size_t len)
{
    static const struct {
        unsigned char first, last, second_low, second_high, length;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *u = (const unsigned char *)s;
    for (size_t i = 0; len && i < sizeof forms / sizeof *forms; i++) {
        size_t length = forms[i].length;
        if (u[0] < forms[i].first || u[0] > forms[i].last)
            continue;
        if (length > len ||
            (length > 1 && (u[1] < forms[i].second_low || u[1] > forms[i].second_high)))
            return 0;
        for (size_t k = 2; k < length; k++)
            if ((u[k] & 0xc0) != 0x80)
                return 0;
        return length;
    }
    return 0;
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

size_t utf8_put(uint32_t c, char ret[4])
{
    size_t n = 0;
    if (c < 0x80) {
        ret[n++] = (char)c;
        return n;
    }
    if (c < 0x800) {
        ret[n++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        ret[n++] = (char)(0xe0 | c >> 12);
        ret[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    } else {
        ret[n++] = (char)(0xf0 | c >> 18);
        ret[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        ret[n++] = (char)(0x80 | (c >> 6 & 0x3f));
    }
    ret[n++] = (char)(0x80 | (c & 0x3f));
    return n;
}

size_t utf8_columns(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += begins_character(s[i]);
    return n;
}

size_t utf8_cut(const char *s, size_t len, size_t columns)
{
    size_t i = 0;
    while (i < len && !(begins_character(s[i]) && columns-- == 0))
        i++;
    return i;
}

/* The bidirectional controls are U+202A to U+202E and U+2066 to U+2069 (Unicode Standard Annex
 * #9). */
bool utf8_is_order(const char *s, size_t length)
{
    const unsigned char *u = (const unsigned char *)s;
    if (length == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    if (length == 2)
        return u[0] == 0xc2 && u[1] < 0xa0;
    return length == 3 && u[0] == 0xe2 &&
           ((u[1] == 0x80 && u[2] >= 0xaa && u[2] <= 0xae) ||
            (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9));
}

static size_t plain_length(const char *s, size_t len)
{
    size_t n = 0;
    while (n < len && s[n] >= ' ' && s[n] <= '~')
        n++;
    return n;
}

void text_add_tame(struct text *t, const char *s, size_t len)
{
    while (len) {
        size_t n = plain_length(s, len);
        if (n) {
            text_add_bytes(t, s, n);
        } else {
            n = utf8_length(s, len);
            bool tame = n && !utf8_is_order(s, n);
            n = n ? n : 1;
            text_add_bytes(t, tame ? s : "?", tame ? n : 1);
        }
        s += n;
        len -= n;
    }
}

void text_add_cut(struct text *t, const char *s, size_t len, size_t columns)
{
    bool fits = utf8_columns(s, len) <= columns;
    text_add_bytes(t, s, fits ? len : utf8_cut(s, len, columns - 1));
    text_add(t, fits ? "" : "…");
}

void text_add_tame_cut(struct text *t, const char *name, size_t columns)
{
    struct text tame = {0};
    text_add_tame(&tame, name, strlen(name));
    text_add_cut(t, text_str(&tame), tame.len, columns);
    text_release(&tame);
}

void text_add_path(struct text *t, const char *path, size_t columns)
{
    struct text tame = {0};
    text_add(&tame, "");
    text_add_tame(&tame, path, strlen(path));
    const char *s = tame.s;
    const size_t root = *s ? 1 + strcspn(s + 1, "/") : 0; /* "/mnt" */
    const size_t used = utf8_columns(s, root) + 2;        /* "/…" */
    const char *rest = s + root;
    if (utf8_columns(s, tame.len) > columns && *rest && used < columns) {
        while (utf8_columns(rest, strlen(rest)) > columns - used && strchr(rest + 1, '/'))
            rest = strchr(rest + 1, '/');
        if (rest > s + root) {
            text_addf(t, "%.*s/…", (int)root, s);
            s = rest;
            columns -= used;
        }
    }
    text_add_cut(t, s, strlen(s), columns);
    text_release(&tame);
}

size_t text_columns(const struct text *t, size_t start)
{
    return utf8_columns(text_str(t) + start, t->len - start);
}

void text_pad(struct text *t, size_t start, size_t column, size_t gap)
{
    size_t used = text_columns(t, start);
    text_addf(t, "%*s", (int)(used + gap < column ? column - used : gap), "");
}

void text_add_group(struct text *t, const char *name)
{
    text_add(t, "");
    while (*name) {
        size_t digits = strspn(name, "0123456789");
        text_add_bytes(t, digits ? "*" : name, 1);
        name += digits ? digits : 1;
    }
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
        size_t columns = utf8_columns(s, len);
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

void text_add_line(struct text *t, const char *s, size_t indent, size_t further, size_t width)
{
    text_addf(t, "%*s", (int)indent, "");
    (void)text_add_wrapped(t, s, indent, further, width);
    text_add(t, "\n");
}

void text_add_thousands(struct text *t, double n)
{
    enum { THOUSAND = 1000, HUNDRED = 100 };
    uint64_t rounded = n > 0 && n < 1e15 ? (uint64_t)(n + 0.5) : 0;
    if (rounded >= THOUSAND)
        rounded = (rounded + HUNDRED / 2) / HUNDRED * HUNDRED;
    if (rounded >= (uint64_t)THOUSAND * THOUSAND)
        text_addf(t, "%.1f million", (double)rounded / THOUSAND / THOUSAND);
    else if (rounded >= THOUSAND)
        text_addf(t, "%llu,%03llu", (unsigned long long)rounded / THOUSAND,
                  (unsigned long long)rounded % THOUSAND);
    else
        text_addf(t, "%llu", (unsigned long long)rounded);
}

void text_add_span(struct text *t, double seconds)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "days"}, {3600, "h"}, {60, "min"}};
    enum { LEAST = 2 }; /* of a unit: "90 s" is said as easily as "1.5 min" */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double n = seconds / units[i].seconds;
        if (n >= LEAST) {
            text_addf(t, n < 10 ? "%.2g %s" : "%.0f %s", n, units[i].name);
            return;
        }
    }
    text_addf(t, "%.3g s", seconds);
}

void text_clear(struct text *t)
{
    t->len = 0;
    if (t->s)
        t->s[0] = '\0';
}

void text_truncate(struct text *t, size_t len)
{
    assert(len <= t->len);
    t->len = len;
    if (t->s)
        t->s[len] = '\0';
}

void text_release(struct text *t)
{
    free(t->s);
    *t = (struct text){0};
}
