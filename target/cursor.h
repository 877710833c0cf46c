/* The rest of a text that is being parsed; shared by the parsers of /proc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cursor {
    const char *s, *end;
};

/* Each moves behind the text that it took, or returns false. */
bool cursor_take(struct cursor *c, const char *literal);
bool cursor_u64(struct cursor *c, unsigned base, uint64_t *ret); /* see parse_u64() */
/* Moves behind all spaces and tabs, if there are any. */
void cursor_skip_spaces(struct cursor *c);
