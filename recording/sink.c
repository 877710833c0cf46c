#include "recording/sink.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "profile/metric_info.h"
#include "recording/columns.h"

struct sink {
    const struct profile *texts;
    struct sink_to to;
    struct text entry; /* the present one */
    size_t n;          /* its values */
    uint64_t *seen;    /* NULL: it goes in any case */
    stack_id *python;  /* by stack: the nearest one, itself or a caller, that ends in Python */
    size_t n_python, python_capacity;
};

struct sink *sink_new(const struct profile *texts, struct sink_to to)
{
    struct sink *s = xcalloc(1, sizeof *s);
    s->texts = texts;
    s->to = to;
    return s;
}

struct sink *sink_free(struct sink *s)
{
    if (!s)
        return NULL;
    text_release(&s->entry);
    free(s->python);
    free(s);
    return NULL;
}

/* ---- entries ---- */

void sink_unless(struct sink *s, uint64_t *seen)
{
    s->seen = seen;
}

static void begin(struct sink *s, enum entry_kind kind)
{
    text_clear(&s->entry);
    (void)entry_begin(&s->entry, kind);
    s->n = 0;
}

static void end(struct sink *s)
{
    uint64_t *seen = s->seen;
    s->seen = NULL;
    entry_end(&s->entry, 0, s->n);
    uint64_t hash = seen ? hash_bytes(s->entry.s, s->entry.len) | 1 : 0; /* never 0 */
    if (seen && *seen == hash)
        return;
    if (seen)
        *seen = hash;
    s->to.take(s->to.ctx, s->entry.s, s->entry.len);
}

static void add_number(struct sink *s, int64_t number)
{
    entry_add_number(&s->entry, number);
    s->n++;
}

static void add_string(struct sink *s, const char *string)
{
    entry_add_string(&s->entry, string);
    s->n++;
}

/* A 0 that is a position is one; as an id it stands for none. */
static void add_key(struct sink *s, const char *name, int64_t key)
{
    if (key || str_eq(name, "position"))
        entry_add_number(&s->entry, key);
    else
        entry_add_null(&s->entry);
    s->n++;
}

struct keys {
    int64_t of[TABLE_KEYS];
};

/* Adds the row of ITEM with KEYS. */
static void put(struct sink *s, enum table_kind kind, struct keys keys, const void *item)
{
    const struct row_table *t = &recording_tables[kind];
    begin(s, (enum entry_kind)kind);
    for (size_t i = 0; i < t->n_keys; i++)
        add_key(s, t->keys[i], keys.of[i]);
    for (size_t i = 0; i < t->n_parts; i++) {
        const struct table_part *part = &t->parts[i];
        const struct row_keys *rows = &row_keys[part->rows];
        bool has = !part->of_kind || *(const uint32_t *)item == part->of_kind;
        for (size_t k = 0; k < rows->n; k++, s->n++)
            if (has)
                column_add(&s->entry, &rows->fields[k], s->texts, (const char *)item + part->at,
                           t->numbered);
            else
                entry_add_null(&s->entry);
    }
    end(s);
}

static void put_one(struct sink *s, enum table_kind kind, int64_t id, const void *item)
{
    put(s, kind, (struct keys){{id}}, item);
}

static void put_of(struct sink *s, enum table_kind kind, int64_t of, size_t position,
                   const void *item)
{
    put(s, kind, (struct keys){{of, (int64_t)position}}, item);
}

static void put_meta(struct sink *s, const char *key, int64_t value)
{
    begin(s, ENTRY_META);
    add_string(s, key);
    add_number(s, value);
    end(s);
}

static void put_order(struct sink *s, enum entry_kind kind)
{
    begin(s, kind);
    end(s);
}

/* ---- things ---- */

void sink_text(struct sink *s, const char *key, const char *text)
{
    begin(s, ENTRY_TEXT);
    add_string(s, key);
    add_string(s, text);
    end(s);
}

void sink_no_texts(struct sink *s)
{
    put_order(s, ENTRY_NO_TEXTS);
}

void sink_metric(struct sink *s, enum metric m, double value)
{
    static const char *const effects[] = {[EFFECT_NONE] = "",
                                          [EFFECT_LOSS] = "loss",
                                          [EFFECT_DOUBT] = "doubt",
                                          [EFFECT_NOTE] = "note"};
    const struct metric_info *info = metric_info(m);
    begin(s, ENTRY_METRIC);
    add_string(s, info->key);
    entry_add_real(&s->entry, value);
    s->n++;
    add_string(s, info->unit == UNIT_SHARE ? "of 1" : metric_unit_text(info->unit));
    add_string(s, effects[info->effect]);
    add_string(s, info->meaning);
    end(s);
}

void sink_origin(struct sink *s, const struct profile_origin *origin)
{
    put_meta(s, "start_utc_ns", origin->utc_ns);
    put_meta(s, "start_monotonic_ns", origin->monotonic_ns);
}

void sink_exact_time(struct sink *s, const struct exact_time *e)
{
    put_meta(s, "step_ns", e->step_ns);
    put_meta(s, "exact_every", e->every);
    put_meta(s, "exact_since_ns", e->since_ns);
}

void sink_host(struct sink *s, const struct profile_host *host)
{
    put_one(s, TABLE_HOST, 1, host);
}

void sink_mount(struct sink *s, mount_id id, const struct profile_mount *m)
{
    put_one(s, TABLE_MOUNT, id.ix, m);
}

