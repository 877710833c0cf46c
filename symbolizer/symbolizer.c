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
#include "symbolizer/v8_name.h"
#include "target/maps.h"
#include "target/proc.h"

struct symbolizer_entry {
    struct modules *modules;
    struct module *module;
    module_id id;
    uint64_t file; /* see file_key() */
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
    uint64_t unqueued; /* frames without a name that NAMELESS had no room for */
    bool names_code;   /* a map had a name */
    struct debug_search *search;
    struct symbolizer_entry *entries;
    size_t n, capacity;
    struct map by_id; /* module_id → entry */
    struct internal_functions internal;
};

struct wanted_frame {
    struct symbolizer *symbolizer;
    uint64_t file, offset, function;
    uint32_t entry;
    frame_id frame;
    size_t place; /* of the naming: several processes may have a frame there */
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

/* A key of the module's file: equal for all modules that one file serves, also those of several
 * processes.  It is made of path and build id, so that an image is named by the file that
 * another process still has.  Without a build id it is made of the open file.  0: there is no
 * file. */
static uint64_t file_key(const struct profile_module *m, const struct elf_file *elf)
{
    static const uint64_t without_id = UINT64_C(1) << 63;
    if (m->build_id.ix)
        return (uint64_t)m->path.ix << 32 | m->build_id.ix;
    return elf ? without_id | (uintptr_t)elf : 0;
}

void symbolizer_add_module(struct symbolizer *s, module_id m, struct modules *modules,
                           struct module *module)
{
    const struct profile_module *known = profile_get_module(s->profile, m);
    uint64_t file = file_key(known, module_elf(modules, module));
    s->entries = array_reserve(s->entries, &s->capacity, s->n + 1, sizeof *s->entries);
    map_put(&s->by_id, m.ix, s->n);
    s->entries[s->n++] = (struct symbolizer_entry){modules, module, m, file};
}

void symbolizer_set_internal(struct symbolizer *s, struct internal_functions internal)
{
    s->internal = internal;
}

static bool is_internal(const struct symbolizer *s, uint32_t flags, const struct location *l)
{
    const struct internal_functions *ask = &s->internal;
    const char *function = profile_text(s->profile, l->function);
    if (flags & FRAME_IS_INTERPRETER)
        return ask->of_interpreter && ask->of_interpreter(function);
    if (flags & FRAME_IS_EMBEDDING)
        return ask->of_program && ask->of_program(function, profile_text(s->profile, l->file));
    return flags & FRAME_IS_JIT && ask->of_jit && ask->of_jit(function);
}

static void find_internal(const struct symbolizer *s, frame_id frame, struct location *locations,
                          size_t n)
{
    uint32_t flags = profile_get_frame(s->profile, frame)->flags;
    for (size_t i = 0; i < n; i++)
        locations[i].internal = is_internal(s, flags, &locations[i]);
}

/* ---- code outside all files ---- */

/* When the process began, in seconds since 1970, less what clocks may differ by; 0: unknown. */
static int64_t begin_of(pid_t pid)
{
    enum { SLACK_S = 2 };
    struct task_stat stat;
    struct timespec boot;
    struct timespec now;
    if (proc_stat(pid, 0, &stat) < 0 || clock_gettime(CLOCK_BOOTTIME, &boot) < 0 ||
        clock_gettime(CLOCK_REALTIME, &now) < 0)
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
    s->names_code |= found;
    return found ? profile_string(s->profile, s->name.s) : (string_id){0};
}

/* What NAME, of a map, says.  V8's names have the place, too, but not that of the code. */
static struct location place_of(struct symbolizer *s, string_id name)
{
    struct location location = {.function = name};
    struct v8_name parts;
    if (v8_name_parse(profile_text(s->profile, name), &parts))
        location = (struct location){.function = profile_string(s->profile, parts.function.s),
                                     .file = profile_string(s->profile, parts.file.s),
                                     .line = parts.line,
                                     .function_line = parts.line};
    v8_name_release(&parts);
    return location;
}

static void name_jit_frame(struct symbolizer *s, frame_id frame, string_id name)
{
    struct location location = place_of(s, name);
    find_internal(s, frame, &location, 1);
    profile_locate(s->profile, frame, &location, 1);
}

void symbolizer_add_jit_frame(struct symbolizer *s, frame_id frame, uint64_t addr)
{
    string_id name = profile_get_frame(s->profile, frame)->native.name;
    if (name.ix) {
        name_jit_frame(s, frame, name);
        return;
    }
    if (s->n_nameless == MAX_NAMELESS) {
        s->unqueued++;
        return;
    }
    s->nameless =
        array_reserve(s->nameless, &s->nameless_capacity, s->n_nameless + 1, sizeof *s->nameless);
    s->nameless[s->n_nameless++] = (struct nameless){frame, addr};
}

/* Compilers may write their map late.  It is read soon after that, because another function may
 * take the address. */
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

uint64_t symbolizer_unqueued(const struct symbolizer *s)
{
    return s->names_code ? s->unqueued : 0;
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

/* OWNERS: which of ALL serves a module. */
static void want(struct symbolizer *const *all, const struct map *owners, struct wanted_list *list,
                 frame_id id)
{
    const struct profile *p = all[0]->profile;
    const struct frame *f = profile_get_frame(p, id);
    uint64_t owner;
    uint64_t entry;
    size_t n;
    if (f->kind != FRAME_NATIVE || profile_locations(p, id, &n) ||
        !map_get(owners, f->native.module.ix, &owner) ||
        !map_get(&all[owner]->by_id, f->native.module.ix, &entry) ||
        !all[owner]->entries[entry].file)
        return;
    struct symbolizer *s = all[owner];
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

/* By file, then by address: every unit of DWARF is read once, in the file's order. */
static int by_place(const void *a, const void *b)
{
    const struct wanted_frame *x = a;
    const struct wanted_frame *y = b;
    int order = compare_u64(x->file, y->file);
    order = order ? order : compare_u64(x->offset, y->offset);
    return order ? order : compare_u64(x->frame.ix, y->frame.ix);
}

/* What serves names better: a file, an image of the process's memory, nothing.  An image has
 * exported symbols only, and no debug information. */
enum source_rank { SOURCE_NONE, SOURCE_IMAGE, SOURCE_FILE };

static enum source_rank rank_of(const struct symbolizer_entry *e, struct elf_file **ret)
{
    *ret = module_elf(e->modules, e->module);
    if (!*ret)
        return SOURCE_NONE;
    return elf_file_is_file(*ret) ? SOURCE_FILE : SOURCE_IMAGE;
}

static enum source_rank rank_in(struct symbolizer *s, module_id id)
{
    struct elf_file *unused;
    uint64_t entry;
    return map_get(&s->by_id, id.ix, &entry) ? rank_of(&s->entries[entry], &unused) : SOURCE_NONE;
}

/* The first of those that serve a module best: a forked process has its parent's. */
static void find_owners(struct symbolizer *const *all, size_t n, struct map *owners)
{
    uint64_t known;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i]->n; k++) {
            const struct symbolizer_entry *e = &all[i]->entries[k];
            if (e->file && (!map_get(owners, e->id.ix, &known) ||
                            rank_in(all[i], e->id) > rank_in(all[known], e->id)))
                map_put(owners, e->id.ix, i);
        }
}

/* The frames to name, by place, each once. */
static struct wanted_list want_all(struct symbolizer *const *all, size_t n)
{
    struct wanted_list list = {0};
    struct map owners = {0};
    find_owners(all, n, &owners);
    for (uint32_t f = 1; n && f <= profile_frame_count(all[0]->profile); f++)
        want(all, &owners, &list, (frame_id){f});
    if (list.n)
        qsort(list.items, list.n, sizeof *list.items, by_place);
    map_release(&owners);
    return list;
}

/* ---- jobs ---- */

struct naming_job {
    struct wanted_list list;
    size_t n_places; /* of NAMING */
    struct naming *naming;
    struct name_faults *faults;
};

static bool is_same_place(const struct wanted_frame *w, const struct naming_place *place)
{
    return w->offset == place->offset && w->function == place->function;
}

/* Adds the places of the N frames of one file at W, each once. */
static void add_places(struct naming_job *job, struct elf_file *file, const struct wanted_frame *of,
                       struct wanted_frame *w, size_t n)
{
    struct naming_place *places = xmalloc(n * sizeof *places);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!kept || !is_same_place(&w[i], &places[kept - 1]))
            places[kept++] = (struct naming_place){w[i].offset, w[i].function};
        w[i].place = job->n_places + kept - 1;
    }
    const struct module *module = of->symbolizer->entries[of->entry].module;
    naming_add(job->naming, file, module->path, of->symbolizer->search, places, kept);
    job->n_places += kept;
    free(places);
}

