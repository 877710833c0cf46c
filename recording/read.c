/* A profile from a recording that anybody may have made: each id is that of a row that came before,
 * each number within its range, and what is wrong is one error. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recording/read_time.h"
#include "recording/recording_file.h"

enum {
    MOST_S = 120, /* to read a file: one of 200 MB takes some seconds */
    MOST_DEPTH = 1 << 16,
    ALL_FRAME_FLAGS = FRAME_IS_GUESSED | FRAME_IS_INTERPRETER | FRAME_IS_JIT | FRAME_IS_EMBEDDING,
};
static const uint64_t most_utc_ns = UINT64_C(1) << 62; /* the year 2116 */

/* ---- rows that gather ---- */

/* Makes room for another row of BYTES, which is of the row's first key; its place is the second
 * key.  False: it does not follow the last one. */
static bool gather(struct reader *r, size_t bytes)
{
    uint32_t of = r->rows.numbers[0];
    uint32_t position = r->rows.numbers[1];
    if (position == 0 && of != r->gathered_for)
        r->n_gathered = 0;
    if (!of || position != r->n_gathered || (position && of != r->gathered_for))
        return rows_fail(&r->rows, "position %u does not follow the last one", position);
    r->gathered_for = of;
    r->gathered = array_reserve(r->gathered, &r->gathered_capacity, r->n_gathered + 1, bytes);
    r->n_gathered++;
    return true;
}

static void flush_locations(struct reader *r)
{
    profile_locate(r->p, (frame_id){r->ids[TABLE_FRAME].items[r->gathered_for - 1]}, r->locations,
                   r->n_gathered);
}

static void flush_children(struct reader *r)
{
    profile_set_children(r->p, (process_id){r->gathered_for}, r->children, r->n_gathered);
}

static void flush_list(struct reader *r)
{
    blocker_list list = {0};
    for (size_t i = r->n_gathered; i-- > 0;)
        list = profile_list_blocker(r->p, &r->blockers[i], list);
    map_put(&r->lists, r->gathered_for, list.ix);
}

/* ---- stacks ---- */

static bool take_mount(struct reader *r, union item *item)
{
    reader_remember(r, TABLE_MOUNT, profile_mount(r->p, &item->mount).ix);
    return true;
}

static bool take_module(struct reader *r, union item *item)
{
    reader_remember(r, TABLE_MODULE, profile_module(r->p, &item->module).ix);
    return true;
}

static bool take_function(struct reader *r, union item *item)
{
    reader_remember(r, TABLE_FUNCTION, profile_func(r->p, &item->func).ix);
    return true;
}

static bool take_frame(struct reader *r, union item *item)
{
    struct frame *f = &item->frame;
    if (f->kind != FRAME_NATIVE && f->kind != FRAME_PYTHON && f->kind != FRAME_MARK)
        return rows_fail(&r->rows, "it is of no kind");
    if (f->flags & ~(uint32_t)ALL_FRAME_FLAGS)
        return rows_fail(&r->rows, "flags %u", f->flags);
    if (f->kind == FRAME_NATIVE && !reader_translate(r, TABLE_MODULE, &f->native.module.ix))
        return false;
    if (f->kind == FRAME_PYTHON && !reader_translate_one(r, TABLE_FUNCTION, &f->python.func.ix))
        return false;
    reader_remember(r, TABLE_FRAME, profile_frame(r->p, f).ix);
    return true;
}

static bool take_location(struct reader *r, union item *item)
{
    uint32_t frame = r->rows.numbers[0];
    if (!reader_translate_one(r, TABLE_FRAME, &frame))
        return false;
    if (profile_get_frame(r->p, (frame_id){frame})->kind != FRAME_NATIVE)
        return rows_fail(&r->rows, "it is of a frame that is not native");
    if (!gather(r, sizeof *r->locations))
        return false;
    r->locations[r->n_gathered - 1] = item->location;
    return true;
}

static bool take_stack(struct reader *r, union item *unused)
{
    uint32_t parent = r->rows.numbers[1];
    uint32_t frame = r->rows.numbers[2];
    (void)unused;
    if (!reader_translate(r, TABLE_STACK, &parent) || !reader_translate_one(r, TABLE_FRAME, &frame))
        return false;
    if (profile_stack_depth(r->p, (stack_id){parent}) >= MOST_DEPTH)
        return rows_fail(&r->rows, "it is too deep");
    reader_remember(r, TABLE_STACK, profile_push(r->p, (stack_id){parent}, (frame_id){frame}).ix);
    return true;
}

/* ---- waits ---- */

static bool take_wait_for(struct reader *r, union item *item)
{
    if (!gather(r, sizeof *r->blockers))
        return false;
    r->blockers[r->n_gathered - 1] = item->blocker;
    return true;
}

