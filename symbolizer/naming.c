#include "symbolizer/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/file_use.h"
#include "base/log.h"
#include "base/minmax.h"
#include "symbolizer/dwarf_names.h"
#include "symbolizer/naming_record.h"
#include "target/elf_guard.h"

enum {
    LOOK_MS = 50,
    SLOW_S = 10,     /* then the user reads what takes so long */
    PATIENCE_S = 60, /* a debug file of gigabytes on a slow disk is opened in half of it */
    MAX_HANGS = 3,   /* then the rest is left out: the user waits for all of them */
};

struct item {
    struct naming_place place;
    size_t first, found; /* locations[first] and on, how many */
    size_t file;
    bool looked_up;
};

struct naming_file {
    struct elf_file *elf;
    struct debug_search *search;
    char *path;
    char *fault;     /* what became of a child at it; NULL: nothing */
    size_t first, n; /* items */
};

struct naming {
    struct naming_quiet quiet;
    naming_find *find;
    int64_t patience_ns;
    struct profile *strings; /* a profile of which only the strings are used */
    struct naming_file *files;
    struct item *items;
    struct location *locations;
    size_t n_files, files_capacity, n_items, items_capacity, n_locations, locations_capacity;
    struct child child;
    bool runs, done; /* the child; the job */
    struct text come;
    size_t at;                     /* the file that the child works on */
    size_t reached;                /* items */
    int64_t looked_ns, silence_ns; /* when last; of the child since it last said something */
    int hangs;
};

struct naming *naming_new(struct naming_quiet quiet)
{
    struct naming *n = xcalloc(1, sizeof *n);
    n->quiet = quiet;
    n->strings = profile_new(0);
    naming_pretend(n, module_names_find, (int64_t)PATIENCE_S * NS_PER_S);
    return n;
}

void naming_pretend(struct naming *n, naming_find *find, int64_t patience_ns)
{
    n->find = find;
    n->patience_ns = patience_ns;
}

void naming_add(struct naming *n, struct elf_file *file, const char *path,
                struct debug_search *search, const struct naming_place *places, size_t count)
{
    n->files = array_reserve(n->files, &n->files_capacity, n->n_files + 1, sizeof *n->files);
    n->items = array_reserve(n->items, &n->items_capacity, n->n_items + count, sizeof *n->items);
    n->files[n->n_files] = (struct naming_file){
        .elf = file, .search = search, .path = xstrdup(path), .first = n->n_items, .n = count};
    for (size_t i = 0; i < count; i++)
        n->items[n->n_items++] = (struct item){.place = places[i], .file = n->n_files};
    n->n_files++;
}

/* ---- one file ---- */

/* Room for the locations of one more place. */
static struct location *more_locations(struct naming *n)
{
    enum { MOST = MAX_INLINED + 1 };
    n->locations = array_reserve(n->locations, &n->locations_capacity, n->n_locations + MOST,
                                 sizeof *n->locations);
    return &n->locations[n->n_locations];
}

static void keep(struct naming *n, struct item *item, size_t found)
{
    item->first = n->n_locations;
    item->found = found;
    item->looked_up = true;
    n->n_locations += found;
    n->reached = (size_t)(item - n->items) + 1;
}

/* TOLD is called after each look-up, and says whether to go on.  Returns that. */
static bool name_file(struct naming *n, const struct naming_file *f,
                      bool (*told)(void *ctx, struct naming *n, size_t item), void *ctx)
{
    bool on = true;
    file_use_note(f->path);
    uint64_t *offsets = xmalloc(f->n * sizeof *offsets);
    for (size_t i = 0; i < f->n; i++)
        offsets[i] = n->items[f->first + i].place.offset;
    struct module_names *names = module_names_open(f->elf, f->path, f->search, n->strings);
    module_names_want(names, offsets, f->n);
    for (size_t i = 0; i < f->n && on; i++) {
        struct item *item = &n->items[f->first + i];
        struct location *room = more_locations(n);
        keep(n, item, n->find(names, item->place.offset, item->place.function, room));
        on = told(ctx, n, f->first + i);
    }
    (void)module_names_close(names);
    free(offsets);
    return on;
}

/* ---- the child ---- */

