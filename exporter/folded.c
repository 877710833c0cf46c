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
#include "exporter/path_timeline.h"
#include "summary/thread_summary.h"

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

static int write_thread(const struct paths *paths, const struct thread_summary *t,
                        const struct path_timeline *l, FILE *out)
{
    struct text line = {0};
    size_t capacity = 0;
    uint32_t *scratch = NULL;
    int r = 0;
    for (size_t i = 0; i < l->n && r == 0; i++) {
        uint32_t path = l->segments[i].path;
        int64_t weight_us = (l->segments[i].ns + NS_PER_US / 2) / NS_PER_US;
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

/* ---- the limit ---- */

struct folding {
    struct paths *paths;
    struct thread_summaries summaries;
    int64_t one_part; /* subtrees below one part in this many are folded; 0: none */
};

static struct path_timeline timeline_of(const struct folding *f, const struct thread_summary *t)
{
    struct path_timeline l = {0};
    path_timeline_add_thread(&l, f->paths, t->thread, WEIGHT_WALL, 0);
    path_timeline_bucket(&l, f->paths, INT64_MAX);
    if (f->one_part)
        path_timeline_fold(&l, f->paths, path_timeline_total_ns(&l) / f->one_part);
    return l;
}

/* LENGTHS by path: of the line, without the label and the weight. */
static uint64_t file_bytes(const struct folding *f, const uint64_t *lengths)
{
    enum { BYTES_A_WEIGHT = 14 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < f->summaries.n; i++) {
        const struct thread_summary *t = &f->summaries.threads[i];
        struct path_timeline l = timeline_of(f, t);
        for (size_t k = 0; k < l.n; k++)
            bytes += lengths[l.segments[k].path] + strlen(t->label) + BYTES_A_WEIGHT;
        path_timeline_release(&l);
    }
    return bytes;
}

/* Light subtrees give their weight to their callers until the file is no larger. */
static void hold_limit(struct folding *f, uint64_t max_bytes)
{
    uint32_t n = paths_count(f->paths);
    uint64_t *lengths = xcalloc(n + (size_t)1, sizeof *lengths);
    for (uint32_t path = 1; path <= n; path++)
        lengths[path] = lengths[paths_parent(f->paths, path)] + 1 +
                        strlen(paths_see_frame(f->paths, paths_frame(f->paths, path)).name);
    while (max_bytes && file_bytes(f, lengths) > max_bytes && f->one_part != 1)
        f->one_part = f->one_part ? f->one_part / 10 : 1000000;
    free(lengths);
}

int folded_write(const struct profile *p, struct view *v, const struct export_findings *findings,
                 uint64_t max_bytes, FILE *out, struct export_notes *ret_notes)
{
    struct folding f = {.paths = paths_new(p, v, 0)};
    (void)findings; /* no line of the format could hold them */
    thread_summaries_init(&f.summaries, p, v);
    hold_limit(&f, max_bytes);
    int r = 0;
    for (size_t i = 0; i < f.summaries.n && r == 0; i++) {
        struct path_timeline l = timeline_of(&f, &f.summaries.threads[i]);
        r = write_thread(f.paths, &f.summaries.threads[i], &l, out);
        path_timeline_release(&l);
    }
    if (r == 0 && fflush(out) != 0)
        r = -errno;
    if (f.one_part)
        (void)snprintf(ret_notes->coarsened, sizeof ret_notes->coarsened, "paths under %g%% folded",
                       100.0 / (double)f.one_part);
    thread_summaries_release(&f.summaries);
    paths_free(f.paths);
    return r;
}
