#include "worker/runtimes.h"

#include <string.h>

#include "base/text.h"

/* Libraries by the beginnings of their files' names.  Source: their packages. */
static const struct library {
    const char *file, *name;
    bool allocator; /* false: an OpenMP runtime */
} libraries[] = {
    {"libjemalloc.so", "jemalloc", true},    {"libtcmalloc", "tcmalloc", true},
    {"libmimalloc", "mimalloc", true},       {"libasan.so", "AddressSanitizer", true},
    {"libtsan.so", "ThreadSanitizer", true}, {"libgomp", "libgomp", false},
    {"libiomp5", "libiomp5", false},         {"libomp.so", "libomp", false},
    {"libomp5.so", "libomp", false},         {"libomp-", "libomp", false},
};

static const struct library *library_of(const char *path)
{
    const char *file = path_base(path);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (str_starts(file, libraries[i].file))
            return &libraries[i];
    return NULL;
}

/* Does LD_PRELOAD, if the environment was kept, name FILE? */
static bool is_preloaded(const char *environment, const char *file)
{
    const char *variable = strstr(environment, "LD_PRELOAD=");
    const char *found = variable ? strstr(variable, file) : NULL;
    const char *end = variable ? strchr(variable, ' ') : NULL;
    return found && (!end || found < end);
}

/* "libgomp, libiomp5": each once. */
static void add_once(struct text *list, const char *name)
{
    if (!list->len || !strstr(list->s, name))
        text_addf(list, "%s%s", list->len ? ", " : "", name);
}

void runtimes_find(const struct maps *maps, const char *environment, struct runtimes *ret)
{
    const struct library *allocator = NULL;
    bool libc = false;
    *ret = (struct runtimes){0};
    for (size_t i = 0; i < maps->n; i++) {
        const char *path = maps->items[i].path;
        const struct library *library = path[0] == '/' ? library_of(path) : NULL;
        libc |= path[0] == '/' && str_starts(path_base(path), "libc.so");
        if (!library)
            continue;
        if (!library->allocator)
            add_once(&ret->openmp, library->name);
        else if (!allocator)
            allocator = library;
    }
    if (allocator)
        text_addf(&ret->allocator, "%s%s", allocator->name,
                  is_preloaded(environment, allocator->file) ? " (preloaded)" : "");
    else if (libc)
        text_add(&ret->allocator, "glibc");
}

void runtimes_report(struct profile *p, process_id id, const struct maps *maps)
{
    struct runtimes found;
    struct profile_process *process = profile_get_process(p, id);
    runtimes_find(maps, profile_text(p, process->environment), &found);
    if (found.allocator.len)
        process->allocator = profile_string(p, found.allocator.s);
    if (found.openmp.len)
        process->openmp = profile_string(p, found.openmp.s);
    text_release(&found.allocator);
    text_release(&found.openmp);
}
