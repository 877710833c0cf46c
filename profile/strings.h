/* Interned strings: equal text, equal id; a text stays where it is for as long as the table lives.
 */
#pragma once

#include "base/hash.h"
#include "profile/ids.h"

enum { STRINGS_MOST = INT32_MAX }; /* in a table: whoever has two may use a bit of their ids */
struct strings {                   /* zero-initialise */
    struct interned_string *items;
    size_t n, capacity;
    struct index index;
    size_t text_bytes;
};
/* Copies the first LEN bytes of S, up to the first NUL among them. */
string_id strings_add(struct strings *t, const char *s, size_t len);
string_id strings_find(const struct strings *t, const char *s, size_t len); /* or none */
const char *strings_text(const struct strings *t, string_id id);            /* "" for none */
size_t strings_bytes(const struct strings *t);                              /* heap in use */
void strings_release(struct strings *t);
