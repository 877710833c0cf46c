#include "target/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/cursor.h"
#include "target/mount.h"
#include "target/proc.h"

enum { MOUNTINFO_BYTES = 1 << 20, LINE_BYTES = 4096, NS_PER_USEC = 1000 };

/* One kind of cgroups and the path of a group in it. */
struct group {
    bool v1;
    char path[PATH_MAX];
};

/* ---- texts ---- */

/* Copies the line at S, cut to RET; returns what follows it, NULL at the end. */
static const char *take_line(const char *s, char ret[LINE_BYTES])
{
    size_t len = strcspn(s, "\n");
    size_t kept = len < LINE_BYTES - 1 ? len : LINE_BYTES - 1;
    memcpy(ret, s, kept);
    ret[kept] = '\0';
    return s[len] ? s + len + 1 : NULL;
}

/* Is WORD one of the LEN bytes of words with commas between them? */
static bool has_word(const char *words, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    for (size_t i = 0; i <= len;) {
        size_t end = i;
        while (end < len && words[end] != ',')
            end++;
        if (end - i == word_len && memcmp(words + i, word, word_len) == 0)
            return true;
        i = end + 1;
    }
    return false;
}

/* "3:cpu,cpuacct:/a/b", "0::/a/b": version 1 counts where it has the controller. */
static bool find_group(const char *cgroup, const char *controller, struct group *ret)
{
    char line[LINE_BYTES];
    bool found = false;
    for (const char *next = cgroup; next && *next;) {
        next = take_line(next, line);
        const char *controllers = strchr(line, ':');
        const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        size_t len = (size_t)(path - controllers - 1);
        bool v1 = has_word(controllers + 1, len, controller);
        if ((v1 || (str_starts(line, "0:") && len == 0)) && !(found && ret->v1)) {
            found = true;
            ret->v1 = v1;
            (void)snprintf(ret->path, sizeof ret->path, "%s", path + 1);
        }
    }
    return found;
}

static bool is_mount_of(const struct mount *m, const struct group *group, const char *controller)
{
    if (!group->v1)
        return str_eq(m->type, "cgroup2");
    return str_eq(m->type, "cgroup") && has_word(m->options, strlen(m->options), controller);
}

/* GROUP's path below the mount: what is mounted may itself be a group, and ours be out of its
 * sight: then NULL. */
static const char *path_below(const struct mount *m, const struct group *group)
{
    size_t len = str_eq(m->root, "/") ? 0 : strlen(m->root);
    const char *path = group->path;
    if (strncmp(path, m->root, len) != 0 || (path[len] && path[len] != '/') ||
        str_eq(path + len, "/..") || str_starts(path + len, "/../"))
        return NULL;
    return str_eq(path + len, "/") ? "" : path + len;
}

static int place_below(const struct mount *m, const struct group *group, struct cgroup_place *ret)
{
    const char *below = path_below(m, group);
    int n = snprintf(ret->directory, sizeof ret->directory, "%s%s", m->point, below ? below : "");
    if (n < 0 || (size_t)n >= sizeof ret->directory)
        return -ENAMETOOLONG;
    ret->top = strlen(m->point);
    ret->version = group->v1 ? 1 : 2;
    ret->exact = below;
    ret->part = !str_eq(m->root, "/");
    return 0;
}

int cgroup_find(const char *mountinfo, const char *cgroup, const char *controller,
                struct cgroup_place *ret)
{
    struct group group;
    struct mounts mounts = {0};
    int r = -ENOENT;
    if (!find_group(cgroup, controller, &group))
        return r;
    ret->exact = false;
    mounts_parse(&mounts, mountinfo);
    for (size_t i = 0; i < mounts.n && !(r == 0 && ret->exact); i++) {
        const struct mount *m = &mounts.items[i];
        if (is_mount_of(m, &group, controller) && (r < 0 || path_below(m, &group)))
            r = place_below(m, &group, ret);
    }
    mounts_release(&mounts);
    return r;
}

bool cgroup_go_up(struct cgroup_place *p)
{
    size_t len = strlen(p->directory);
    while (len > p->top && p->directory[len - 1] != '/')
        len--;
    if (len <= p->top)
        return false;
    p->directory[len - 1] = '\0';
    return true;
}

/* One line of a cpu.stat, of which C stands at the beginning; those of other keys change
 * nothing. */
