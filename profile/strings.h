/* Interned strings: equal text, equal id; a text stays where it is for as long as the table lives.
 */
#pragma once

#include "base/hash.h"
#include "profile/ids.h"

struct strings { /* zero-initialise */
    struct interned_string *items;
    size_t n, capacity;
    struct index index;
};
/* Copies the first LEN bytes of S, up to the first NUL among them. */
string_id strings_add(struct strings *t, const char *s, size_t len);
const char *strings_text(const struct strings *t, string_id id); /* "" for none */
void strings_release(struct strings *t);
