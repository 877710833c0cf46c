#include "waits/descriptor.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "target/cursor.h"
#include "target/proc.h"

/* "pipe:[123]" */
static bool parse_inode(const char *link, const char *kind, uint64_t *ret)
{
    struct cursor c = {link, link + strlen(link)};
    return cursor_take(&c, kind) && cursor_take(&c, ":[") && cursor_u64(&c, 10, ret) &&
           cursor_take(&c, "]") && c.s == c.end;
}

enum descriptor_kind descriptor_parse_link(const char *link, uint64_t *ret_inode)
{
    static const struct {
        const char *link;
        enum descriptor_kind kind;
    } kinds[] = {
        {"/", DESCRIPTOR_FILE},
        {"anon_inode:[eventpoll]", DESCRIPTOR_EPOLL},
        {"anon_inode:[eventfd", DESCRIPTOR_EVENTFD}, /* "[eventfd]", "[eventfd:17]" */
        {"anon_inode:[timerfd]", DESCRIPTOR_TIMERFD},
        {"anon_inode:[signalfd]", DESCRIPTOR_SIGNALFD},
        {"anon_inode:inotify", DESCRIPTOR_INOTIFY},
        {"anon_inode:[pidfd]", DESCRIPTOR_PIDFD},
        {"pidfd:[", DESCRIPTOR_PIDFD}, /* from Linux 6.9 on */
    };
    *ret_inode = 0;
    if (parse_inode(link, "pipe", ret_inode))
        return DESCRIPTOR_PIPE;
    if (parse_inode(link, "socket", ret_inode))
        return DESCRIPTOR_SOCKET;
    *ret_inode = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_starts(link, kinds[i].link))
            return kinds[i].kind;
    return DESCRIPTOR_OTHER;
}

void descriptor_read_link(pid_t pid, uint64_t fd, char ret[DESCRIPTOR_LINK_BYTES])
{
    char path[64];
    ssize_t n = -1;
    if (fd <= INT_MAX) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", pid, (unsigned)fd);
        n = readlink(path, ret, DESCRIPTOR_LINK_BYTES);
    }
    ret[n < 0 || n == DESCRIPTOR_LINK_BYTES ? 0 : n] = '\0';
}

bool descriptor_find_file(pid_t pid, uint64_t fd, struct descriptor_file *ret)
{
    char path[64];
    struct statx st;
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", pid, (unsigned)fd);
    if (fd > INT_MAX || statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) != 0)
        return false;
    *ret = (struct descriptor_file){st.stx_dev_major, st.stx_dev_minor, st.stx_ino,
                                    S_ISFIFO(st.stx_mode)};
    return true;
}

bool descriptor_same_file(const struct descriptor_file *a, const struct descriptor_file *b)
{
    return a->device_major == b->device_major && a->device_minor == b->device_minor &&
           a->inode == b->inode;
}

ssize_t descriptor_read_info(pid_t pid, uint64_t fd, char *ret, size_t capacity)
{
    char name[32];
    (void)snprintf(name, sizeof name, "fdinfo/%u", (unsigned)fd);
    return proc_read_text(pid, 0, name, ret, capacity);
}

/* ---- the text ---- */

/* The rest of a line that begins with KEY, from AT on; NULL: no such line.  A line that is cut does
 * not count. */
static const char *find_line(const char *at, const char *key, const char **ret_end)
{
    for (const char *end; (end = strchr(at, '\n')); at = end + 1)
        if (str_starts(at, key)) {
            *ret_end = end;
            return at + strlen(key);
        }
    return NULL;
}

static bool take_spaced(struct cursor *c, const char *key, unsigned base, uint64_t *ret)
{
    while (c->s < c->end && (*c->s == ' ' || *c->s == '\t'))
        c->s++;
    if (!cursor_take(c, key))
        return false;
    while (c->s < c->end && (*c->s == ' ' || *c->s == '\t'))
        c->s++;
    return cursor_u64(c, base, ret);
}

