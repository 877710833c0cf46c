#include "target/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/cursor.h"
#include "target/proc.h"

enum { MOUNTINFO_BYTES = 1 << 20, LINE_BYTES = 4096, STAT_BYTES = 4096, NS_PER_USEC = 1000 };

/* One kind of cgroups and the path of a group in it. */
struct group {
    bool v1;
    char path[PATH_MAX];
};

struct mount {
    char root[PATH_MAX], point[PATH_MAX], type[64], options[256];
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
static bool find_group(const char *cgroup, struct group *ret)
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
        bool v1 = has_word(controllers + 1, len, "cpu");
        if ((v1 || (str_starts(line, "0:") && len == 0)) && !(found && ret->v1)) {
            found = true;
            ret->v1 = v1;
            (void)snprintf(ret->path, sizeof ret->path, "%s", path + 1);
        }
    }
    return found;
}

static bool is_octal(const char *s)
{
    return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

/* The kernel writes space, tab, line end and backslash as octal numbers: "\040".
 * Source: Linux fs/proc_namespace.c show_mountinfo(), fs/seq_file.c mangle_path(). */
static void undo_escapes(char *s)
{
    char *to = s;
    for (; *s; to++) {
        unsigned char byte = (unsigned char)*s++;
        if (byte == '\\' && is_octal(s)) {
            byte = (unsigned char)((s[0] - '0') << 6 | (s[1] - '0') << 3 | (s[2] - '0'));
            s += 3;
        }
        *to = (char)byte;
    }
    *to = '\0';
}

/* "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw": proc_pid_mountinfo(5). */
static bool parse_mount(const char *line, struct mount *ret)
{
    const char *rest = strstr(line, " - ");
    if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", ret->root, ret->point) != 2 ||
        sscanf(rest, " - %63s %*s %255s", ret->type, ret->options) != 2)
        return false;
    undo_escapes(ret->root);
    undo_escapes(ret->point);
    return true;
}

static bool is_mount_of(const struct mount *m, const struct group *group)
{
    if (!group->v1)
        return str_eq(m->type, "cgroup2");
    return str_eq(m->type, "cgroup") && has_word(m->options, strlen(m->options), "cpu");
}

/* GROUP's path below the mount: what is mounted may itself be a group, and ours be out of its sight. */
static const char *path_below(const struct mount *m, const struct group *group)
{
    size_t len = str_eq(m->root, "/") ? 0 : strlen(m->root);
    const char *path = group->path;
    if (strncmp(path, m->root, len) != 0 || (path[len] && path[len] != '/') ||
        str_starts(path, "/.."))
        return "";
    return str_eq(path + len, "/") ? "" : path + len;
}

int cgroup_directory(const char *mountinfo, const char *cgroup, char *ret, size_t ret_size,
                     size_t *ret_top)
{
    struct group group;
    struct mount mount;
    char line[LINE_BYTES];
    if (!find_group(cgroup, &group))
        return -ENOENT;
    for (const char *next = mountinfo; next && *next;) {
        next = take_line(next, line);
        if (!parse_mount(line, &mount) || !is_mount_of(&mount, &group))
            continue;
        int n = snprintf(ret, ret_size, "%s%s", mount.point, path_below(&mount, &group));
        if (n < 0 || (size_t)n >= ret_size)
            return -ENAMETOOLONG;
        *ret_top = strlen(mount.point);
        return 0;
    }
    return -ENOENT;
}

struct throttled cgroup_parse_stat(const char *text, size_t len)
{
    struct throttled t = {0};
    uint64_t usec = 0;
    uint64_t value;
    struct cursor c = {text, text + len};
    while (c.s < c.end) {
        uint64_t *ret = cursor_take(&c, "nr_throttled ")     ? &t.periods
                        : cursor_take(&c, "throttled_time ") ? &t.ns /* version 1 */
                        : cursor_take(&c, "throttled_usec ") ? &usec
                                                             : NULL;
        if (ret && cursor_u64(&c, 10, &value))
            *ret = value;
        while (c.s < c.end && *c.s++ != '\n')
            ;
    }
    t.ns += usec * NS_PER_USEC;
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

/* Appends what there is of DIRECTORY/NAME to BUF, which holds LEN bytes; returns how many it holds then. */
static size_t read_file(const char *directory, const char *name, char buf[STAT_BYTES], size_t len)
{
    char path[PATH_MAX + sizeof "/cpu.cfs_period_us"];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return len;
    ssize_t n = read(fd, buf + len, STAT_BYTES - len);
    close(fd);
    return len + (n > 0 ? (size_t)n : 0);
}

static void add_throttled(void *ret, const char *directory)
{
    struct throttled *t = ret;
    char text[STAT_BYTES];
    struct throttled more = cgroup_parse_stat(text, read_file(directory, "cpu.stat", text, 0));
    t->periods += more.periods;
    t->ns += more.ns;
}

static void find_tightest(void *ret, const char *directory)
{
    double *cpus = ret;
    char text[STAT_BYTES];
    size_t len = read_file(directory, "cpu.max", text, 0);
    if (!len)
        len = read_file(directory, "cpu.cfs_period_us", text,
                        read_file(directory, "cpu.cfs_quota_us", text, 0));
    double here = cgroup_parse_max(text, len);
    if (here > 0 && (*cpus <= 0 || here < *cpus))
        *cpus = here;
}

/* Calls EACH with the directory of our group and of those above it. */
static void for_each_group(void (*each)(void *ctx, const char *directory), void *ctx)
{
    char directory[PATH_MAX];
    char cgroup[PROC_TEXT_BYTES];
    size_t top = 0;
    char *mountinfo = xmalloc(MOUNTINFO_BYTES);
    if (proc_read_text(getpid(), 0, "mountinfo", mountinfo, MOUNTINFO_BYTES) > 0 &&
        proc_read_text(getpid(), 0, "cgroup", cgroup, sizeof cgroup) > 0 &&
        cgroup_directory(mountinfo, cgroup, directory, sizeof directory, &top) == 0) {
        for (size_t len = strlen(directory); len >= top; len--) {
            if (directory[len] && directory[len] != '/')
                continue;
            directory[len] = '\0';
            each(ctx, directory);
        }
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