/* Names of calls are wallspy's own, "futex" or "syscall 471", and are printed as they are. */
static bool is_call(const char *s)
{
    return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_ ")] == '\0';
}

/* Is each of what an epoll waits for a descriptor of a kind that there are words for? */
static bool are_descriptors(const struct profile *p, blocker_list list)
{
    const struct listed_blocker *of = profile_see_blocker(p, list);
    for (; of; of = profile_see_blocker(p, of->next)) {
        enum wait_thing thing = of->blocker.thing;
        if (thing != THING_PIPE && thing != THING_SOCKET && thing != THING_CHILD &&
            thing < THING_DESCRIPTOR)
            return false;
    }
    return true;
}

static bool take_wait(struct reader *r, union item *item)
{
    uint64_t list = 0;
    if (!reader_translate(r, TABLE_MOUNT, &item->wait.mount.ix))
        return false;
    if (item->wait.kind == WAIT_NONE)
        return rows_fail(&r->rows, "it is of no kind");
    if (!is_call(profile_text(r->p, item->wait.call)) ||
        (item->wait.kind == WAIT_CALL && !*profile_text(r->p, item->wait.call)))
        return rows_fail(&r->rows, "its call is none");
    (void)map_get(&r->lists, r->rows.numbers[0], &list);
    item->wait.side.list = (blocker_list){(uint32_t)list};
    if (item->wait.side.thing == THING_EVENTS && !are_descriptors(r->p, item->wait.side.list))
        return rows_fail(&r->rows, "it is for what is no descriptor");
    reader_remember(r, TABLE_WAIT, profile_wait(r->p, &item->wait).ix);
    return true;
}

static bool take_lock(struct reader *r, union item *item)
{
    profile_name_lock(r->p, item->lock.pid, item->lock.addr, profile_text(r->p, item->lock.name));
    return true;
}

static bool take_listener(struct reader *r, union item *item)
{
    profile_add_listener(r->p, &item->listener);
    return true;
}

static bool take_tasks(struct reader *r, union item *item)
{
    item->tasks.stack.ix = r->rows.numbers[1];
    if (!reader_translate(r, TABLE_STACK, &item->tasks.stack.ix) ||
        !reader_translate_one(r, TABLE_PROCESS, &item->tasks.process.ix))
        return false;
    profile_add_task_wait(r->p, &item->tasks);
    return true;
}

/* ---- marks and pauses ---- */

static bool is_utc(struct reader *r, uint64_t ns)
{
    return ns <= most_utc_ns || rows_fail(&r->rows, "utc_ns is no time");
}

static bool take_mark(struct reader *r, union item *item)
{
    const struct user_mark *m = &item->user_mark;
    const char *text = profile_text(r->p, m->text);
    if (!reader_is_time(r, "at_ns", m->at_ns) || !is_utc(r, m->utc_ns))
        return false;
    if (!mark_text_is_good(text, strlen(text)))
        return rows_fail(&r->rows, "its text is none of a mark");
    (void)profile_add_mark(r->p, m->at_ns, m->utc_ns, text);
    return true;
}

static bool take_pause(struct reader *r, union item *item)
{
    const struct user_pause *pause = &item->user_pause;
    if (!reader_is_time(r, "at_ns", pause->at_ns) || !is_utc(r, pause->utc_ns) ||
        !reader_is_time(r, "paused_ns", pause->paused_ns))
        return false;
    r->paused_ns += pause->paused_ns;
    if (!reader_is_time(r, "the sum of paused_ns", r->paused_ns))
        return false;
    profile_add_pause(r->p, pause);
    return true;
}

/* ---- processes, threads, runs ---- */

static bool take_host(struct reader *r, union item *item)
{
    *profile_get_host(r->p) = item->host;
    return true;
}

/* Its parent may come later. */
static bool take_process(struct reader *r, union item *item)
{
    reader_remember(r, TABLE_PROCESS, profile_process(r->p, &item->process).ix);
    return true;
}

static bool take_child(struct reader *r, union item *item)
{
    uint32_t of = r->rows.numbers[0];
    if (!reader_translate_one(r, TABLE_PROCESS, &of) || !gather(r, sizeof *r->children))
        return false;
    r->children[r->n_gathered - 1] = item->child;
    return true;
}

/* Does P's process ID descend from itself?  SEEN: 0 for those that nobody asked for. */
static bool is_in_circle(const struct profile *p, uint32_t id, uint32_t *seen)
{
    uint32_t at = id;
    while (at && !seen[at]) {
        seen[at] = id;
        at = profile_see_process(p, (process_id){at})->parent.ix;
    }
    return at && seen[at] == id;
}

