#include "recording/columns.h"

#include <math.h>
#include <string.h>

#include "recording/entry.h"

/* Of times and bytes: nine years, an exabyte quarter.  Sums of a few stay within 64 bits. */
static const int64_t most = INT64_C(1) << 58;

static int64_t number_of(const struct field *f, const void *at)
{
    switch (f->type) {
    case FIELD_BOOL:
        return *(const bool *)at;
    case FIELD_INT:
        return *(const int32_t *)at;
    case FIELD_UINT:
    case FIELD_ID:
    case FIELD_WORD:
        return *(const uint32_t *)at;
    case FIELD_I64:
    case FIELD_U64:
        return *(const int64_t *)at;
    case FIELD_DOUBLE:
    case FIELD_STRING:
    case FIELD_TEXT:
        break;
    }
    return 0;
}

void column_add(struct text *entry, const struct field *f, const struct profile *p,
                const void *item, bool numbered)
{
    const void *at = (const char *)item + f->at;
    int64_t number = number_of(f, at);
    if (f->type == FIELD_STRING && ((const string_id *)at)->ix)
        entry_add_string(entry, profile_text(p, *(const string_id *)at));
    else if (f->type == FIELD_STRING || (f->type == FIELD_ID && !number))
        entry_add_null(entry);
    else if (f->type == FIELD_WORD && !numbered)
        entry_add_string(entry, f->words[number]);
    else if (f->type == FIELD_DOUBLE)
        entry_add_real(entry, *(const double *)at);
    else
        entry_add_number(entry, number);
}

/* ---- reading ---- */

static const char *read_whole(sqlite3_stmt *s, int index, int64_t least, int64_t most_value,
                              int64_t *ret)
{
    if (sqlite3_column_type(s, index) != SQLITE_INTEGER)
        return "is no whole number";
    *ret = sqlite3_column_int64(s, index);
    return *ret < least || *ret > most_value ? "is out of range" : NULL;
}

static const char *read_uint(sqlite3_stmt *s, int index, void *at)
{
    int64_t number = 0;
    const char *wrong = read_whole(s, index, 0, UINT32_MAX, &number);
    if (!wrong)
        *(uint32_t *)at = (uint32_t)number;
    return wrong;
}

static const char *read_double(sqlite3_stmt *s, int index, double *ret)
{
    int type = sqlite3_column_type(s, index);
    double value = sqlite3_column_double(s, index);
    if ((type != SQLITE_FLOAT && type != SQLITE_INTEGER) || !isfinite(value))
        return "is no number";
    *ret = value;
    return NULL;
}

static const char *read_word(sqlite3_stmt *s, int index, const struct field *f, bool numbered,
                             uint32_t *ret)
{
    uint32_t n = 0;
    uint32_t value = 0;
    while (f->words[n])
        n++;
    if (numbered) {
        const char *wrong = read_uint(s, index, &value);
        if (wrong)
            return wrong;
    } else {
        const char *word = (const char *)sqlite3_column_text(s, index);
        while (value < n && word && !str_eq(f->words[value], word))
            value++;
        value = word ? value : n;
    }
    if (value >= n)
        return "is no word of this version's";
    *ret = value;
    return NULL;
}

static const char *read_string(sqlite3_stmt *s, int index, struct profile *p, string_id *ret)
{
    if (sqlite3_column_type(s, index) != SQLITE_TEXT)
        return "is no text";
    const char *text = (const char *)sqlite3_column_text(s, index);
    if (!text)
        return "is no text";
    *ret = profile_string_n(p, text, (size_t)sqlite3_column_bytes(s, index));
    return NULL;
}

const char *column_read(sqlite3_stmt *s, int index, const struct field *f, struct profile *p,
                        void *item, bool numbered)
{
    void *at = (char *)item + f->at;
    int64_t number = 0;
    const char *wrong = NULL;
    if (sqlite3_column_type(s, index) == SQLITE_NULL)
        return NULL;
    switch (f->type) {
    case FIELD_BOOL:
        wrong = read_whole(s, index, 0, 1, &number);
        *(bool *)at = number == 1;
        return wrong;
    case FIELD_INT:
        wrong = read_whole(s, index, INT32_MIN, INT32_MAX, &number);
        *(int32_t *)at = wrong ? 0 : (int32_t)number;
        return wrong;
    case FIELD_UINT:
    case FIELD_ID:
        return read_uint(s, index, at);
    case FIELD_I64:
        return read_whole(s, index, -most, most, at);
    case FIELD_U64: /* an address may be any */
        return read_whole(s, index, INT64_MIN, INT64_MAX, at);
    case FIELD_DOUBLE:
        return read_double(s, index, at);
    case FIELD_STRING:
        return read_string(s, index, p, at);
    case FIELD_WORD:
        return read_word(s, index, f, numbered, at);
    case FIELD_TEXT:
        break;
    }
    return "is of no type";
}
