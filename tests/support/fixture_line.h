/* A row of a fixture: a word, then KEY=VALUE for each field that is not 0.  A value is a number, a
 * word, or a text in quotes.  Tables say which field of a struct a key stands for, so that rows are
 * written and read by the same one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "profile/ids.h"
#include "profile/profile.h"

enum field_type {
    FIELD_BOOL,
    FIELD_INT,
    FIELD_UINT, /* the ids, too */
    FIELD_I64,
    FIELD_U64,
    FIELD_DOUBLE,
    FIELD_STRING, /* a string_id */
    FIELD_TEXT,   /* a `char *`, of the heap when it was read; NULL: none */
    FIELD_WORD,   /* an enum, by its words */
};
struct field {
    const char *key;
    size_t at;
    enum field_type type;
    const char *const *words; /* WORD: by value; ends in NULL */
};
#define FIELD_TYPE(value)                                                                          \
    _Generic((value),                                                                              \
        bool: FIELD_BOOL,                                                                          \
        int32_t: FIELD_INT,                                                                        \
        uint32_t: FIELD_UINT,                                                                      \
        int64_t: FIELD_I64,                                                                        \
        uint64_t: FIELD_U64,                                                                       \
        double: FIELD_DOUBLE,                                                                      \
        string_id: FIELD_STRING,                                                                   \
        char *: FIELD_TEXT,                                                                        \
        module_id: FIELD_UINT,                                                                     \
        func_id: FIELD_UINT,                                                                       \
        frame_id: FIELD_UINT,                                                                      \
        stack_id: FIELD_UINT,                                                                      \
        process_id: FIELD_UINT,                                                                    \
        mount_id: FIELD_UINT)
#define FIELD_AS(key, of, member)                                                                  \
    {                                                                                              \
        key, offsetof(of, member), FIELD_TYPE(((of *)0)->member), NULL                             \
    }
#define FIELD(of, member) FIELD_AS(#member, of, member)
#define FIELD_WORDS(of, member, words)                                                             \
    {                                                                                              \
#member, offsetof(of, member), FIELD_WORD, words                                           \
    }

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