static bool check_parents(struct reader *r)
{
    uint32_t n = profile_process_count(r->p);
    uint32_t *seen = xcalloc(n + (size_t)1, sizeof *seen);
    bool good = true;
    for (uint32_t i = 1; i <= n && good; i++)
        good = profile_see_process(r->p, (process_id){i})->parent.ix <= n;
    for (uint32_t i = 1; i <= n && good; i++)
        good = !is_in_circle(r->p, i, seen);
    free(seen);
    return good || rows_fail(&r->rows, "a parent is none");
}

/* ---- the whole ---- */

static const struct {
    bool (*take)(struct reader *r, union item *item);
    void (*flush)(struct reader *r); /* what was gathered; NULL: nothing is */
    bool (*check)(struct reader *r); /* at the end; NULL: nothing is left to check */
} takers[TABLE_KINDS] = {
    [TABLE_MOUNT] = {take_mount, NULL, NULL},
    [TABLE_MODULE] = {take_module, NULL, NULL},
    [TABLE_FUNCTION] = {take_function, NULL, NULL},
    [TABLE_FRAME] = {take_frame, NULL, NULL},
    [TABLE_LOCATION] = {take_location, flush_locations, NULL},
    [TABLE_STACK] = {take_stack, NULL, NULL},
    [TABLE_WAIT_FOR] = {take_wait_for, flush_list, NULL},
    [TABLE_WAIT] = {take_wait, NULL, NULL},
    [TABLE_LOCK] = {take_lock, NULL, NULL},
    [TABLE_LISTENER] = {take_listener, NULL, NULL},
    [TABLE_HOST] = {take_host, NULL, NULL},
    [TABLE_PROCESS] = {take_process, NULL, check_parents},
    [TABLE_CHILD] = {take_child, flush_children, NULL},
    [TABLE_TASKS] = {take_tasks, NULL, NULL},
    [TABLE_MARK] = {take_mark, NULL, NULL},
    [TABLE_PAUSE] = {take_pause, NULL, NULL},
    [TABLE_THREAD] = {read_thread, NULL, NULL},
    [TABLE_RECENT_COUNT] = {read_count, NULL, NULL},
    [TABLE_COUNT] = {read_count, NULL, NULL},
    [TABLE_RECENT] = {read_recent, NULL, NULL},
    [TABLE_RUN] = {read_run, NULL, NULL},
};

static bool take(struct reader *r, enum table_kind kind, union item *item)
{
    return r->recent && kind == TABLE_RUN ? read_run_beside(r, item) : takers[kind].take(r, item);
}

static bool read_table(struct reader *r, enum table_kind kind)
{
    union item item;
    void (*flush)(struct reader *) = takers[kind].flush;
    if (recording_tables[kind].since && !rows_is_table(&r->db, recording_tables[kind].name))
        return r->db.code == SQLITE_OK; /* an older wallspy's */
    rows_begin(&r->rows, &r->db, r->p, &recording_tables[kind]);
    r->n_gathered = r->gathered_capacity = 0;
    r->gathered_for = 0;
    free(r->gathered);
    r->gathered = NULL;
    while (memset(&item, 0, sizeof item), rows_next(&r->rows, &item)) {
        if (flush && r->n_gathered && r->rows.numbers[1] == 0) {
            flush(r);
            r->n_gathered = 0;
            r->gathered_for = 0;
        }
        if (!take(r, kind, &item))
            break;
    }
    bool good = !*r->rows.wrong && r->db.code == SQLITE_OK;
    if (good && flush && r->n_gathered)
        flush(r);
    good = good && (!takers[kind].check || takers[kind].check(r));
    rows_end(&r->rows);
    return good;
}

static bool is_of_recent(enum table_kind kind)
{
    return kind == TABLE_RECENT || kind == TABLE_RECENT_COUNT;
}

static void read_all(struct reader *r)
{
    database_run(&r->db, "BEGIN"); /* all of it as of one moment */
    database_bound_texts(&r->db);
    if (!facts_read(&r->facts, &r->rows, &r->db, r->p))
        return;
    const struct facts *f = &r->facts;
    r->none = r->recent && (r->to_ns <= f->recent_since_ns || r->from_ns >= f->exact.since_ns);
    if (r->none)
        return;
    for (enum table_kind kind = 0; kind < TABLE_KINDS; kind++)
        if ((r->recent || !is_of_recent(kind)) && !read_table(r, kind))
            return;
    if (r->recent) {
        read_time_sort(r);
        r->facts.exact.since_ns = r->facts.recent_since_ns;
    }
    profile_set_origin(r->p, &r->facts.origin);
    profile_set_exact_time(r->p, &r->facts.exact);
    profile_end(r->p, r->facts.end_ns);
    facts_set(&r->facts, r->p);
}