void sink_module(struct sink *s, module_id id, const struct profile_module *m)
{
    put_one(s, TABLE_MODULE, id.ix, m);
}

void sink_function(struct sink *s, func_id id, const struct func *f)
{
    put_one(s, TABLE_FUNCTION, id.ix, f);
}

void sink_frame(struct sink *s, frame_id id, const struct frame *f)
{
    put_one(s, TABLE_FRAME, id.ix, f);
}

void sink_locations(struct sink *s, frame_id id, const struct location *l, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_of(s, TABLE_LOCATION, id.ix, i, &l[i]);
}

/* Views ask for the innermost Python function of each stack: to climb for it again and again would
 * take them a minute. */
static stack_id nearest_python(struct sink *s, stack_id id, stack_id parent, frame_id frame)
{
    bool python = profile_get_frame(s->texts, frame)->kind == FRAME_PYTHON;
    stack_id nearest = python ? id : parent.ix < s->n_python ? s->python[parent.ix] : (stack_id){0};
    s->python = array_reserve(s->python, &s->python_capacity, id.ix + (size_t)1, sizeof *s->python);
    while (s->n_python <= id.ix)
        s->python[s->n_python++] = (stack_id){0};
    s->python[id.ix] = nearest;
    return nearest;
}

void sink_stack(struct sink *s, stack_id id, stack_id parent, frame_id frame)
{
    int64_t python = nearest_python(s, id, parent, frame).ix;
    put(s, TABLE_STACK, (struct keys){{id.ix, parent.ix, frame.ix, python}}, NULL);
}

void sink_wait(struct sink *s, wait_id id, const struct wait *w)
{
    const struct listed_blocker *of = profile_see_blocker(s->texts, w->side.list);
    put_one(s, TABLE_WAIT, id.ix, w);
    for (size_t i = 0; of; i++, of = profile_see_blocker(s->texts, of->next))
        put_of(s, TABLE_WAIT_FOR, id.ix, i, &of->blocker);
}

void sink_lock(struct sink *s, uint32_t id, const struct lock_name *lock)
{
    put_one(s, TABLE_LOCK, id, lock);
}

void sink_listener(struct sink *s, uint32_t id, const struct listener *l)
{
    put_one(s, TABLE_LISTENER, id, l);
}

void sink_process(struct sink *s, process_id id, const struct profile_process *process)
{
    put_one(s, TABLE_PROCESS, id.ix, process);
}

void sink_children(struct sink *s, process_id id, const struct profile_process *process)
{
    for (size_t i = 0; i < process->n_children; i++)
        put_of(s, TABLE_CHILD, id.ix, i, &process->children[i]);
}

void sink_thread(struct sink *s, thread_id id, const struct profile_thread *thread)
{
    put_one(s, TABLE_THREAD, id.ix, thread);
}

void sink_count(struct sink *s, thread_id id, size_t position, const struct count_mark *mark)
{
    put_of(s, TABLE_COUNT, id.ix, position, mark);
}

void sink_run(struct sink *s, uint64_t number, thread_id id, const struct run *run)
{
    put(s, TABLE_RUN, (struct keys){{(int64_t)number, id.ix, run->at.stack.ix, run->at.wait.ix}},
        run);
}

void sink_mark(struct sink *s, uint32_t id, const struct user_mark *mark)
{
    put_one(s, TABLE_MARK, id, mark);
}

void sink_pause(struct sink *s, uint32_t id, const struct user_pause *pause)
{
    put_one(s, TABLE_PAUSE, id, pause);
}

void sink_tasks(struct sink *s, uint32_t id, const struct profile_task_wait *tasks)
{
    put(s, TABLE_TASKS, (struct keys){{id, tasks->stack.ix}}, tasks);
}

void sink_no_tasks(struct sink *s)
{
    put_order(s, ENTRY_NO_TASKS);
}

void sink_no_marks(struct sink *s)
{
    put_order(s, ENTRY_NO_MARKS);
}

/* ---- orders ---- */

void sink_doom(struct sink *s, enum table_kind kind, uint32_t id)
{
    begin(s, ENTRY_DOOM);
    add_number(s, kind);
    add_number(s, id);
    end(s);
}

void sink_purge(struct sink *s)
{
    put_order(s, ENTRY_PURGE);
}

static void put_moment(struct sink *s, enum entry_kind kind, int64_t ns)
{
    begin(s, kind);
    add_number(s, ns);
    end(s);
}

static void put_moments(struct sink *s, enum entry_kind kind, int64_t a, int64_t b)
{
    begin(s, kind);
    add_number(s, a);
    add_number(s, b);
    end(s);
}

void sink_add_recent(struct sink *s, int64_t from_ns, int64_t to_ns)
{
    put_moments(s, ENTRY_RECENT_ADD, from_ns, to_ns);
    put_order(s, ENTRY_RECENT_COUNTS);
}

void sink_trim_recent(struct sink *s, int64_t since_ns, uint64_t most)
{
    put_moments(s, ENTRY_RECENT_SINCE, since_ns, (int64_t)most);
    put_order(s, ENTRY_RECENT_TRIM);
    put_order(s, ENTRY_RECENT_TRIM_COUNTS);
}

void sink_commit(struct sink *s, int64_t end_ns)
{
    put_moment(s, ENTRY_COMMIT, end_ns);
}

void sink_end(struct sink *s, int64_t end_ns)
{
    put_moment(s, ENTRY_END, end_ns);
}
