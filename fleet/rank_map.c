#include "fleet/rank_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

enum { MOST_LINE_BYTES = 4096, MOST_ROWS = 1 << 20 };

struct row { /* a line: its key, and where its NAME=VALUE words are among the dimensions */
    uint32_t who;
    int64_t rank;  /* −1: not given */
    uint32_t host; /* FLEET_NONE: not given */
    uint32_t first, n;
};
struct rows {
    struct row *items;
    size_t n, capacity;
    struct map by_key; /* text → item */
};

static void add_dimension(struct fleet *f, const char *name, const char *value)
{
    f->dimensions = array_reserve(f->dimensions, &f->dimensions_capacity, f->n_dimensions + 1,
                                  sizeof *f->dimensions);
    f->dimensions[f->n_dimensions++] =
        (struct fleet_dimension){fleet_text(f, name), fleet_text(f, value)};
}

/* Takes "NAME=VALUE".  False: it is none. */
static bool take_word(struct fleet *f, struct row *row, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return false;
    *equals = '\0';
    const char *value = equals + 1;
    if (str_eq(word, "rank"))
        return parse_whole_i64(value, 0, INT32_MAX, &row->rank) == 0;
    if (str_eq(word, "host")) {
        row->host = fleet_text(f, value);
        return true;
    }
    add_dimension(f, word, value);
    row->n++;
    return true;
}

static bool take_line(struct fleet *f, struct rows *rows, char *line)
{
    char *rest = line;
    line[strcspn(line, "#\n")] = '\0';
    const char *who = strtok_r(rest, " \t\r", &rest);
    if (!who)
        return true;
    struct row row = {.who = fleet_text(f, who),
                      .rank = -1,
                      .host = FLEET_NONE,
                      .first = (uint32_t)f->n_dimensions};
    for (char *word; (word = strtok_r(NULL, " \t\r", &rest));)
        if (!take_word(f, &row, word))
            return false;
    rows->items = array_reserve(rows->items, &rows->capacity, rows->n + 1, sizeof *rows->items);
    map_put(&rows->by_key, row.who, rows->n);
    rows->items[rows->n++] = row;
    return rows->n < MOST_ROWS;
}

static const struct row *find_row(struct fleet *f, const struct rows *rows, const char *key)
{
    uint64_t at;
    return map_get(&rows->by_key, fleet_text(f, key), &at) ? &rows->items[at] : NULL;
}

static void apply_row(struct fleet_process *p, const struct row *row)
{
    if (!row)
        return;
    p->rank = row->rank >= 0 ? row->rank : p->rank;
    p->host = row->host != FLEET_NONE ? row->host : p->host;
    if (row->n) {
        p->first_dimension = row->first;
        p->n_dimensions = row->n;
    }
}

/* What is said of a process's input, then of itself, then of its rank. */
static void apply(struct fleet *f, const struct rows *rows)
{
    char key[MOST_LINE_BYTES];
    for (size_t i = 0; i < f->n_processes; i++) {
        struct fleet_process *p = &f->processes[i];
        apply_row(p, find_row(f, rows, path_base(f->inputs[p->input].name)));
        (void)snprintf(key, sizeof key, "%.1024s:%lld", fleet_see_text(f, p->host),
                       (long long)p->pid);
        apply_row(p, find_row(f, rows, key));
        (void)snprintf(key, sizeof key, "%lld", (long long)p->rank);
        apply_row(p, p->rank >= 0 ? find_row(f, rows, key) : NULL);
    }
}

int rank_map_read(struct fleet *f, const char *path, struct err *err)
{
    char line[MOST_LINE_BYTES];
    struct rows rows = {0};
    unsigned number = 0;
    int r = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
    while (r == 0 && fgets(line, sizeof line, file)) {
        number++;
        if (!take_line(f, &rows, line))
            r = err_set(err, -EINVAL,
                        "%s:%u: not a rank, HOST:PID or file name with words such as tp=0", path,
                        number);
    }
    (void)fclose(file);
    if (r == 0)
        apply(f, &rows);
    free(rows.items);
    map_release(&rows.by_key);
    return r;
}

/* ---- what some have in common ---- */

static bool has(const struct fleet *f, const struct fleet_process *p, struct fleet_dimension d)
{
    for (uint32_t i = 0; i < p->n_dimensions; i++) {
        const struct fleet_dimension *own = &f->dimensions[p->first_dimension + i];
        if (own->name == d.name && own->value == d.value)
            return true;
    }
    return false;
}

struct trait { /* a thing that members may share */
    enum { TRAIT_HOST, TRAIT_LOCAL_RANK, TRAIT_DIMENSION } kind;
    struct fleet_dimension dimension;
};

static bool shares(const struct fleet *f, const struct fleet_process *p,
                   const struct fleet_process *with, const struct trait *t)
{
    switch (t->kind) {
    case TRAIT_HOST:
        return p->host == with->host;
    case TRAIT_LOCAL_RANK:
        return with->local_rank >= 0 && p->local_rank == with->local_rank;
    case TRAIT_DIMENSION:
        return has(f, p, t->dimension);
    }
    return false;
}

/* Do all members of C share T with its first one, and no other member? */
static bool is_common(const struct fleet *f, const struct verdict *v, const struct verdict_class *c,
                      const struct trait *t)
{
    const struct fleet_process *first = verdict_process(f, v, v->order[c->first]);
    size_t everywhere = 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (!shares(f, verdict_process(f, v, v->order[c->first + i]), first, t))
            return false;
    for (uint32_t i = 0; i < v->members.n; i++)
        everywhere += shares(f, verdict_process(f, v, i), first, t);
    return everywhere == c->n;
}

void rank_map_add_common(const struct fleet *f, const struct verdict *v,
                         const struct verdict_class *c, struct text *out)
{
    const struct fleet_process *first = verdict_process(f, v, v->order[c->first]);
    const struct trait host = {.kind = TRAIT_HOST};
    const struct trait local = {.kind = TRAIT_LOCAL_RANK};
    if (c->n < 2 || c->n == v->members.n)
        return;
    for (uint32_t i = 0; i < first->n_dimensions; i++) {
        struct trait t = {TRAIT_DIMENSION, f->dimensions[first->first_dimension + i]};
        if (!is_common(f, v, c, &t))
            continue;
        const char *name = fleet_see_text(f, t.dimension.name);
        const char *value = fleet_see_text(f, t.dimension.value);
        text_add(out, "all with ");
        text_add_tame(out, name, strlen(name));
        text_add(out, "=");
        text_add_tame(out, value, strlen(value));
        return;
    }
    const char *host_name = fleet_see_text(f, first->host);
    if (*host_name && is_common(f, v, c, &host)) {
        text_add(out, "all of ");
        text_add_tame(out, host_name, strlen(host_name));
    } else if (is_common(f, v, c, &local)) {
        text_addf(out, "all with local rank %lld", (long long)first->local_rank);
    }
}
