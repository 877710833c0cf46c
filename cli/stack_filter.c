#include "cli/stack_filter.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "base/alloc.h"

static bool is_like(const char *pattern, const char *name)
{
    return name && (fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, path_base(name), 0) == 0);
}

static bool has_frame(const struct word_list *patterns, const struct view *v,
                      const struct paths *paths, uint32_t frame)
{
    struct path_frame shown = paths_see_frame(paths, frame);
    const char *module = NULL;
    const char *module_path = NULL;
    if (frame <= view_frame_count(v)) {
        module = view_frame(v, frame)->module;
        module_path = view_frame(v, frame)->module_path;
    }
    for (size_t i = 0; i < patterns->n; i++) {
        const char *pattern = patterns->words[i];
        if (fnmatch(pattern, shown.name, 0) == 0 || is_like(pattern, shown.source) ||
            is_like(pattern, module) || is_like(pattern, module_path) ||
            (!module && is_like(pattern, shown.file)))
            return true;
    }
    return false;
}

/* By path: has its stack a frame like one of PATTERNS? */
static bool *with_frame(const struct word_list *patterns, const struct view *v,
                        const struct paths *paths)
{
    bool *ret = xcalloc(paths_count(paths) + (size_t)1, sizeof *ret);
    bool *frames = xcalloc(paths_frame_count(paths) + (size_t)1, sizeof *frames);
    for (uint32_t i = 1; i <= paths_frame_count(paths); i++)
        frames[i] = has_frame(patterns, v, paths, i);
    for (uint32_t i = 1; i <= paths_count(paths); i++)
        ret[i] = ret[paths_parent(paths, i)] || frames[paths_frame(paths, i)];
    free(frames);
    return ret;
}

bool *stack_filter_paths(const struct options *o, const struct view *v, const struct paths *paths)
{
    if (!o->include.n && !o->exclude.n)
        return NULL;
    bool *included = with_frame(&o->include, v, paths);
    bool *excluded = with_frame(&o->exclude, v, paths);
    for (uint32_t i = 0; i <= paths_count(paths); i++)
        included[i] = (!o->include.n || included[i]) && !excluded[i];
    free(excluded);
    return included;
}
