#include "symbolizer/rust_v0.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

enum {
    MAX_BYTES = 4096,
    MAX_DEPTH = 1024, /* libiberty's, too */
    MAX_BOUND = 1000, /* lifetimes of one binder */
};

/* The kinds of things that back references repeat. */
enum rust_kind { PATH = 1, TYPE = 2, CONSTANT = 4 };

struct reader {
    const char *begin, *s;
    int depth;
    uint8_t begun[MAX_BYTES]; /* the kinds that begin there */
};

static bool read_path(struct reader *r);
static bool read_type(struct reader *r);

static bool eat(struct reader *r, char c)
{
    bool there = *r->s == c;
    r->s += there;
    return there;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Digits of base 62 and an underscore; none: 0, else one more than they say.  Saturates. */
static bool read_number(struct reader *r, uint32_t *ret)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *first = r->s;
    uint32_t n = 0;
    for (; is_alphanumeric(*r->s); r->s++) {
        n = n * 62 + (uint32_t)(strchr(digits, *r->s) - digits);
        n = n < MAX_BYTES ? n : MAX_BYTES;
    }
    *ret = n + (r->s != first);
    return eat(r, '_');
}

static bool skip_number(struct reader *r)
{
    uint32_t n;
    return read_number(r, &n);
}

static bool read_binder(struct reader *r)
{
    uint32_t n;
    return !eat(r, 'G') || (read_number(r, &n) && n < MAX_BOUND);
}

/* KINDS: bits. */
static bool read_back_reference(struct reader *r, unsigned kinds)
{
    size_t here = (size_t)(r->s - r->begin) - 1; /* its "B" */
    uint32_t at;
    return read_number(r, &at) && at < here && r->begun[at] & kinds;
}

static bool read_identifier(struct reader *r)
{
    size_t n = 0;
    (void)eat(r, 'u');
    if (!is_digit(*r->s))
        return false;
    if (!eat(r, '0'))
        while (is_digit(*r->s) && n < MAX_BYTES)
            n = n * 10 + (size_t)(*r->s++ - '0');
    (void)eat(r, '_');
    if (strnlen(r->s, n) < n)
        return false;
    r->s += n;
    return true;
}

static bool read_disambiguator(struct reader *r)
{
    return !eat(r, 's') || skip_number(r);
}

static bool read_constant(struct reader *r)
{
    r->begun[r->s - r->begin] |= CONSTANT;
    if (eat(r, 'B'))
        return read_back_reference(r, CONSTANT);
    if (eat(r, 'p'))
        return true;
    if (!*r->s || !strchr("hitmyojaslxnbc", *r->s))
        return false;
    r->s++;
    (void)eat(r, 'n');
    r->s += strspn(r->s, "0123456789abcdef");
    return eat(r, '_');
}

static bool read_generic_argument(struct reader *r)
{
    if (eat(r, 'L'))
        return skip_number(r);
    return eat(r, 'K') ? read_constant(r) : read_type(r);
}

/* As many as there are before an "E". */
static bool read_all(struct reader *r, bool (*read_one)(struct reader *r))
{
    while (!eat(r, 'E'))
        if (!read_one(r))
            return false;
    return true;
}

static bool read_dyn_trait(struct reader *r)
{
    if (!read_path(r))
        return false;
    while (eat(r, 'p'))
        if (!read_identifier(r) || !read_type(r))
            return false;
    return true;
}

static bool read_function(struct reader *r)
{
    if (!read_binder(r))
        return false;
    (void)eat(r, 'U');
    if (eat(r, 'K') && !eat(r, 'C') && !read_identifier(r))
        return false;
    return read_all(r, read_type) && read_type(r);
}

static bool read_compound_type(struct reader *r)
{
    char tag = *r->s;
    r->s += tag != '\0';
    switch (tag) {
    case 'R':
    case 'Q':
        return (!eat(r, 'L') || skip_number(r)) && read_type(r);
    case 'P':
    case 'O':
    case 'S':
        return read_type(r);
    case 'A':
        return read_type(r) && read_constant(r);
    case 'T':
        return read_all(r, read_type);
    case 'F':
        return read_function(r);
    case 'D':
        return read_binder(r) && read_all(r, read_dyn_trait) && eat(r, 'L') && skip_number(r);
    case 'B':
        return read_back_reference(r, TYPE | PATH);
    default:
        r->s -= tag != '\0';
        return read_path(r);
    }
}

static bool read_type(struct reader *r)
{
    r->begun[r->s - r->begin] |= TYPE;
    if (*r->s >= 'a' && *r->s <= 'z') {
        r->s++;
        return true;
    }
    bool sound = r->depth++ < MAX_DEPTH && read_compound_type(r);
    r->depth--;
    return sound;
}

static bool read_name_space(struct reader *r)
{
    bool there = is_alphanumeric(*r->s);
    r->s += there;
    return there;
}

static bool read_tagged_path(struct reader *r)
{
    char tag = *r->s;
    r->s += tag != '\0';
    switch (tag) {
    case 'C':
        return read_disambiguator(r) && read_identifier(r);
    case 'N':
        return read_name_space(r) && read_path(r) && read_disambiguator(r) && read_identifier(r);
    case 'M':
        return read_disambiguator(r) && read_path(r) && read_type(r);
    case 'X':
        return read_disambiguator(r) && read_path(r) && read_type(r) && read_path(r);
    case 'Y':
        return read_type(r) && read_path(r);
    case 'I':
        return read_path(r) && read_all(r, read_generic_argument);
    case 'B':
        return read_back_reference(r, PATH);
    default:
        return false;
    }
}

static bool read_path(struct reader *r)
{
    r->begun[r->s - r->begin] |= PATH;
    bool sound = r->depth++ < MAX_DEPTH && read_tagged_path(r);
    r->depth--;
    return sound;
}

bool rust_v0_is_sound(const char *name)
{
    struct reader r = {.begin = name + 2, .s = name + 2};
    if (!str_starts(name, "_R") || strnlen(name, MAX_BYTES) == MAX_BYTES)
        return false;
    /* A second path says for which library it was made. */
    return read_path(&r) && (!*r.s || (read_path(&r) && !*r.s));
}
