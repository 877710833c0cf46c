/* Parses /proc/PID/maps; see maps.h.  Source: fs/proc/task_mmu.c show_map_vma(). */
#include "target/maps.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/search.h"
#include "target/cursor.h"
#include "target/proc.h"

enum {
    /* Sixteen times the default of vm.max_map_count; some distributions set it that high. */
    MAX_MAPPINGS = 1 << 20,
    /* As many bytes as so many mappings have without paths, or vm.max_map_count of them with
     * some 1000 bytes of path each. */
    MAX_MAPS_BYTES = 1 << 26,
    FIRST_READ_BYTES = 1 << 16,
};

static bool take_prot(struct cursor *c, struct mapping *ret)
{
    static const char *const letters[] = {"r", "w", "x"};
    static const uint32_t bits[] = {PROT_READ, PROT_WRITE, PROT_EXEC};
    ret->prot = 0;
    for (size_t i = 0; i < 3; i++) {
        if (cursor_take(c, letters[i]))
            ret->prot |= bits[i];
        else if (!cursor_take(c, "-"))
            return false;
    }
    ret->shared = cursor_take(c, "s");
    return (ret->shared || cursor_take(c, "p")) && cursor_take(c, " ");
}

static bool take_device(struct cursor *c, struct mapping *m)
{
    uint64_t device_major;
    uint64_t device_minor;
    if (!cursor_u64(c, 16, &device_major) || !cursor_take(c, ":") ||
        !cursor_u64(c, 16, &device_minor) || !cursor_take(c, " ") || device_major > UINT32_MAX ||
        device_minor > UINT32_MAX)
        return false;
    m->dev_major = (uint32_t)device_major;
    m->dev_minor = (uint32_t)device_minor;
    return true;
}

/* Copies the path to *STRINGS, NUL-terminated, and moves that on, unless LAST, the mapping below,
 * has the same path.  The kernel escapes the newline and nothing else: other backslashes, also
 * those that look like an escape, are the path's own. */
static void take_path(struct cursor *c, struct mapping *m, const struct mapping *last,
                      char **strings)
{
    static const char deleted[] = " (deleted)";
    size_t len = (size_t)(c->end - c->s);
    size_t suffix = sizeof deleted - 1;
    m->deleted = len > suffix && memcmp(c->end - suffix, deleted, suffix) == 0;
    const char *end = c->end - (m->deleted ? suffix : 0);
    if (c->s == end) {
        m->path = "";
        return;
    }
    char *out = *strings;
    m->path = out;
    while (c->s < end) {
        bool newline = end - c->s >= 4 && memcmp(c->s, "\\012", 4) == 0;
        *out = *c->s;
        if (newline)
            *out = '\n';
        out++;
        c->s += newline ? 4 : 1;
    }
    *out++ = '\0';
    if (last && strcmp(last->path, m->path) == 0)
        m->path = last->path;
    else
        *strings = out;
}

static bool parse_line(struct cursor c, struct mapping *m, const struct mapping *last,
                       char **strings)
{
    if (memchr(c.s, '\0', (size_t)(c.end - c.s)))
        return false;
    if (!cursor_u64(&c, 16, &m->start) || !cursor_take(&c, "-") || !cursor_u64(&c, 16, &m->end) ||
        !cursor_take(&c, " ") || m->start >= m->end || !take_prot(&c, m) ||
        !cursor_u64(&c, 16, &m->file_offset) || !cursor_take(&c, " ") || !take_device(&c, m))
        return false;
    /* Without a path the line ends here, or behind one space. */
    if (!cursor_u64(&c, 10, &m->inode) || (c.s < c.end && *c.s != ' '))
        return false;
    while (c.s < c.end && *c.s == ' ') /* a path may begin with a tab */
        c.s++;
    take_path(&c, m, last, strings);
    return true;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 0;
    for (const char *s = text, *end = text + len; (s = memchr(s, '\n', (size_t)(end - s))); s++)
        n++;
    return n;
}

/* Gives back what is left of FRESH's strings, which go up to END: hundreds of mappings have as many
 * paths as there are files, and each of many processes has its own. */
static void fit_strings(struct maps *fresh, const char *end)
{
    size_t len = (size_t)(end - fresh->strings);
    char *fitting = xmalloc(len);
    memcpy(fitting, fresh->strings, len);
    for (size_t i = 0; i < fresh->n; i++)
        if (*fresh->items[i].path)
            fresh->items[i].path = fitting + (fresh->items[i].path - fresh->strings);
    free(fresh->strings);
    fresh->strings = fitting;
}