static void release(struct reader *r)
{
    for (size_t i = 0; i < TABLE_KINDS; i++)
        free(r->ids[i].items);
    map_release(&r->threads);
    map_release(&r->lists);
    map_release(&r->recent_ends);
    free(r->gathered);
    database_close(&r->db);
}

static int say_wrong(const struct reader *r, const char *name, struct err *err)
{
    if (r->db.code == SQLITE_INTERRUPT)
        return err_set(err, -ETIMEDOUT, "%s: damaged: it takes more than %d s to read", name,
                       MOST_S);
    if (r->db.code == SQLITE_NOTADB)
        return err_set(err, -EINVAL, "%s: not a recording", name);
    if (r->db.code == SQLITE_BUSY)
        return err_set(err, -EBUSY,
                       "%s: it is being written, and its file system lets nobody read meanwhile",
                       name);
    if (r->db.code == SQLITE_CANTOPEN)
        return err_set(err, -EIO, "%s: cannot be opened", name);
    if (r->db.code != SQLITE_OK)
        return err_set(err, -EINVAL, "%s: damaged: %s", name, r->db.why);
    if (r->facts.minor > SCHEMA_MINOR)
        return err_set(err, -EINVAL,
                       "%s: a newer wallspy made it (schema %d.%lld; this one reads %d.%d): update "
                       "this one",
                       name, SCHEMA_MAJOR, (long long)r->facts.minor, SCHEMA_MAJOR, SCHEMA_MINOR);
    return err_set(err, -EINVAL, "%s: %s", name, r->rows.wrong);
}

/* Takes over R's database. */
static struct profile *read_database(struct reader *r, const char *name, struct err *err)
{
    r->p = profile_new(0);
    read_all(r);
    bool good = !*r->rows.wrong && r->db.code == SQLITE_OK;
    if (!good)
        (void)say_wrong(r, name, err);
    release(r);
    return good && !r->none ? r->p : profile_free(r->p);
}

struct profile *recording_bytes_read(const void *bytes, size_t len, const char *name,
                                     struct err *err)
{
    struct reader r = {.p = NULL};
    database_open(&r.db, NULL, bytes, len, MOST_S);
    return read_database(&r, name, err);
}

enum { HEADER_BYTES = 32, PAGE_SIZE_AT = 16, PAGES_AT = 28 };

/* Source: sqlite.org/fileformat.html, "The Database Header". */
static bool read_header(const char *path, unsigned char ret[HEADER_BYTES], int64_t *ret_bytes)
{
    static const char magic[] = "SQLite format 3";
    struct stat st = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              pread(fd, ret, HEADER_BYTES, 0) == HEADER_BYTES &&
              memcmp(ret, magic, sizeof magic) == 0;
    *ret_bytes = st.st_size;
    if (fd >= 0)
        close(fd);
    return is;
}

bool recording_file_is(const char *path)
{
    unsigned char header[HEADER_BYTES];
    int64_t bytes;
    return read_header(path, header, &bytes);
}

/* How long the file of HEADER has to be. */
static int64_t bytes_of(const unsigned char *header)
{
    const unsigned char *at = header + PAGES_AT;
    int64_t pages = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
    int page_bytes = header[PAGE_SIZE_AT] << 8 | header[PAGE_SIZE_AT + 1];
    return pages * (page_bytes == 1 ? 1 << 16 : page_bytes);
}

const char recording_part_suffix[] = ".part";

/* Who writes it has it locked. */
bool recording_part_grows(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool grows = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return grows;
}

static struct profile *read_file(struct reader *r, const char *path, bool *ret_complete,
                                 struct err *err)
{
    bool part = str_ends(path, recording_part_suffix);
    unsigned char header[HEADER_BYTES];
    int64_t bytes;
    if (access(path, R_OK) != 0) {
        (void)err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    if (!read_header(path, header, &bytes)) {
        (void)err_set(err, -EINVAL, "%s: not a recording", path);
        return NULL;
    }
    if (!part && bytes < bytes_of(header)) {
        (void)err_set(err, -EINVAL, "%s: cut short: %lld of %lld bytes are there", path,
                      (long long)bytes, (long long)bytes_of(header));
        return NULL;
    }
    database_open(&r->db, path, NULL, 0, MOST_S);
    struct profile *p = read_database(r, path, err);
    if (ret_complete)
        *ret_complete = r->facts.complete;
    return p;
}

struct profile *recording_file_read(const char *path, bool *ret_complete, struct err *err)
{
    struct reader r = {.p = NULL};
    return read_file(&r, path, ret_complete, err);
}

struct profile *recording_file_read_part(const char *path, int64_t from_ns, int64_t to_ns,
                                         struct err *err)
{
    struct reader r = {.recent = true, .from_ns = from_ns, .to_ns = to_ns};
    return read_file(&r, path, NULL, err);
}
