#include "target/cursor.h"

#include <string.h>

#include "base/text.h"

bool cursor_take(struct cursor *c, const char *literal)
{
    /* Where a line is compared with many words the first letter is mostly another. */
    if (*literal && (c->s >= c->end || *c->s != *literal))
        return false;
    size_t n = strlen(literal);
    if ((size_t)(c->end - c->s) < n || memcmp(c->s, literal, n) != 0)
        return false;
    c->s += n;
    return true;
}

void cursor_skip_spaces(struct cursor *c)
{
    while (c->s < c->end && (*c->s == ' ' || *c->s == '\t'))
        c->s++;
}

bool cursor_u64(struct cursor *c, unsigned base, uint64_t *ret)
{
    const char *after = parse_u64(c->s, c->end, base, ret);
    if (after)
        c->s = after;
    return after;
}