/* At once: what is in a buffer is lost with the child. */
static bool tell_place(void *out, struct naming *n, size_t item)
{
    const struct item *it = &n->items[item];
    naming_record_write(out, RECORD_PLACE, item, &n->locations[it->first], it->found, n->strings);
    return fflush(out) == 0;
}

/* It may hang in the kernel, and who reads what wallspy prints would wait for it. */
static void close_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && null >= 0; fd++)
        (void)dup2(null, fd);
}

static void be_child(void *naming, FILE *out)
{
    struct naming *n = naming;
    uint64_t pages = elf_guard_pages();
    log_set_sink(NULL);
    if (!trace_want(TRACE_SYM))
        close_streams();
    for (size_t i = n->at; i < n->n_files; i++) {
        struct naming_file *f = &n->files[i];
        naming_record_write(out, RECORD_FILE, i, NULL, 0, n->strings);
        if (fflush(out) != 0 || !name_file(n, f, tell_place, out))
            return;
        const char *why = debug_search_gave_up(f->search);
        if (why)
            naming_record_write_text(out, i, why);
    }
    naming_record_write(out, RECORD_END, elf_guard_pages() - pages, NULL, 0, n->strings);
}

/* ---- the parent ---- */

static string_id keep_text(struct naming *n, const char *text)
{
    return *text ? profile_string(n->strings, text) : (string_id){0};
}

static bool take_place(struct naming *n, struct naming_record *r)
{
    const char *function;
    const char *file;
    struct location *l = more_locations(n);
    size_t found = r->parts;
    if (r->index >= n->n_items || n->items[r->index].file != n->at || found > MAX_INLINED + 1)
        return false;
    for (size_t i = 0; i < found; i++) {
        if (!naming_record_part(r, &l[i], &function, &file))
            return false;
        l[i].function = keep_text(n, function);
        l[i].file = keep_text(n, file);
    }
    keep(n, &n->items[r->index], found);
    return true;
}

/* debuginfod is asked no more, also by the next child. */
static bool take_no_server(const struct naming *n, struct naming_record *r)
{
    struct location l;
    const char *why;
    const char *none;
    if (!naming_record_part(r, &l, &why, &none))
        return false;
    debug_search_give_up(n->files[n->at].search, why);
    return true;
}

/* False: it makes no sense. */
static bool take_record(struct naming *n, struct naming_record *r)
{
    switch (r->kind) {
    case RECORD_FILE:
        if (r->index < n->at || r->index >= n->n_files)
            return false;
        n->at = r->index;
        return true;
    case RECORD_PLACE:
        return take_place(n, r);
    case RECORD_NO_SERVER:
        return take_no_server(n, r);
    case RECORD_END:
        elf_guard_add_pages(r->index);
        n->done = true;
        return true;
    case RECORD_KINDS:
        break;
    }
    return false;
}

static bool tell_progress(const struct naming_progress *progress, const struct naming *n)
{
    return !progress->go_on ||
           progress->go_on(progress->ctx, (double)n->reached / (double)n->n_items);
}

/* Takes the records that have come whole, until PROGRESS says otherwise.  Returns 0, -ECANCELED or
 * -EPROTO. */
static int take_records(struct naming *n, const struct naming_progress *progress)
{
    size_t used = 0;
    ssize_t len = 0;
    struct naming_record r;
    bool on = true;
    for (; on && !n->done; used += (size_t)len) {
        len = naming_record_read(n->come.s + used, n->come.len - used, &r);
        if (len == 0)
            break;
        if (len < 0 || !take_record(n, &r))
            return -EPROTO;
        on = r.kind != RECORD_PLACE || tell_progress(progress, n);
    }
    if (used) {
        memmove(n->come.s, n->come.s + used, n->come.len - used);
        text_truncate(&n->come, n->come.len - used);
    }
    return on ? 0 : -ECANCELED;
}

/* Its place in the file is lost, and so are the names of that file that it had not said. */
static void end_child(struct naming *n, struct text *why)
{
    if (!n->runs)
        return;
    child_kill(&n->child);
    child_end(&n->child, why);
    n->runs = false;
    text_clear(&n->come);
}

static void leave_out(struct naming *n, const char *why)
{
    free(n->files[n->at].fault);
    n->files[n->at].fault = xstrdup(why);
    if (trace_want(TRACE_SYM))
        trace(TRACE_SYM, "%s: naming failed: %s", n->files[n->at].path, why);
    n->at++;
}

