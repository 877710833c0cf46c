#include "summary/path_times.h"

#include <stdlib.h>

#include "base/alloc.h"

void times_add(struct times *sum, const struct times *t)
{
    for (int i = 0; i < PATH_TIMES; i++)
        sum->ns[i] += t->ns[i];
}

void path_times_init(struct path_times *t, const struct paths *paths)
{
    size_t n = paths_count(paths) + (size_t)1;
    *t = (struct path_times){.paths = paths};
    t->self = xcalloc(n, sizeof *t->self);
    t->total = xcalloc(n, sizeof *t->total);
}

void path_times_add(struct path_times *t, const struct profile_thread *thread)
{
    static const enum weight weights[PATH_TIMES] = {WEIGHT_WALL, WEIGHT_CPU, WEIGHT_WAIT_CPU,
                                                    WEIGHT_OFF_CPU};
    for (size_t i = 0; i < thread->n_runs; i++) {
        struct times *self = &t->self[paths_of(t->paths, thread->runs[i].at)];
        for (int k = 0; k < PATH_TIMES; k++)
            self->ns[k] += run_weight(&thread->runs[i], weights[k]);
    }
}

void path_times_sum(struct path_times *t)
{
    for (uint32_t path = paths_count(t->paths); path; path--) {
        times_add(&t->total[path], &t->self[path]);
        times_add(&t->total[paths_parent(t->paths, path)], &t->total[path]);
    }
    times_add(&t->total[0], &t->self[0]);
}

void path_times_release(struct path_times *t)
{
    free(t->self);
    free(t->total);
    *t = (struct path_times){.paths = NULL};
}

/* ---- functions ---- */

static bool is_again(const struct paths *paths, uint32_t path)
{
    uint32_t frame = paths_frame(paths, path);
    while ((path = paths_parent(paths, path)))
        if (paths_frame(paths, path) == frame)
            return true;
    return false;
}

/* The path of the function that is in PATH, which may be one of its waits. */
static uint32_t function_of(const struct paths *paths, uint32_t path)
{
    while (paths_parent(paths, path) && paths_see_frame(paths, paths_frame(paths, path)).waits)
        path = paths_parent(paths, path);
    return path;
}

static int by_own_time(const void *a, const void *b)
{
    const struct function_times *x = a;
    const struct function_times *y = b;
    int64_t own = y->self.ns[PATH_WALL] - x->self.ns[PATH_WALL];
    int64_t all = y->total.ns[PATH_WALL] - x->total.ns[PATH_WALL];
    return own ? (own > 0) - (own < 0) : (all > 0) - (all < 0);
}

struct function_times *function_times_of(const struct path_times *t, size_t *ret_n)
{
    size_t n = paths_frame_count(t->paths);
    struct function_times *all = xcalloc(n + 1, sizeof *all);
    for (uint32_t path = 1; path <= paths_count(t->paths); path++) {
        uint32_t frame = paths_frame(t->paths, path);
        times_add(&all[paths_frame(t->paths, function_of(t->paths, path))].self, &t->self[path]);
        if (function_of(t->paths, path) == path && !is_again(t->paths, path))
            times_add(&all[frame].total, &t->total[path]);
    }
    size_t kept = 0;
    for (uint32_t frame = 1; frame <= n; frame++) {
        all[kept] = all[frame];
        all[kept].frame = paths_see_frame(t->paths, frame);
        kept += all[frame].total.ns[PATH_WALL] > 0 || all[frame].self.ns[PATH_WALL] > 0;
    }
    qsort(all, kept, sizeof *all, by_own_time);
    *ret_n = kept;
    return all;
}