/* That of the N frames of one file at W whose process serves it best, and the file; for one process
 * it may be gone where another still has it.  NULL: it is gone. */
static const struct wanted_frame *best_of(const struct wanted_frame *w, size_t n,
                                          struct elf_file **ret)
{
    const struct wanted_frame *best = NULL;
    enum source_rank most = SOURCE_NONE;
    for (size_t i = 0; i < n && most < SOURCE_FILE; i++) {
        struct elf_file *file;
        enum source_rank rank = rank_of(&w[i].symbolizer->entries[w[i].entry], &file);
        if (rank <= most)
            continue;
        most = rank;
        best = &w[i];
        *ret = file;
    }
    return best;
}

/* Adds the N frames of one file at W, if it is there. */
static bool add_file(struct naming_job *job, struct wanted_frame *w, size_t n)
{
    struct elf_file *file;
    uint64_t known;
    if (map_get(&job->faults->files, w->file, &known)) {
        job->faults->frames += n;
        return false;
    }
    const struct wanted_frame *of = best_of(w, n, &file);
    if (!of)
        return false;
    add_places(job, file, of, w, n);
    return true;
}

static struct naming_job *job_new(struct symbolizer *const *all, size_t n,
                                  struct naming_quiet quiet, struct name_faults *faults)
{
    struct naming_job *job = xcalloc(1, sizeof *job);
    job->naming = naming_new(quiet);
    job->faults = faults;
    faults->frames = 0;
    job->list = want_all(all, n);
    struct wanted_frame *items = job->list.items;
    size_t kept = 0;
    for (size_t at = 0, len; at < job->list.n; at += len) {
        len = 1;
        while (at + len < job->list.n && items[at].file == items[at + len].file)
            len++;
        if (!add_file(job, &items[at], len))
            continue;
        memmove(&items[kept], &items[at], len * sizeof *items);
        kept += len;
    }
    job->list.n = kept;
    return job;
}