int descriptor_access(const char *info)
{
    const char *end;
    const char *at = find_line(info, "flags:", &end);
    while (at && at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (!at || at == end || end[-1] < '0' || end[-1] > '7')
        return -1;
    return (end[-1] - '0') & 3; /* octal */
}

pid_t descriptor_pidfd(const char *info)
{
    const char *end;
    const char *at = find_line(info, "Pid:", &end);
    struct cursor c = {at, end};
    uint64_t pid;
    return at && take_spaced(&c, "", 10, &pid) && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* "tfd:        5 events:       19 data:                5  pos:0 ino:8a4b sdev:9" */
static bool parse_epoll_item(const char *at, const char *end, struct epoll_item *ret)
{
    struct cursor c = {at, end};
    uint64_t events;
    uint64_t unused;
    bool good = take_spaced(&c, "", 10, &ret->fd) && take_spaced(&c, "events:", 16, &events) &&
                take_spaced(&c, "data:", 16, &unused) && events <= UINT32_MAX;
    ret->inode = 0; /* Linux before 4.13 does not have it */
    if (good && take_spaced(&c, "pos:", 10, &unused))
        (void)take_spaced(&c, "ino:", 16, &ret->inode);
    ret->events = good ? (uint32_t)events : 0;
    return good;
}

size_t descriptor_epoll_items(const char *info, struct epoll_item *ret, size_t most)
{
    size_t n = 0;
    const char *end;
    struct epoll_item item;
    for (const char *at = info; (at = find_line(at, "tfd:", &end)); at = end + 1) {
        if (!parse_epoll_item(at, end, &item))
            continue;
        if (n < most)
            ret[n] = item;
        n++;
    }
    return n;
}

uint64_t descriptor_epoll_key(const char *info)
{
    const char *end;
    const char *first = find_line(info, "tfd:", &end);
    return first ? hash_bytes(first, strlen(first)) : 0;
}

enum { LOCK_KIND = 1, LOCK_ACCESS = 3, LOCK_TAKER, LOCK_FILE, LOCK_START, LOCK_END, LOCK_WORDS };

/* The words of [AT, END), which BUF holds then.  False: they are fewer, or too long. */
static bool split_lock(const char *at, const char *end, char *buf, size_t capacity,
                       const char *ret[LOCK_WORDS])
{
    char *rest = buf;
    size_t len = (size_t)(end - at);
    if (len >= capacity)
        return false;
    memcpy(buf, at, len);
    buf[len] = '\0';
    for (size_t i = 0; i < LOCK_WORDS; i++)
        if (!(ret[i] = strtok_r(rest, " \t", &rest)))
            return false;
    return true;
}

/* "fe:00:9978393" */
static bool parse_file(const char *word, uint64_t *ret_inode)
{
    struct cursor c = {word, word + strlen(word)};
    uint64_t unused;
    return cursor_u64(&c, 16, &unused) && cursor_take(&c, ":") && cursor_u64(&c, 16, &unused) &&
           cursor_take(&c, ":") && cursor_u64(&c, 10, ret_inode) && c.s == c.end;
}

/* "1: POSIX  ADVISORY  WRITE 359 00:13:11691 0 EOF" */
bool descriptor_parse_lock(const char *at, const char *end, struct file_lock *ret)
{
    static const char *const kinds[] = {
        [FILE_LOCK_POSIX] = "POSIX", [FILE_LOCK_OPEN_FILE] = "OFDLCK", [FILE_LOCK_FLOCK] = "FLOCK"};
    char line[256];
    const char *word[LOCK_WORDS];
    int64_t first;
    int64_t last = 0;
    int64_t taker;
    size_t kind = 0;
    if (!split_lock(at, end, line, sizeof line, word))
        return false;
    bool to_end = str_eq(word[LOCK_END], "EOF");
    while (kind < sizeof kinds / sizeof *kinds && !str_eq(word[LOCK_KIND], kinds[kind]))
        kind++;
    if (kind == sizeof kinds / sizeof *kinds || !parse_file(word[LOCK_FILE], &ret->inode) ||
        parse_whole_i64(word[LOCK_START], 0, INT64_MAX, &first) < 0 ||
        (!to_end && parse_whole_i64(word[LOCK_END], 0, INT64_MAX, &last) < 0))
        return false;
    bool known = parse_whole_i64(word[LOCK_TAKER], 1, INT_MAX, &taker) == 0;
    ret->taker = known ? (pid_t)taker : 0;
    ret->kind = (enum file_lock_kind)kind;
    ret->write = str_eq(word[LOCK_ACCESS], "WRITE");
    ret->start = (uint64_t)first;
    ret->end = to_end ? UINT64_MAX : (uint64_t)last;
    return true;
}

size_t descriptor_locks(const char *info, struct file_lock *ret, size_t most)
{
    size_t n = 0;
    const char *end;
    for (const char *at = info; n < most && (at = find_line(at, "lock:", &end)); at = end + 1)
        n += descriptor_parse_lock(at, end, &ret[n]);
    return n;
}
