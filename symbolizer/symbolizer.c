#include "symbolizer/symbolizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/dwarf_names.h"
#include "symbolizer/naming.h"
#include "symbolizer/perf_map.h"
#include "target/maps.h"
#include "target/proc.h"

struct symbolizer_entry {
    struct modules *modules;
    struct module *module;
    uint64_t file; /* its path and build id; of a file without one: only this entry's */
};

/* Code outside all files that had no name when it was met. */
struct nameless {
    frame_id frame;
    uint64_t addr;
};

enum { MAX_NAMELESS = 1 << 16 }; /* all are looked up, some ms, when the map changes */

struct symbolizer {
    struct profile *profile;
    pid_t pid;
    struct perf_map *perf_map; /* NULL: not needed yet */
    struct text name;
    struct nameless *nameless;
    size_t n_nameless, nameless_capacity;
    struct debug_search *search;
    struct symbolizer_entry *entries;
    size_t n, capacity;
    struct map by_id; /* module_id → entry */
    bool (*is_plumbing)(const char *function);
    bool (*is_jit_plumbing)(const char *function);
};

struct wanted_frame {
    struct symbolizer *symbolizer;
    uint64_t file, offset, function;
    uint32_t entry;
    frame_id frame;
};

struct wanted_list {
    struct wanted_frame *items;
    size_t n, capacity;
};

struct symbolizer *symbolizer_new(struct profile *profile, pid_t pid)
{
    struct symbolizer *s = xcalloc(1, sizeof *s);
    s->profile = profile;
    s->pid = pid;
    s->search = debug_search_new(pid);
    return s;
}

void symbolizer_add_module(struct symbolizer *s, module_id m, struct modules *modules,
                           struct module *module)
{
    const struct profile_module *known = profile_get_module(s->profile, m);
    uint64_t file = (uint64_t)known->path.ix << 32 | known->build_id.ix;
    s->entries = array_reserve(s->entries, &s->capacity, s->n + 1, sizeof *s->entries);
    map_put(&s->by_id, m.ix, s->n);
    s->entries[s->n++] = (struct symbolizer_entry){modules, module, known->build_id.ix ? file : 0};
}

void symbolizer_set_plumbing(struct symbolizer *s, bool (*is_plumbing)(const char *function),
                             bool (*is_jit_plumbing)(const char *function))
{
    s->is_plumbing = is_plumbing;
    s->is_jit_plumbing = is_jit_plumbing;
}

static void find_plumbing(const struct symbolizer *s, frame_id frame, struct location *locations,
                          size_t n)
{
    uint32_t flags = profile_get_frame(s->profile, frame)->flags;
    bool (*ask)(const char *function) = flags & FRAME_IS_INTERPRETER ? s->is_plumbing
                                        : flags & FRAME_IS_JIT       ? s->is_jit_plumbing
                                                                     : NULL;
    for (size_t i = 0; ask && i < n; i++)
        locations[i].plumbing = ask(profile_text(s->profile, locations[i].function));
}

/* ---- code outside all files ---- */

