#include "symbolizer/symbolizer.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/dwarf_names.h"
#include "symbolizer/module_names.h"

struct entry {
    struct modules *modules;
    struct module *module;
};

struct symbolizer {
    struct profile *profile;
    struct debug_search *search;
    struct entry *entries;
    size_t n, capacity;
    struct map by_id; /* module_id → entry */
    bool (*is_plumbing)(const char *function);
};

struct wanted {
    uint64_t offset;
    uint32_t entry;
    frame_id frame;
};

struct wanted_list {
    struct wanted *items;
    size_t n, capacity;
};

struct symbolizer *symbolizer_new(struct profile *profile, pid_t pid)
{
    struct symbolizer *s = xcalloc(1, sizeof *s);
    s->profile = profile;
    s->search = debug_search_new(pid);
    return s;
}

void symbolizer_add_module(struct symbolizer *s, module_id m, struct modules *modules,
                           struct module *module)
{
    s->entries = array_reserve(s->entries, &s->capacity, s->n + 1, sizeof *s->entries);
    map_put(&s->by_id, m.ix, s->n);
    s->entries[s->n++] = (struct entry){modules, module};
}

void symbolizer_set_plumbing(struct symbolizer *s, bool (*is_plumbing)(const char *function))
{
    s->is_plumbing = is_plumbing;
}

static void want(struct symbolizer *s, struct wanted_list *list, frame_id id)
{
    const struct frame *f = profile_get_frame(s->profile, id);
    uint64_t entry;
    size_t n;
    if (f->kind != FRAME_NATIVE || profile_locations(s->profile, id, &n) ||
        !map_get(&s->by_id, f->native.module.ix, &entry))
        return;
    list->items = array_reserve(list->items, &list->capacity, list->n + 1, sizeof *list->items);
    list->items[list->n++] = (struct wanted){f->native.offset, (uint32_t)entry, id};
}

/* By module, then by address: every unit of DWARF is read once, in the file's order. */
static int by_place(const void *a, const void *b)
{
    const struct wanted *x = a;
    const struct wanted *y = b;
    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void name_frame(struct symbolizer *s, struct module_names *names, const struct wanted *w)
{
    struct location locations[MAX_INLINED + 1];
    size_t n = module_names_find(names, w->offset, locations);
    if (!n)
        return;
    if (s->is_plumbing && profile_get_frame(s->profile, w->frame)->flags & FRAME_IS_INTERPRETER)
        for (size_t i = 0; i < n; i++)
            locations[i].plumbing = s->is_plumbing(profile_text(s->profile, locations[i].function));
    profile_locate(s->profile, w->frame, locations, n);
}

/* Names the N frames of one module at W. */
static void name_module(struct symbolizer *s, const struct wanted *w, size_t n)
{
    const struct entry *e = &s->entries[w->entry];
    struct elf_file *file = module_elf(e->modules, e->module);
    if (!file)
        return;
    struct module_names *names = module_names_open(file, e->module->path, s->search, s->profile);
    for (size_t i = 0; i < n; i++)
        name_frame(s, names, &w[i]);
    (void)module_names_close(names);
}

void symbolizer_run(struct symbolizer *s, void (*on_progress)(void *ctx, double share), void *ctx)
{
    struct wanted_list list = {0};
    for (uint32_t i = 1; i <= profile_frame_count(s->profile); i++)
        want(s, &list, (frame_id){i});
    if (list.n)
        qsort(list.items, list.n, sizeof *list.items, by_place);
    for (size_t at = 0; at < list.n;) {
        size_t n = 1;
        while (at + n < list.n && list.items[at + n].entry == list.items[at].entry)
            n++;
        name_module(s, &list.items[at], n);
        at += n;
        if (on_progress)
            on_progress(ctx, (double)at / (double)list.n);
    }
    free(list.items);
}

struct symbolizer *symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return NULL;
    s->search = debug_search_free(s->search);
    map_release(&s->by_id);
    free(s->entries);
    free(s);
    return NULL;
}