static string_id string_of(struct profile *p, const struct naming *naming, string_id id)
{
    return id.ix ? profile_string(p, naming_text(naming, id)) : id;
}

static bool take_names(const struct naming *naming, const struct wanted_frame *w)
{
    struct symbolizer *s = w->symbolizer;
    struct location locations[MAX_INLINED + 1];
    const struct location *found;
    size_t n = naming_found(naming, w->place, &found);
    if (n == 0)
        return false;
    memcpy(locations, found, n * sizeof *found);
    for (size_t j = 0; j < n; j++) {
        locations[j].function = string_of(s->profile, naming, found[j].function);
        locations[j].file = string_of(s->profile, naming, found[j].file);
    }
    find_internal(s, w->frame, locations, n);
    profile_locate(s->profile, w->frame, locations, n);
    return true;
}

static void note_fault(struct name_faults *f, const struct wanted_frame *w, const char *why)
{
    uint64_t known;
    f->frames++;
    if (map_get(&f->files, w->file, &known))
        return;
    map_put(&f->files, w->file, 1);
    const struct module *module = w->symbolizer->entries[w->entry].module;
    if (f->n++ == 0)
        text_addf(&f->which, "%s (%s)", module->name, why);
}

size_t naming_job_end(struct naming_job *job)
{
    size_t named = 0;
    if (!job)
        return 0;
    naming_stop(job->naming);
    for (size_t i = 0; i < job->list.n; i++) {
        const struct wanted_frame *w = &job->list.items[i];
        const char *fault = naming_fault(job->naming, w->place);
        if (fault)
            note_fault(job->faults, w, fault);
        else
            named += take_names(job->naming, w);
    }
    naming_free(job->naming);
    free(job->list.items);
    free(job);
    return named;
}

void symbolizers_run(struct symbolizer *const *all, size_t n, struct naming_quiet quiet,
                     struct name_faults *faults, bool (*on_progress)(void *ctx, double share),
                     void *ctx)
{
    for (size_t i = 0; i < n; i++)
        if (all[i]->perf_map && perf_map_finish(all[i]->perf_map))
            name_nameless(all[i]);
    struct naming_job *job = job_new(all, n, quiet, faults);
    naming_run(job->naming, (struct naming_progress){on_progress, ctx});
    (void)naming_job_end(job);
}

struct naming_job *symbolizers_start(struct symbolizer *const *all, size_t n,
                                     struct naming_quiet quiet, struct name_faults *faults)
{
    struct naming_job *job = job_new(all, n, quiet, faults);
    if (job->list.n && naming_start(job->naming) == 0)
        return job;
    (void)naming_job_end(job);
    return NULL;
}

bool naming_job_is_done(struct naming_job *job)
{
    return naming_is_done(job->naming);
}

void name_faults_release(struct name_faults *f)
{
    map_release(&f->files);
    text_release(&f->which);
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