/* FRESH has room for N items, and strings for all paths: each is shorter than its line. */
static int parse_lines(struct maps *fresh, size_t n, const char *text, const char *end)
{
    char *strings = fresh->strings;
    uint64_t last_end = 0;
    for (size_t i = 0; i < n; i++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        struct mapping *m = &fresh->items[i];
        /* The kernel promises ascending addresses, also if the maps change while they are read
         * (Documentation/filesystems/proc.rst). */
        const struct mapping *last = i ? m - 1 : NULL;
        if (!parse_line((struct cursor){text, newline}, m, last, &strings) || m->start < last_end)
            return -EPROTO;
        last_end = m->end;
        text = newline + 1;
    }
    fresh->n = n;
    fit_strings(fresh, strings);
    return 0;
}

int maps_parse(struct maps *maps, const char *text, size_t len)
{
    if (len && text[len - 1] != '\n')
        return -EPROTO;
    uint64_t hash = hash_bytes(text, len);
    if (maps->generation && hash == maps->text_hash)
        return 0;
    struct maps fresh = {.generation = maps->generation + 1, .text_hash = hash};
    size_t n = count_lines(text, len);
    fresh.cut = n > MAX_MAPPINGS;
    n = fresh.cut ? MAX_MAPPINGS : n;
    fresh.items = xcalloc(n, sizeof *fresh.items);
    fresh.strings = xmalloc(len);
    int r = parse_lines(&fresh, n, text, text + len);
    if (r < 0) {
        maps_release(&fresh);
        return r;
    }
    maps_release(maps);
    *maps = fresh;
    return 0;
}

/* The whole lines among the LEN bytes of TEXT. */
static size_t whole_lines(const char *text, size_t len)
{
    const char *newline = memrchr(text, '\n', len);
    return newline ? (size_t)(newline + 1 - text) : len;
}

/* Reads FD into *TEXT, which the caller frees.  Returns the length.  CUT: there was more than
 * MAX_MAPS_BYTES. */
static ssize_t read_all(int fd, char **text, bool *cut)
{
    size_t capacity = FIRST_READ_BYTES;
    size_t len = 0;
    ssize_t n;
    char *buf = xmalloc(capacity);
    while ((n = read(fd, buf + len, capacity - len)) > 0) {
        len += (size_t)n;
        if (len >= MAX_MAPS_BYTES)
            break;
        buf = array_reserve(buf, &capacity, len + FIRST_READ_BYTES / 2, 1);
    }
    *text = buf;
    *cut = len >= MAX_MAPS_BYTES;
    if (n < 0)
        return -errno;
    return (ssize_t)(*cut ? whole_lines(buf, MAX_MAPS_BYTES) : len);
}

int maps_read(struct maps *maps, int fd)
{
    char *text = NULL;
    bool cut;
    ssize_t len = read_all(fd, &text, &cut);
    int r = (int)len;
    if (len == 0) /* exited, not yet reaped */
        r = -ESRCH;
    if (len > 0)
        r = maps_parse(maps, text, (size_t)len);
    if (r == 0)
        maps->cut |= cut;
    free(text);
    return r;
}

int maps_open(pid_t pid)
{
    return proc_open(pid, "maps");
}

int maps_load(struct maps *maps, pid_t pid)
{
    int fd = maps_open(pid);
    if (fd < 0)
        return fd;
    int r = maps_read(maps, fd);
    close(fd);
    return r;
}

/* struct procmap_query, of which older headers know nothing. */
struct query {
    uint64_t size, flags, addr;
    uint64_t start, end, vma_flags, page_size, offset, inode;
    uint32_t dev_major, dev_minor, name_size, build_id_size;
    uint64_t name_addr, build_id_addr;
};
static_assert(sizeof(struct query) == 104, "struct procmap_query");

enum { EXECUTABLE = 4 }; /* PROCMAP_QUERY_VMA_EXECUTABLE */

static int ask(int fd, struct query *query)
{
    return ioctl(fd, _IOWR('f', 17, struct query), query) == 0 ? 0 : -errno;
}

bool maps_no_code_at(pid_t pid, uint64_t addr)
{
    struct query query = {.size = sizeof query, .flags = EXECUTABLE, .addr = addr};
    int fd = maps_open(pid);
    bool none = fd >= 0 && ask(fd, &query) == -ENOENT;
    if (fd >= 0)
        close(fd);
    return none;
}

int maps_ask(int fd, uint64_t addr, struct mapping *ret)
{
    struct query query = {.size = sizeof query, .addr = addr};
    int r = ask(fd, &query);
    *ret = (struct mapping){.start = query.start,
                            .end = query.end,
                            .file_offset = query.offset,
                            .dev_major = query.dev_major,
                            .dev_minor = query.dev_minor,
                            .inode = query.inode,
                            .path = ""};
    return r;
}

const struct mapping *maps_find(const struct maps *maps, uint64_t addr)
{
    size_t i = COUNT_UP_TO(maps->items, maps->n, end, addr);
    return i < maps->n && addr >= maps->items[i].start ? &maps->items[i] : NULL;
}

bool mappings_have_one_file(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

void maps_release(struct maps *maps)
{
    free(maps->items);
    free(maps->strings);
    *maps = (struct maps){0};
}
