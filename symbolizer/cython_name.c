#include "symbolizer/cython_name.h"

#include <string.h>

struct part {
    const char *s;
    size_t len;
};

/* Python's functions by their wrappers and their bodies, those of generators; and C's functions. */
static const struct kind {
    const char *prefix;
    bool numbered, always; /* the function's name has a number before it; the first one's, too */
} kinds[] = {
    {"__pyx_pw_", true, true},
    {"__pyx_pf_", true, false},
    {"__pyx_gb_", true, false},
    {"__pyx_f_", false, false},
};

static const struct kind *kind_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (len > strlen(kinds[i].prefix) && str_starts(name, kinds[i].prefix))
            return &kinds[i];
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The number that REST begins with goes off it; at most so many digits as no longer name has. */
static size_t take_number(struct part *rest)
{
    enum { MOST_DIGITS = 4 };
    size_t number = 0;
    for (int i = 0; i < MOST_DIGITS && rest->len && is_digit(*rest->s); i++) {
        number = number * 10 + (size_t)(*rest->s - '0');
        rest->s++;
        rest->len--;
    }
    return number;
}

/* The scope that REST begins with goes off it, and the '_' behind it.  "3get_it" is a function's
 * number and name where a number has to come, and a scope and a name elsewhere. */
static bool take_scope(const struct kind *kind, struct part *rest, struct part *ret)
{
    struct part after = *rest;
    size_t n = take_number(&after);
    if (!n || n + 1 >= after.len || after.s[n] != '_' || is_digit(*after.s) ||
        (kind->always && !is_digit(after.s[n + 1])))
        return false;
    *ret = (struct part){after.s, n};
    *rest = (struct part){after.s + n + 1, after.len - n - 1};
    return true;
}

/* Cython's own module of memory views is a scope whose '.' is written out, but not counted. */
static void take_memory_view(struct part *rest, struct part *ret)
{
    static const char scope[] = "15View_dot_MemoryView_";
    size_t n = strlen(scope);
    if (rest->len <= n || memcmp(rest->s, scope, n) != 0)
        return;
    *ret = (struct part){"memoryview", strlen("memoryview")};
    *rest = (struct part){rest->s + n, rest->len - n};
}

bool cython_name_add(const char *name, size_t len, struct text *out)
{
    const struct kind *kind = kind_of(name, len);
    struct part scope = {.s = NULL};
    if (!kind)
        return false;
    struct part rest = {name + strlen(kind->prefix), len - strlen(kind->prefix)};
    take_memory_view(&rest, &scope);
    while (take_scope(kind, &rest, &scope))
        ;
    if (kind->numbered)
        (void)take_number(&rest);
    if (!scope.s || !rest.len || is_digit(*rest.s))
        return false;
    text_add_bytes(out, scope.s, scope.len);
    text_add(out, ".");
    text_add_bytes(out, rest.s, rest.len);
    return true;
}