/* When the process began, in seconds since 1970, rounded down by as much as clocks may differ; 0: unknown. */
static int64_t begin_of(pid_t pid)
{
    enum { SLACK_S = 2 };
    char text[PROC_TEXT_BYTES];
    struct task_stat stat;
    struct timespec boot;
    struct timespec now;
    ssize_t len = proc_read_text(pid, 0, "stat", text, sizeof text);
    if (len <= 0 || task_stat_parse(text, (size_t)len, &stat) < 0 ||
        clock_gettime(CLOCK_BOOTTIME, &boot) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
        return 0;
    int64_t since_boot_s = (int64_t)stat.start_ticks / sysconf(_SC_CLK_TCK);
    return now.tv_sec - boot.tv_sec + since_boot_s - SLACK_S;
}

/* Under the target's own pid, in its own /tmp. */
static struct perf_map *open_perf_map(pid_t pid)
{
    struct task_status status;
    if (proc_status(pid, 0, &status) < 0)
        status = (struct task_status){.ns_tid = pid, .euid = geteuid()};
    char *path = xasprintf("/proc/%d/root/tmp/perf-%d.map", pid, status.ns_tid);
    struct perf_map *m = perf_map_new(path, status.euid, begin_of(pid));
    free(path);
    return m;
}

string_id symbolizer_jit_name(struct symbolizer *s, uint64_t addr)
{
    if (!s->perf_map) {
        s->perf_map = open_perf_map(s->pid);
        (void)perf_map_refresh(s->perf_map);
    }
    bool found = perf_map_find(s->perf_map, addr, &s->name);
    return found ? profile_string(s->profile, s->name.s) : (string_id){0};
}

static void name_jit_frame(struct symbolizer *s, frame_id frame, string_id name)
{
    struct location location = {.function = name};
    find_plumbing(s, frame, &location, 1);
    profile_locate(s->profile, frame, &location, 1);
}

void symbolizer_add_jit_frame(struct symbolizer *s, frame_id frame, uint64_t addr)
{
    string_id name = profile_get_frame(s->profile, frame)->native.name;
    if (name.ix) {
        name_jit_frame(s, frame, name);
        return;
    }
    if (s->n_nameless == MAX_NAMELESS)
        return;
    s->nameless =
        array_reserve(s->nameless, &s->nameless_capacity, s->n_nameless + 1, sizeof *s->nameless);
    s->nameless[s->n_nameless++] = (struct nameless){frame, addr};
}

/* Compilers may write their map late.  Asked soon after that: another function may take the address. */
static void name_nameless(struct symbolizer *s)
{
    size_t left = 0;
    for (size_t i = 0; i < s->n_nameless; i++) {
        string_id name = symbolizer_jit_name(s, s->nameless[i].addr);
        if (name.ix)
            name_jit_frame(s, s->nameless[i].frame, name);
        else
            s->nameless[left++] = s->nameless[i];
    }
    s->n_nameless = left;
}

static bool is_made_at_run_time(const struct maps *maps, uint64_t addr)
{
    const struct mapping *m = maps_find(maps, addr);
    return m && m->prot & PROT_EXEC && !m->inode && m->path[0] != '[';
}

size_t symbolizer_nameless(const struct symbolizer *s, const struct maps *maps)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_nameless; i++)
        n += is_made_at_run_time(maps, s->nameless[i].addr);
    return n;
}

bool symbolizer_jit_changed(struct symbolizer *s)
{
    if (!s->perf_map || !perf_map_refresh(s->perf_map))
        return false;
    name_nameless(s);
    return true;
}

void symbolizer_exec(struct symbolizer *s)
{
    name_nameless(s);
    s->n_nameless = 0;
    s->perf_map = perf_map_free(s->perf_map);
}

/* ---- code of modules ---- */

static void want(struct symbolizer *s, struct wanted_list *list, frame_id id)
{
    const struct frame *f = profile_get_frame(s->profile, id);
    uint64_t entry;
    size_t n;
    if (f->kind != FRAME_NATIVE || profile_locations(s->profile, id, &n) ||
        !map_get(&s->by_id, f->native.module.ix, &entry))
        return;
    list->items = array_reserve(list->items, &list->capacity, list->n + 1, sizeof *list->items);
    list->items[list->n++] = (struct wanted_frame){
        .symbolizer = s,
        .file = s->entries[entry].file,
        .offset = f->native.offset,
        .function = f->native.function,
        .entry = (uint32_t)entry,
        .frame = id,
    };
}

/* Of one file; where that is not known, of one module. */
static int by_file(const struct wanted_frame *x, const struct wanted_frame *y)
{
    int order = compare_u64(x->file, y->file);
    if (order || x->file)
        return order;
    order = compare_u64((uintptr_t)x->symbolizer, (uintptr_t)y->symbolizer);
    return order ? order : compare_u64(x->entry, y->entry);
}

/* By file, then by address: every unit of DWARF is read once, in the file's order. */
static int by_place(const void *a, const void *b)
{
    const struct wanted_frame *x = a;
    const struct wanted_frame *y = b;
    int order = by_file(x, y);
    order = order ? order : compare_u64(x->offset, y->offset);
    return order ? order : compare_u64(x->frame.ix, y->frame.ix);
}

/* What is to be named, by place, each frame once: a forked process has its parent's. */
static struct wanted_list want_all(struct symbolizer *const *all, size_t n)
{
    struct wanted_list list = {0};
    for (size_t i = 0; i < n; i++)
        for (uint32_t f = 1; f <= profile_frame_count(all[i]->profile); f++)
            want(all[i], &list, (frame_id){f});
    if (list.n)
        qsort(list.items, list.n, sizeof *list.items, by_place);
    size_t kept = 0;
    for (size_t i = 0; i < list.n; i++)
        if (!kept || list.items[i].frame.ix != list.items[kept - 1].frame.ix)
            list.items[kept++] = list.items[i];
    list.n = kept;
    return list;
}

/* ---- goes ---- */

enum { MAX_OPENED = 128 }; /* the sampler needs file descriptors too */

struct naming_go {
    struct wanted_list list; /* the items of NAMING, in its order */
    struct naming *naming;
    struct elf_file *opened[MAX_OPENED]; /* for this go */
    size_t n_opened;
};

