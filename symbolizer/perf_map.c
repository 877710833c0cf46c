#include "symbolizer/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/duty_cycle.h"
#include "base/log.h"
#include "base/search.h"
#include "symbolizer/demangle.h"

enum {
    CHUNK_BYTES = 1 << 16, /* a longer line is none */
    MAX_NAME_BYTES = 4096,
    MAX_NAMED = 1 << 20,         /* 24 MB; node with all of TypeScript's compiler has 30,000 */
    BATCH = 1 << 16,             /* lines that are put among the named at a time */
    MAX_BYTES_AT_ONCE = 1 << 26, /* 0.2 s */
    MAX_BYTES_IN_ALL = 1 << 30,  /* the most to wait for when the recording ends */
    REFRESH_MS = 20,
    COST_SHARE = 32, /* at most one part in so many of the time goes into reading */
};

/* Code [START, END), and where in the file its name begins. */
struct named {
    uint64_t start, end, name;
};

struct name_list {
    struct named *items;
    size_t n, capacity;
};

struct perf_map {
    char *path;
    uid_t owner;
    int64_t since_s;
    int fd; /* −1: not open */
    dev_t device;
    ino_t inode;
    uint64_t read_bytes;    /* of the file, whole lines */
    struct name_list named; /* by address, disjoint */
    bool whole; /* was read to its end: later lines may take back what earlier ones say */
    bool full;  /* it names more than we keep, so nothing is sure */
    struct duty_cycle reading;
};

struct perf_map *perf_map_new(const char *path, uid_t owner, int64_t since_s)
{
    struct perf_map *m = xcalloc(1, sizeof *m);
    m->path = xstrdup(path);
    m->owner = owner;
    m->since_s = since_s;
    m->fd = -1;
    return m;
}

/* ---- what is named ---- */

static void add(struct name_list *list, const struct named *item)
{
    list->items = array_reserve(list->items, &list->capacity, list->n + 1, sizeof *list->items);
    list->items[list->n++] = *item;
}

static void add_part(struct name_list *list, const struct named *item, uint64_t end)
{
    struct named part = *item;
    part.end = end < item->end ? end : item->end;
    if (part.start < part.end)
        add(list, &part);
}

/* Both lists are by address and disjoint; so is the result, in which the newer hides the older.
 *   older   |----a----|  |--b--|                  |-a-|    |-a-| |--b--|
 *   newer       |-c-|                  →              |-c-|              */
static struct name_list overlay(const struct name_list *older, const struct name_list *newer)
{
    struct name_list out = {0};
    size_t at = 0;
    struct named old = older->n ? older->items[0] : (struct named){0};
    for (size_t i = 0; i < newer->n; i++) {
        const struct named *new = &newer->items[i];
        while (at < older->n && old.start < new->end) {
            add_part(&out, &old, new->start);
            if (old.end > new->end) {
                old.start = old.start > new->end ? old.start : new->end;
                break;
            }
            at++;
            old = at < older->n ? older->items[at] : old;
        }
        add(&out, new);
    }
    for (; at < older->n; at++, old = at < older->n ? older->items[at] : old)
        add_part(&out, &old, UINT64_MAX);
    return out;
}

/* Of N lines as they came, the later the newer. */
static struct name_list disjoint(const struct named *items, size_t n)
{
    struct name_list out = {0};
    if (n <= 1) {
        for (size_t i = 0; i < n; i++)
            add(&out, &items[i]);
        return out;
    }
    struct name_list older = disjoint(items, n / 2);
    struct name_list newer = disjoint(items + n / 2, n - n / 2);
    out = overlay(&older, &newer);
    free(older.items);
    free(newer.items);
    return out;
}

static void take(struct perf_map *m, struct name_list *fresh)
{
    struct name_list newer = disjoint(fresh->items, fresh->n);
    struct name_list all = overlay(&m->named, &newer);
    free(newer.items);
    free(m->named.items);
    m->named = all;
    m->full |= all.n > MAX_NAMED;
    fresh->n = 0;
}

/* ---- the file ---- */

static const char *parse_hex(const char *s, const char *end, uint64_t *ret)
{
    if (end - s > 2 && s[0] == '0' && s[1] == 'x')
        s += 2;
    s = parse_u64(s, end, 16, ret);
    return s && s < end && *s == ' ' ? s + 1 : NULL;
}

/* The line [S, END), which lies at OFFSET of the file.  Other text than a line of a map is left
 * out. */
static void parse_line(const char *s, const char *end, uint64_t offset, struct name_list *ret)
{
    struct named item;
    uint64_t len;
    const char *size = parse_hex(s, end, &item.start);
    const char *name = size ? parse_hex(size, end, &len) : NULL;
    if (!name || name == end || !len || __builtin_add_overflow(item.start, len, &item.end))
        return;
    item.name = offset + (uint64_t)(name - s);
    add(ret, &item);
}

