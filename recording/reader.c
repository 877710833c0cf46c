#include "recording/reader.h"

#include "base/alloc.h"

static const int64_t most_ns = INT64_C(1) << 58; /* nine years */

void reader_remember(struct reader *r, enum table_kind kind, uint32_t id)
{
    struct ids *ids = &r->ids[kind];
    ids->items = array_reserve(ids->items, &ids->capacity, ids->n + 1, sizeof *ids->items);
    ids->items[ids->n++] = id;
}

/* *ID: the file's number of a row of KIND, 0 if it may be none; becomes the profile's. */
bool reader_translate(struct reader *r, enum table_kind kind, uint32_t *id)
{
    const struct ids *ids = &r->ids[kind];
    if (*id > ids->n)
        return rows_fail(&r->rows, "there is no %s %u", recording_tables[kind].name, *id);
    *id = *id ? ids->items[*id - 1] : 0;
    return true;
}

bool reader_translate_one(struct reader *r, enum table_kind kind, uint32_t *id)
{
    return *id ? reader_translate(r, kind, id)
               : rows_fail(&r->rows, "it is of no %s", recording_tables[kind].name);
}

bool reader_is_time(struct reader *r, const char *what, int64_t ns)
{
    return (ns >= 0 && ns <= most_ns) || rows_fail(&r->rows, "%s is no time", what);
}