static void parse_stat_line(struct cursor *c, struct throttled *t)
{
    const struct {
        const char *key;
        uint64_t *ret, unit;
    } keys[] = {
        {"nr_periods ", &t->elapsed, 1},
        {"nr_throttled ", &t->periods, 1},
        {"throttled_time ", &t->ns, 1}, /* version 1 */
        {"throttled_usec ", &t->ns, NS_PER_USEC},
    };
    uint64_t value;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (cursor_take(c, keys[i].key) && cursor_u64(c, 10, &value))
            *keys[i].ret = value * keys[i].unit;
}

struct throttled cgroup_parse_stat(const char *text, size_t len)
{
    struct throttled t = {0};
    struct cursor c = {text, text + len};
    while (c.s < c.end) {
        parse_stat_line(&c, &t);
        while (c.s < c.end && *c.s++ != '\n')
            ;
    }
    return t;
}

double cgroup_parse_max(const char *text, size_t len)
{
    struct cursor c = {text, text + len};
    uint64_t quota;
    uint64_t period;
    if (!cursor_u64(&c, 10, &quota) || !(cursor_take(&c, " ") || cursor_take(&c, "\n")) ||
        !cursor_u64(&c, 10, &period) || !period)
        return 0;
    return (double)quota / (double)period;
}

/* ---- files ---- */

size_t cgroup_read_file(const char *directory, const char *name, char buf[CGROUP_FILE_BYTES],
                        size_t len)
{
    char path[PATH_MAX + sizeof "/memory.limit_in_bytes"];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return len;
    ssize_t n = read(fd, buf + len, CGROUP_FILE_BYTES - len);
    close(fd);
    return len + (n > 0 ? (size_t)n : 0);
}

bool cgroup_read_throttled(const char *directory, struct throttled *ret)
{
    char text[CGROUP_FILE_BYTES];
    size_t len = cgroup_read_file(directory, "cpu.stat", text, 0);
    *ret = cgroup_parse_stat(text, len);
    return len;
}

int64_t cgroup_read_local_ns(const char *directory)
{
    char text[CGROUP_FILE_BYTES];
    size_t len = cgroup_read_file(directory, "cpu.stat.local", text, 0);
    struct throttled t = cgroup_parse_stat(text, len);
    return len ? (int64_t)(t.ns < INT64_MAX ? t.ns : INT64_MAX) : -1;
}

double cgroup_read_cpus(const char *directory)
{
    char text[CGROUP_FILE_BYTES];
    size_t len = cgroup_read_file(directory, "cpu.max", text, 0);
    if (!len)
        len = cgroup_read_file(directory, "cpu.cfs_period_us", text,
                               cgroup_read_file(directory, "cpu.cfs_quota_us", text, 0));
    return cgroup_parse_max(text, len);
}

static void add_throttled(void *ret, const char *directory)
{
    struct throttled *t = ret;
    struct throttled more;
    (void)cgroup_read_throttled(directory, &more);
    t->periods += more.periods;
    t->ns += more.ns;
    t->elapsed += more.elapsed;
}

static void find_tightest(void *ret, const char *directory)
{
    double *cpus = ret;
    double here = cgroup_read_cpus(directory);
    if (here > 0 && (*cpus <= 0 || here < *cpus))
        *cpus = here;
}

/* Calls EACH with the directory of our group and of those above it. */
static void for_each_group(void (*each)(void *ctx, const char *directory), void *ctx)
{
    struct cgroup_place place;
    char cgroup[PROC_TEXT_BYTES];
    char *mountinfo = xmalloc(MOUNTINFO_BYTES);
    if (proc_read_text(getpid(), 0, "mountinfo", mountinfo, MOUNTINFO_BYTES) > 0 &&
        proc_read_text(getpid(), 0, "cgroup", cgroup, sizeof cgroup) > 0 &&
        cgroup_find(mountinfo, cgroup, "cpu", &place) == 0) {
        do
            each(ctx, place.directory);
        while (cgroup_go_up(&place));
    }
    free(mountinfo);
}

struct throttled cgroup_throttled(void)
{
    struct throttled t = {0};
    for_each_group(add_throttled, &t);
    return t;
}

double cgroup_cpus(void)
{
    double cpus = 0;
    for_each_group(find_tightest, &cpus);
    return cpus;
}