/* Parses the whole lines in the LEN bytes at BYTES.  Returns how many bytes they are. */
static size_t parse(const struct perf_map *m, const char *bytes, size_t len, struct name_list *ret)
{
    size_t at = 0;
    const char *end;
    while (at < len && (end = memchr(bytes + at, '\n', len - at))) {
        parse_line(bytes + at, end, m->read_bytes + at, ret);
        at = (size_t)(end - bytes) + 1;
    }
    return at ? at : len == CHUNK_BYTES ? len : 0;
}

/* Reads on, at most MAX_BYTES_AT_ONCE.  Returns whether names may have changed. */
static bool read_on(struct perf_map *m)
{
    struct name_list fresh = {0};
    char *bytes = xmalloc(CHUNK_BYTES);
    bool changed = false;
    for (size_t all = 0; all < MAX_BYTES_AT_ONCE && !m->full;) {
        ssize_t len = pread(m->fd, bytes, CHUNK_BYTES, (off_t)m->read_bytes);
        size_t n = len > 0 ? parse(m, bytes, (size_t)len, &fresh) : 0;
        m->read_bytes += n;
        all += n;
        if (fresh.n && (!n || fresh.n >= BATCH)) {
            changed = true;
            take(m, &fresh);
        }
        if (!n) {
            changed |= !m->whole;
            m->whole = true;
            break;
        }
    }
    if (fresh.n)
        take(m, &fresh);
    free(bytes);
    free(fresh.items);
    return changed;
}

static bool is_acceptable(const struct perf_map *m, const struct stat *st)
{
    bool ours = st->st_uid == 0 || st->st_uid == geteuid() || st->st_uid == m->owner;
    return S_ISREG(st->st_mode) && ours && st->st_mtim.tv_sec >= m->since_s;
}

static void close_file(struct perf_map *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    m->read_bytes = 0;
    m->named.n = 0;
    m->whole = m->full = false;
}

/* Opening a FIFO or a device has effects, so its kind is checked before, and once more when it
 * is open: another file may have taken its place. */
static bool open_file(struct perf_map *m)
{
    struct stat st;
    if (lstat(m->path, &st) < 0 || !is_acceptable(m, &st))
        return false;
    m->fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (m->fd >= 0)
        m->fd = descriptor_keep(m->fd, DESCRIPTOR_PROCESS);
    if (m->fd == -EMFILE)
        log_warn("perf map", "%s is not read: too few files may be open (ulimit -n)", m->path);
    if (m->fd < 0 || fstat(m->fd, &st) < 0 || !is_acceptable(m, &st)) {
        close_file(m);
        return false;
    }
    m->device = st.st_dev;
    m->inode = st.st_ino;
    return true;
}

/* Is the file that is open still the one at its path, and no shorter than what was read of it? */
static bool is_current(const struct perf_map *m)
{
    struct stat st;
    return lstat(m->path, &st) < 0 || (st.st_dev == m->device && st.st_ino == m->inode &&
                                       (uint64_t)st.st_size >= m->read_bytes);
}

bool perf_map_refresh(struct perf_map *m)
{
    bool changed = false;
    if (!duty_cycle_begin(&m->reading))
        return false;
    if (m->fd >= 0 && !is_current(m)) {
        close_file(m);
        changed = true;
    }
    if (m->fd >= 0 || open_file(m))
        changed |= read_on(m);
    duty_cycle_end(&m->reading, COST_SHARE, (int64_t)REFRESH_MS * NS_PER_MS);
    return changed;
}

bool perf_map_finish(struct perf_map *m)
{
    m->reading.due_ns = 0;
    bool changed = perf_map_refresh(m);
    while (m->fd >= 0 && !m->whole && !m->full && m->read_bytes < MAX_BYTES_IN_ALL)
        changed |= read_on(m);
    return changed;
}

bool perf_map_find(struct perf_map *m, uint64_t addr, struct text *ret)
{
    size_t n = COUNT_UP_TO(m->named.items, m->named.n, start, addr);
    char name[MAX_NAME_BYTES + 1];
    if (!n || addr >= m->named.items[n - 1].end || !m->whole || m->full)
        return false;
    ssize_t len = pread(m->fd, name, MAX_NAME_BYTES, (off_t)m->named.items[n - 1].name);
    name[len > 0 ? len : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    text_clear(ret);
    if (str_starts(name, "_Z") || str_starts(name, "_R"))
        demangle(name, ret);
    else
        text_add(ret, name);
    shown_name_cut(ret);
    return ret->len > 0;
}

struct perf_map *perf_map_free(struct perf_map *m)
{
    if (!m)
        return NULL;
    close_file(m);
    free(m->named.items);
    free(m->path);
    free(m);
    return NULL;
}
