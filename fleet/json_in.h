/* Reads JSON value by value, without a tree: the caller asks for the next key or item, takes its
 * value, or skips it.  The bytes are hostile: brackets and the length of texts have bounds, and
 * whatever is wrong ends the document.  Source: RFC 8259. */
#pragma once

#include <string.h>

#include "fleet/byte_source.h"

enum { JSON_IN_DEPTH = 64, JSON_IN_TEXT_BYTES = 4096 };

struct slice {
    const char *s;
    size_t len;
};
static inline bool slice_is(struct slice a, const char *b)
{
    return a.len == strlen(b) && memcmp(a.s, b, a.len) == 0;
}

enum json_in_kind {
    JSON_IN_BAD,
    JSON_IN_OBJECT, /* opened: json_in_key() has its keys */
    JSON_IN_ARRAY,  /* opened: json_in_item() goes to its items */
    JSON_IN_STRING,
    JSON_IN_NUMBER,
    JSON_IN_WORD, /* true, false, null */
};

struct json_in { /* {.source = …}, the rest zero */
    struct byte_source *source;
    const char *wrong; /* why the document ends too early; NULL: it does not */
    const char *line;  /* where a line begins that has not been taken */
    unsigned depth;
    bool first[JSON_IN_DEPTH + 1]; /* nothing has been read of what is open at that depth */
    char text[JSON_IN_TEXT_BYTES]; /* of a string with escapes, or at the window's end */
};

/* The next value.  RET (not NULL): the text of a string, without escapes and cut to
 * JSON_IN_TEXT_BYTES, of a number or a word; valid until J is used again. */
enum json_in_kind json_in_value(struct json_in *j, struct slice *ret);
/* Goes to the next key of the open object.  False: it has ended, or the document is wrong. */
bool json_in_key(struct json_in *j, struct slice *ret);
/* Goes to the next item of the open array.  False: as json_in_key(). */
bool json_in_item(struct json_in *j);
/* The byte that the next value begins with, not taken; −1: there is none. */
int json_in_peek(struct json_in *j);
/* Takes a value, whatever it is. */
void json_in_skip(struct json_in *j);

/* A value of a kind; another one is skipped, and is none.  RET is cut to BYTES, with a NUL. */
bool json_in_text(struct json_in *j, char *ret, size_t bytes);
bool json_in_int(struct json_in *j, int64_t *ret);
bool json_in_bool(struct json_in *j, bool *ret);
/* Opens an object, or an array.  False: it is another value, which is skipped. */
bool json_in_object(struct json_in *j);
bool json_in_array(struct json_in *j);
