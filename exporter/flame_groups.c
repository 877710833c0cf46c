#include "exporter/flame_groups.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"

static void begin_line(struct text *out, bool idle, size_t n_threads)
{
    text_addf(out, "%d %zu", idle, n_threads);
}

static void add_thread(struct text *out, const struct profile *p, const struct profile_thread *t)
{
    text_addf(out, " %td", t - profile_see_thread(p, (thread_id){1}) + 1);
}

static void end_line(struct text *out, const char *label)
{
    text_addf(out, "\t%s\n", label);
}

/* Pools that wait and threads that never ran would bury the others. */
static bool is_idle(const struct thread_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (!g->threads[i]->idle)
            return false;
    return true;
}

void flame_groups_add(struct text *out, const struct groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct thread_group *g = &groups->items[i];
        begin_line(out, is_idle(g), g->n_threads);
        for (size_t k = 0; k < g->n; k++)
            add_thread(out, groups->p, g->threads[k]->thread);
        end_line(out, g->label);
    }
}

static void add_single(struct text *out, const struct profile *p, const struct thread_summaries *s)
{
    for (size_t i = 0; i < s->n; i++) {
        begin_line(out, s->threads[i].idle, s->threads[i].n_threads);
        add_thread(out, p, s->threads[i].thread);
        end_line(out, s->threads[i].label);
    }
}

/* Takes a number and the space before it.  False: there is none. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
    const char *begin = *at < end && **at == ' ' ? *at + 1 : *at;
    const char *next = parse_u64(begin, end, 10, ret);
    if (next)
        *at = next;
    return next != NULL;
}

bool flame_groups_take(const char **lines, struct flame_group *ret)
{
    uint64_t idle;
    const char *at = *lines;
    const char *end = strchr(at, '\n');
    const char *tab = end ? memchr(at, '\t', (size_t)(end - at)) : NULL;
    if (!tab || !take_number(&at, tab, &idle) || !take_number(&at, tab, &ret->n_threads))
        return false;
    ret->idle = idle != 0;
    ret->ids = at;
    ret->ids_end = tab;
    ret->label = tab + 1;
    ret->label_len = (size_t)(end - ret->label);
    *lines = end + 1;
    return true;
}

const struct profile_thread *flame_group_thread(struct flame_group *g, const struct profile *p)
{
    uint64_t id;
    if (!take_number(&g->ids, g->ids_end, &id) || id == 0 || id > profile_thread_count(p))
        return NULL;
    return profile_see_thread(p, (thread_id){(uint32_t)id});
}

char *flame_groups_of(const struct profile *p, struct view *v, const struct thread_summaries *s,
                      const struct export_findings *findings)
{
    struct text made = {0};
    if (findings && findings->groups)
        return xstrdup(findings->groups);
    text_add(&made, "");
    if (findings && findings->why) {
        add_single(&made, p, s);
    } else {
        struct groups groups;
        groups_init(&groups, p, view_options(v));
        flame_groups_add(&made, &groups);
        groups_release(&groups);
    }
    return made.s;
}
