#include "recording/schema.h"

#include <string.h>

#define TABLE_OF_RUNS                                                                              \
    {"id", "thread", "stack", "wait"}, {{ROW_RUN_START}, {ROW_RUN}}, 4, 2, .numbered = true,       \
                                                                           .most_id = INT64_MAX

const struct row_table recording_tables[TABLE_KINDS] = {
    [TABLE_MOUNT] = {"mount", {"id"}, {{ROW_MOUNT}}, 1, 1},
    [TABLE_MODULE] = {"module", {"id"}, {{ROW_MODULE}}, 1, 1},
    [TABLE_FUNCTION] = {"function", {"id"}, {{ROW_FUNC}}, 1, 1},
    [TABLE_FRAME] = {"frame",
                     {"id"},
                     {{ROW_FRAME},
                      {ROW_NATIVE, .of_kind = FRAME_NATIVE},
                      {ROW_PYTHON, .prefix = "python_", .of_kind = FRAME_PYTHON},
                      {ROW_MARK, .prefix = "mark_", .of_kind = FRAME_MARK}},
                     1,
                     4},
    [TABLE_LOCATION] = {"location", {"frame", "position"}, {{ROW_LOCATION}}, 2, 1},
    [TABLE_STACK] = {"stack", {"id", "parent", "frame", "python"}, {{ROW_FRAME}}, 4, 0},
    [TABLE_WAIT] = {"wait",
                    {"id"},
                    {{ROW_WAIT},
                     {ROW_WAIT_LIST},
                     {ROW_BLOCKER, offsetof(struct wait, side.blocker), "other_"}},
                    1,
                    3},
    [TABLE_WAIT_FOR] = {"wait_for", {"wait", "position"}, {{ROW_BLOCKER}}, 2, 1},
    [TABLE_LOCK] = {"lock", {"id"}, {{ROW_LOCK}}, 1, 1},
    [TABLE_LISTENER] = {"listener", {"id"}, {{ROW_LISTENER}}, 1, 1, .since = 3},
    [TABLE_HOST] = {"host", {"id"}, {{ROW_HOST}}, 1, 1},
    [TABLE_PROCESS] = {"process", {"id"}, {{ROW_PROCESS}}, 1, 1},
    [TABLE_CHILD] = {"child", {"of", "position"}, {{ROW_CHILD}}, 2, 1},
    [TABLE_TASKS] = {"tasks", {"id", "stack"}, {{ROW_TASKS}}, 2, 1},
    [TABLE_MARK] = {"mark", {"id"}, {{ROW_USER_MARK}}, 1, 1, .since = 1},
    [TABLE_PAUSE] = {"pause", {"id"}, {{ROW_USER_PAUSE}}, 1, 1, .since = 1},
    [TABLE_THREAD] = {"thread", {"id"}, {{ROW_THREAD}}, 1, 1, .most_id = UINT32_MAX},
    [TABLE_RECENT_COUNT] =
        {"recent_count", {"thread", "position"}, {{ROW_COUNTS}}, 2, 1, .since = 4},
    [TABLE_COUNT] = {"count", {"thread", "position"}, {{ROW_COUNTS}}, 2, 1},
    [TABLE_RECENT] = {"recent", TABLE_OF_RUNS, .since = 4},
    [TABLE_RUN] = {"run", TABLE_OF_RUNS},
};
const char *const recording_states[] = {"missed",  "running", "waiting for a CPU",
                                        "blocked", "stopped", "running or waiting for a CPU",
                                        NULL};

void schema_add_column(struct text *out, const struct table_part *part, const struct field *f)
{
    size_t start = out->len;
    text_addf(out, "%s%s", part->prefix ? part->prefix : "", f->key);
    for (size_t i = start; i < out->len; i++)
        if (out->s[i] == '.')
            out->s[i] = '_';
}

static const char *type_of(const struct row_table *t, const struct field *f)
{
    bool text = f->type == FIELD_STRING || f->type == FIELD_TEXT;
    if (text || (f->type == FIELD_WORD && !t->numbered))
        return "TEXT";
    return f->type == FIELD_DOUBLE ? "REAL" : "INTEGER";
}

void schema_add_table(struct text *out, const struct row_table *t)
{
    text_addf(out, "CREATE TABLE %s (", t->name);
    for (size_t i = 0; i < t->n_keys; i++)
        text_addf(out, "%s%s INTEGER%s", i ? ", " : "", t->keys[i],
                  str_eq(t->keys[i], "id") ? " PRIMARY KEY" : "");
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct row_keys *rows = &row_keys[t->parts[i].rows];
        for (size_t k = 0; k < rows->n; k++) {
            text_add(out, ", ");
            schema_add_column(out, &t->parts[i], &rows->fields[k]);
            text_addf(out, " %s", type_of(t, &rows->fields[k]));
        }
    }
    text_add(out, ");\n");
}

void schema_add_insert(struct text *out, const struct row_table *t)
{
    text_addf(out, "INSERT OR REPLACE INTO %s VALUES (", t->name);
    size_t n = t->n_keys;
    for (size_t i = 0; i < t->n_parts; i++)
        n += row_keys[t->parts[i].rows].n;
    for (size_t i = 0; i < n; i++)
        text_add(out, i ? ",?" : "?");
    text_add(out, ")");
}
