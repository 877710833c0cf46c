/* A row of a fixture: a word, then KEY=VALUE for each field that is not 0.  A value is a number, a
 * word, or a text in quotes.  Tables say which field of a struct a key stands for, so that rows are
 * written and read by the same one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/fields.h"

/* Appends " KEY=VALUE" for each of the N FIELDS of ITEM that is not 0. */
void line_add_fields(struct text *out, const struct profile *p, const struct field *fields,
                     size_t n, const void *item);
void line_add_number(struct text *out, const char *key, int64_t value); /* unless it is 0 */
void line_add_double(struct text *out, const char *key, double value);
void line_add_text(struct text *out, const char *key, const char *text); /* even "" */

enum { LINE_PAIRS = 64 };
struct line {
    const char *word;
    struct {
        const char *key, *value;
    } pairs[LINE_PAIRS];
    size_t n;
};
/* Takes S apart in place, up to its NUL.  Returns NULL, or what is wrong with it. */
const char *line_parse(struct line *ret, char *s);
const char *line_value(const struct line *line, const char *key); /* or NULL */
/* 0 where the key is missing or no number. */
uint32_t line_number(const struct line *line, const char *key);
/* Sets the fields of ITEM that LINE has; keys that no field has are of other readers.  Returns
 * NULL, or the key whose value is none of its type. */
const char *line_read_fields(const struct line *line, struct profile *p, const struct field *fields,
                             size_t n, void *item);
