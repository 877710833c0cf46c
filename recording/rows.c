#include "recording/rows.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "recording/columns.h"

bool rows_fail(struct rows *rows, const char *format, ...)
{
    va_list args;
    if (*rows->wrong) /* the first one counts */
        return false;
    int n = snprintf(rows->wrong, sizeof rows->wrong, "damaged: row %u of table %s: ", rows->n,
                     rows->table->name);
    va_start(args, format);
    (void)vsnprintf(rows->wrong + n, sizeof rows->wrong - (size_t)n, format, args);
    va_end(args);
    return false;
}

static int find_column(sqlite3_stmt *s, const char *name)
{
    for (int i = 0; i < sqlite3_column_count(s); i++) {
        const char *column = sqlite3_column_name(s, i);
        if (column && str_eq(column, name))
            return i;
    }
    return -1;
}

bool rows_is_table(struct database *db, const char *name)
{
    sqlite3_stmt *s = database_prepare(db, "SELECT 1 FROM sqlite_schema WHERE name = ? AND "
                                           "type = 'table' AND rootpage > 1 AND "
                                           "sql LIKE 'CREATE TABLE %'");
    if (s)
        (void)sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    bool found = database_step(db, s);
    (void)sqlite3_finalize(s);
    return found;
}

bool rows_are_computed(struct database *db, const char *name)
{
    enum { HIDDEN = 6 };
    char sql[80];
    (void)snprintf(sql, sizeof sql, "PRAGMA main.table_xinfo(%s)", name);
    sqlite3_stmt *s = database_prepare(db, sql);
    bool computed = false;
    while (!computed && database_step(db, s))
        computed = sqlite3_column_int(s, HIDDEN) != 0;
    (void)sqlite3_finalize(s);
    return computed;
}

static void find_columns(struct rows *rows)
{
    struct text name = {0};
    size_t n = 0;
    for (size_t i = 0; i < rows->table->n_keys; i++) {
        rows->keys[i] = find_column(rows->s, rows->table->keys[i]);
        if (rows->keys[i] < 0)
            (void)rows_fail(rows, "no column %s", rows->table->keys[i]);
    }
    for (size_t i = 0; i < rows->table->n_parts; i++) {
        const struct table_part *part = &rows->table->parts[i];
        for (size_t k = 0; k < row_keys[part->rows].n; k++) {
            text_clear(&name);
            schema_add_column(&name, part, &row_keys[part->rows].fields[k]);
            assert(n < ROWS_MOST_COLUMNS);
            rows->fields[n++] = find_column(rows->s, name.s);
        }
    }
    text_release(&name);
}

void rows_begin(struct rows *ret, struct database *db, struct profile *p, const struct row_table *t)
{
    char sql[80];
    *ret = (struct rows){.db = db, .p = p, .table = t};
    if (!rows_is_table(db, t->name)) {
        (void)snprintf(ret->wrong, sizeof ret->wrong, "damaged: it has no table %s", t->name);
        return;
    }
    if (rows_are_computed(db, t->name)) {
        (void)snprintf(ret->wrong, sizeof ret->wrong, "damaged: table %s has a computed column",
                       t->name);
        return;
    }
    (void)snprintf(sql, sizeof sql, "SELECT * FROM main.%s", t->name);
    ret->s = database_prepare(db, sql);
    if (ret->s)
        find_columns(ret);
}

static bool read_keys(struct rows *rows)
{
    for (size_t i = 0; i < rows->table->n_keys; i++) {
        int column = rows->keys[i];
        int type = sqlite3_column_type(rows->s, column);
        int64_t number = sqlite3_column_int64(rows->s, column);
        const char *key = rows->table->keys[i];
        bool gaps = rows->table->most_id && str_eq(key, "id");
        int64_t most = gaps ? rows->table->most_id : UINT32_MAX;
        if ((type != SQLITE_INTEGER && type != SQLITE_NULL) || number < 0 || number > most)
            return rows_fail(rows, "%s is no row's number", key);
        rows->numbers[i] = (uint32_t)number;
        if (str_eq(key, "id") && (gaps ? number <= rows->last_id : number != rows->n))
            return rows_fail(rows, "id %lld does not follow the last one", (long long)number);
        if (gaps)
            rows->last_id = number;
    }
    return true;
}

static bool takes_text(struct rows *rows, int column, const struct field *f)
{
    return column < 0 || f->type != FIELD_STRING ||
           sqlite3_column_type(rows->s, column) != SQLITE_TEXT ||
           database_takes_text(rows->db, sqlite3_column_bytes(rows->s, column));
}

static bool read_part(struct rows *rows, const struct table_part *part, size_t first, void *item)
{
    const struct row_keys *of = &row_keys[part->rows];
    if (part->of_kind && *(const uint32_t *)item != part->of_kind)
        return true;
    for (size_t i = 0; i < of->n; i++) {
        int column = rows->fields[first + i];
        if (!takes_text(rows, column, &of->fields[i]))
            return rows_fail(rows, "more text than the file has room for");
        const char *wrong = column < 0
                                ? NULL
                                : column_read(rows->s, column, &of->fields[i], rows->p,
                                              (char *)item + part->at, rows->table->numbered);
        if (wrong)
            return rows_fail(rows, "%s %s", of->fields[i].key, wrong);
    }
    return true;
}

bool rows_next(struct rows *rows, void *item)
{
    size_t first = 0;
    if (*rows->wrong || !database_step(rows->db, rows->s))
        return false;
    if (++rows->n == UINT32_MAX)
        return rows_fail(rows, "too many");
    if (!read_keys(rows))
        return false;
    for (size_t i = 0; i < rows->table->n_parts; i++) {
        if (!read_part(rows, &rows->table->parts[i], first, item))
            return false;
        first += row_keys[rows->table->parts[i].rows].n;
    }
    return true;
}

void rows_end(struct rows *rows)
{
    (void)sqlite3_finalize(rows->s);
    rows->s = NULL;
}