/* The child is gone, or is ended, before it was done. */
static void on_failure(struct naming *n, bool hangs, const char *reason)
{
    struct text why = {0};
    text_add(&why, reason ? reason : "");
    end_child(n, reason ? NULL : &why);
    leave_out(n, why.s);
    n->hangs += hangs;
    while (n->hangs >= MAX_HANGS && n->at < n->n_files)
        leave_out(n, "others took too long");
    text_release(&why);
}

/* While wallspy itself does not run nobody can say anything. */
static void measure_silence(struct naming *n, bool silent)
{
    int64_t now_ns = clock_now_ns();
    n->silence_ns = silent ? n->silence_ns + min_i64(now_ns - n->looked_ns, NS_PER_S) : 0;
    n->looked_ns = now_ns;
}

static void warn_if_slow(const struct naming *n)
{
    if (n->silence_ns > (int64_t)SLOW_S * NS_PER_S)
        log_warn("slow names",
                 "%s takes long to read: after %d s wallspy goes on without its names.",
                 n->files[n->at].path, PATIENCE_S);
}

/* Takes what comes within WAIT_MS.  Returns 0, or -ECANCELED by PROGRESS. */
static int look_for_answers(struct naming *n, int wait_ms, const struct naming_progress *progress)
{
    ssize_t came = child_read(&n->child, wait_ms, &n->come);
    measure_silence(n, came == -EAGAIN);
    int r = came > 0 ? take_records(n, progress) : tell_progress(progress, n) ? 0 : -ECANCELED;
    if (r == -ECANCELED || n->done)
        end_child(n, NULL);
    else if (r < 0)
        on_failure(n, false, "it said nonsense");
    else if (came <= 0 && came != -EAGAIN)
        on_failure(n, false, NULL);
    else if (n->silence_ns > n->patience_ns)
        on_failure(n, true, "it took too long");
    return r == -ECANCELED ? r : 0;
}

/* Of the files from AT on.  NEED: only if it is quiet. */
static int start(struct naming *n, bool need)
{
    bool quiet = !n->quiet.begin || n->quiet.begin(n->quiet.ctx);
    if (!quiet && need)
        return -EBUSY;
    int r = child_start(&n->child, "wallspy-names", be_child, n);
    if (quiet && n->quiet.end)
        n->quiet.end(n->quiet.ctx);
    n->runs = r == 0;
    n->looked_ns = clock_now_ns();
    n->silence_ns = 0;
    return r;
}

static bool tell_self(void *progress, struct naming *n, size_t item)
{
    (void)item;
    return tell_progress(progress, n);
}

void naming_run(struct naming *n, struct naming_progress progress)
{
    while (n->at < n->n_files && !n->done) {
        if (start(n, false) < 0 && !name_file(n, &n->files[n->at++], tell_self, &progress))
            return;
        while (n->runs) {
            if (look_for_answers(n, LOOK_MS, &progress) < 0)
                return;
            if (n->runs)
                warn_if_slow(n);
        }
    }
}

int naming_start(struct naming *n)
{
    return n->n_files ? start(n, true) : 0;
}

bool naming_is_done(struct naming *n)
{
    if (n->runs)
        (void)look_for_answers(n, 0, &(struct naming_progress){0});
    return !n->runs;
}

void naming_stop(struct naming *n)
{
    if (n->runs)
        child_kill(&n->child);
    while (n->runs && child_read(&n->child, 0, &n->come) > 0)
        ;
    if (n->runs && take_records(n, &(struct naming_progress){0}) < 0)
        leave_out(n, "it said nonsense");
    end_child(n, NULL);
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

const char *naming_fault(const struct naming *n, size_t i)
{
    return n->items[i].looked_up ? NULL : n->files[n->items[i].file].fault;
}

struct naming *naming_free(struct naming *n)
{
    if (!n)
        return NULL;
    for (size_t i = 0; i < n->n_files; i++) {
        free(n->files[i].path);
        free(n->files[i].fault);
    }
    profile_free(n->strings);
    text_release(&n->come);
    free(n->files);
    free(n->items);
    free(n->locations);
    free(n);
    return NULL;
}
