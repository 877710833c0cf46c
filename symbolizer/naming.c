#include "symbolizer/naming.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file_use.h"
#include "base/own_stack.h"
#include "symbolizer/dwarf_names.h"
#include "symbolizer/module_names.h"

struct item {
    struct naming_place place;
    size_t first, found; /* locations[first] and on, how many */
};

struct naming_file {
    struct elf_file *elf;
    struct debug_search *search;
    char *path;
    size_t first, n; /* items */
};

struct naming {
    struct profile *strings; /* a profile of which only the strings are used */
    struct naming_file *files;
    struct item *items;
    struct location *locations;
    size_t n_files, files_capacity, n_items, items_capacity, n_locations, locations_capacity;
    pthread_t thread;
    bool started;
    atomic_bool stop, done;
};

struct naming *naming_new(void)
{
    struct naming *n = xcalloc(1, sizeof *n);
    n->strings = profile_new(0);
    return n;
}

void naming_add(struct naming *n, struct elf_file *file, const char *path,
                struct debug_search *search, const struct naming_place *places, size_t count)
{
    n->files = array_reserve(n->files, &n->files_capacity, n->n_files + 1, sizeof *n->files);
    n->files[n->n_files++] = (struct naming_file){file, search, xstrdup(path), n->n_items, count};
    n->items = array_reserve(n->items, &n->items_capacity, n->n_items + count, sizeof *n->items);
    for (size_t i = 0; i < count; i++)
        n->items[n->n_items++] = (struct item){.place = places[i]};
}

static void name_item(struct naming *n, struct module_names *names, struct item *item)
{
    enum { MOST = MAX_INLINED + 1 };
    n->locations = array_reserve(n->locations, &n->locations_capacity, n->n_locations + MOST,
                                 sizeof *n->locations);
    item->first = n->n_locations;
    item->found = module_names_find(names, item->place.offset, item->place.function,
                                    &n->locations[item->first]);
    n->n_locations += item->found;
}

/* Returns whether to go on. */
static bool name_file(struct naming *n, const struct naming_file *f,
                      struct naming_progress progress)
{
    bool on = true;
    file_use_note(f->path);
    uint64_t *offsets = xmalloc(f->n * sizeof *offsets);
    for (size_t i = 0; i < f->n; i++)
        offsets[i] = n->items[f->first + i].place.offset;
    struct module_names *names = module_names_open(f->elf, f->path, f->search, n->strings);
    module_names_want(names, offsets, f->n);
    for (size_t i = 0; i < f->n && on; i++) {
        size_t item = f->first + i;
        name_item(n, names, &n->items[item]);
        on = !progress.go_on ||
             progress.go_on(progress.ctx, (double)(item + 1) / (double)n->n_items);
    }
    (void)module_names_close(names);
    free(offsets);
    return on;
}

void naming_run(struct naming *n, struct naming_progress progress)
{
    for (size_t i = 0; i < n->n_files; i++)
        if (!name_file(n, &n->files[i], progress))
            return;
}

static bool is_wanted(void *naming, double share)
{
    const struct naming *n = naming;
    (void)share;
    return !atomic_load(&n->stop);
}

static void *naming_main(void *naming)
{
    struct naming *n = naming;
    naming_run(n, (struct naming_progress){is_wanted, n});
    atomic_store(&n->done, true);
    return NULL;
}

int naming_start(struct naming *n)
{
    sigset_t most;
    sigset_t old;
    sigfillset(&most);
    sigdelset(&most, SIGBUS); /* of a file that is cut short while it is read: target/elf_guard.h */
    (void)pthread_sigmask(SIG_SETMASK, &most, &old);
    int error = own_stack_thread(&n->thread, STACK_USUAL_BYTES, naming_main, n);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    n->started = error == 0;
    return -error;
}

bool naming_is_done(const struct naming *n)
{
    return atomic_load(&n->done);
}

void naming_stop(struct naming *n)
{
    atomic_store(&n->stop, true);
    if (n->started)
        (void)pthread_join(n->thread, NULL);
    n->started = false;
}

size_t naming_found(const struct naming *n, size_t i, const struct location **ret)
{
    *ret = &n->locations[n->items[i].first];
    return n->items[i].found;
}

const char *naming_text(const struct naming *n, string_id id)
{
    return profile_text(n->strings, id);
}

struct naming *naming_free(struct naming *n)
{
    if (!n)
        return NULL;
    for (size_t i = 0; i < n->n_files; i++)
        free(n->files[i].path);
    profile_free(n->strings);
    free(n->files);
    free(n->items);
    free(n->locations);
    free(n);
    return NULL;
}
