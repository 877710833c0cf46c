/* Writes JSON at once and keeps nothing but the number of open brackets.  It adds the commas; the
 * caller alternates keys and values.  Source: RFC 8259. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

struct json { /* {.out = FILE}, the rest zero */
    FILE *out;
    int error;      /* the first negative errno of a write; nothing is written after it */
    bool comma;     /* something stands before the next value */
    uint32_t depth; /* open brackets */
};

void json_object(struct json *j); /* "{", json_end_object's partner */
void json_end_object(struct json *j);
void json_array(struct json *j);
void json_end_array(struct json *j);
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *s);
void json_int(struct json *j, int64_t value);
void json_number(struct json *j,
                 double value); /* the shortest that reads back; null if no number */
void json_bool(struct json *j, bool value);
void json_null(struct json *j);
void json_hex(struct json *j, uint64_t value);    /* the string "0x1f" */
void json_raw(struct json *j, const char *value); /* VALUE is JSON that was written apart */
/* A key and its value. */
void json_string_field(struct json *j, const char *key, const char *s);   /* S may be NULL: null */
void json_optional_field(struct json *j, const char *key, const char *s); /* S NULL: no key */
void json_int_field(struct json *j, const char *key, int64_t value);
void json_bool_field(struct json *j, const char *key, bool value);
void json_number_field(struct json *j, const char *key, double value);
void json_hex_field(struct json *j, const char *key, uint64_t value);
void json_array_field(struct json *j, const char *key); /* its items, and its end, are to follow */
/* KEY, and null unless KNOWN.  Returns KNOWN: then the value is to follow. */
bool json_known(struct json *j, const char *key, bool known);
/* Where long lists may break, for readers with line tools: a newline before the next value. */
void json_newline(struct json *j);
/* Flushes.  Everything opened must be closed.  Returns 0 or the first negative errno of a write. */
int json_finish(struct json *j);

/* Appends S as a JSON string with its quotes.  Bytes that are not UTF-8 become \xNN in the text,
 * as Python's backslashreplace has it, which every reader accepts.  Control characters, C1 too, and
 * those that turn the writing's direction are escaped, so that JSON may be shown in a terminal. */
void json_quote(struct text *out, const char *s);
