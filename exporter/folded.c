/* Folded stacks: "thread;outermost;…;innermost weight" a line, the weight in microseconds of wall
 * time, for flamegraph.pl and its kin.  Source: github.com/brendangregg/FlameGraph,
 * stackcollapse-*.pl. */
#include "exporter/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "exporter/survey.h"
#include "exporter/timeline.h"

/* ';' is the format's own. */
static void add_name(struct text *line, const char *name)
{
    size_t start = line->len;
    text_add_tame(line, name, strlen(name));
    for (size_t i = start; i < line->len; i++)
        if (line->s[i] == ';')
            line->s[i] = ':';
}

static void add_path(struct text *line, const struct paths *paths, uint32_t path, uint32_t *scratch)
{
    uint32_t depth = paths_depth(paths, path);
    for (uint32_t i = depth; i-- > 0; path = paths_parent(paths, path))
        scratch[i] = paths_frame(paths, path);
    for (uint32_t i = 0; i < depth; i++) {
        text_add(line, ";");
        add_name(line, paths_see_frame(paths, scratch[i]).name);
    }
}

static int write_thread(const struct paths *paths, const struct surveyed *t,
                        const struct timeline *l, FILE *out)
{
    struct text line = {0};
    size_t capacity = 0;
    uint32_t *scratch = NULL;
    int r = 0;
    for (size_t i = 0; i < l->n && r == 0; i++) {
        uint32_t path = l->stretches[i].path;
        int64_t weight_us = (l->stretches[i].ns + NS_PER_US / 2) / NS_PER_US;
        if (!path || !weight_us)
            continue;
        scratch = array_reserve(scratch, &capacity, paths_depth(paths, path), sizeof *scratch);
        text_clear(&line);
        add_name(&line, t->label);
        add_path(&line, paths, path, scratch);
        if (fprintf(out, "%s %" PRId64 "\n", line.s, weight_us) < 0)
            r = -errno;
    }
    free(scratch);
    text_release(&line);
    return r;
}

int folded_write(struct profile *p, const struct view_options *options, FILE *out)
{
    struct view *v = view_new(p, options);
    struct paths *paths = paths_new(p, v, 0);
    struct survey survey;
    survey_init(&survey, p, v);
    int r = 0;
    for (size_t i = 0; i < survey.n && r == 0; i++) {
        struct timeline l = {0};
        timeline_add_thread(&l, paths, survey.threads[i].thread, WEIGHT_WALL, 0);
        timeline_bucket(&l, paths, INT64_MAX);
        r = write_thread(paths, &survey.threads[i], &l, out);
        timeline_release(&l);
    }
    if (r == 0 && fflush(out) != 0)
        r = -errno;
    survey_release(&survey);
    paths_free(paths);
    view_free(v);
    return r;
}