/* The file of the entry that W is in; NULL: it is gone, or not to be had a second time where that is needed. */
static struct elf_file *open_file(struct naming_go *go, const struct wanted_frame *w, bool apart)
{
    const struct symbolizer_entry *e = &w->symbolizer->entries[w->entry];
    struct elf_file *file = module_elf(e->modules, e->module);
    if (!file || !apart)
        return file;
    struct elf_file *again;
    if (go->n_opened == MAX_OPENED || elf_file_again(&again, file) < 0)
        return NULL;
    return go->opened[go->n_opened++] = again;
}

/* Adds the N frames of one file at W, if it can be opened: for one process it may be gone where another still has
 * it. */
static bool add_file(struct naming_go *go, const struct wanted_frame *w, size_t n, bool apart)
{
    struct elf_file *file = NULL;
    const struct wanted_frame *of = w;
    for (size_t i = 0; i < n && !file; i++)
        file = open_file(go, of = &w[i], apart);
    if (!file)
        return false;
    struct naming_place *places = xmalloc(n * sizeof *places);
    for (size_t i = 0; i < n; i++)
        places[i] = (struct naming_place){w[i].offset, w[i].function};
    const struct module *module = of->symbolizer->entries[of->entry].module;
    naming_add(go->naming, file, module->path, of->symbolizer->search, places, n);
    free(places);
    return true;
}

/* APART: with files of its own. */
static struct naming_go *go_new(struct symbolizer *const *all, size_t n, bool apart)
{
    struct naming_go *go = xcalloc(1, sizeof *go);
    go->naming = naming_new();
    go->list = want_all(all, n);
    struct wanted_frame *items = go->list.items;
    size_t kept = 0;
    for (size_t at = 0, len; at < go->list.n; at += len) {
        len = 1;
        while (at + len < go->list.n && by_file(&items[at], &items[at + len]) == 0)
            len++;
        if (!add_file(go, &items[at], len, apart))
            continue;
        memmove(&items[kept], &items[at], len * sizeof *items);
        kept += len;
    }
    go->list.n = kept;
    return go;
}

static string_id string_of(struct profile *p, const struct naming *naming, string_id id)
{
    return id.ix ? profile_string(p, naming_text(naming, id)) : id;
}

static bool take_names(const struct naming *naming, size_t i, const struct wanted_frame *w)
{
    struct symbolizer *s = w->symbolizer;
    struct location locations[MAX_INLINED + 1];
    const struct location *found;
    size_t n = naming_found(naming, i, &found);
    if (n == 0)
        return false;
    memcpy(locations, found, n * sizeof *found);
    for (size_t j = 0; j < n; j++) {
        locations[j].function = string_of(s->profile, naming, found[j].function);
        locations[j].file = string_of(s->profile, naming, found[j].file);
    }
    find_plumbing(s, w->frame, locations, n);
    profile_locate(s->profile, w->frame, locations, n);
    return true;
}

size_t naming_go_end(struct naming_go *go)
{
    size_t named = 0;
    if (!go)
        return 0;
    naming_stop(go->naming);
    for (size_t i = 0; i < go->list.n; i++)
        named += take_names(go->naming, i, &go->list.items[i]);
    for (size_t i = 0; i < go->n_opened; i++)
        elf_file_free(go->opened[i]);
    naming_free(go->naming);
    free(go->list.items);
    free(go);
    return named;
}

void symbolizers_run(struct symbolizer *const *all, size_t n,
                     bool (*on_progress)(void *ctx, double share), void *ctx)
{
    for (size_t i = 0; i < n; i++)
        if (all[i]->perf_map && perf_map_finish(all[i]->perf_map))
            name_nameless(all[i]);
    struct naming_go *go = go_new(all, n, false);
    naming_run(go->naming, (struct naming_progress){on_progress, ctx});
    (void)naming_go_end(go);
}

struct naming_go *symbolizers_start(struct symbolizer *const *all, size_t n)
{
    struct naming_go *go = go_new(all, n, true);
    if (go->list.n && naming_start(go->naming) == 0)
        return go;
    (void)naming_go_end(go);
    return NULL;
}

bool naming_go_is_done(const struct naming_go *go)
{
    return naming_is_done(go->naming);
}

struct symbolizer *symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return NULL;
    s->search = debug_search_free(s->search);
    map_release(&s->by_id);
    s->perf_map = perf_map_free(s->perf_map);
    text_release(&s->name);
    free(s->nameless);
    free(s->entries);
    free(s);
    return NULL;
}
