#include "target/mount.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "target/cursor.h"
#include "target/proc.h"

enum {
    MAX_MOUNTINFO_BYTES = 1 << 20,
    SHARE = 1000, /* one part of the time is for reading them again */
    READ_EVERY_S = 5,
};

/* ---- the text ---- */

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

/* The next word of *S, which may be empty; NULL: there is none. */
static char *take_word(char **s)
{
    char *word = strsep(s, " ");
    if (word)
        undo_escapes(word);
    return word;
}

static bool take_number(char **s, uint64_t *ret)
{
    char *word = take_word(s);
    const char *end = word ? parse_u64(word, word + strlen(word), 10, ret) : NULL;
    return end && !*end;
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS */
static bool parse_line(char *line, struct mount *ret)
{
    char *more = strstr(line, " - ");
    if (!more)
        return false;
    *more = '\0';
    more += strlen(" - ");
    if (!take_number(&line, &ret->id) || !take_number(&line, &ret->parent) || !take_word(&line))
        return false;
    ret->root = take_word(&line);
    ret->point = take_word(&line);
    ret->type = take_word(&more);
    ret->source = take_word(&more);
    ret->options = take_word(&more);
    return ret->root && ret->point && *ret->point == '/' && ret->options;
}

static void find_tops(struct mounts *m)
{
    struct map ids = {0};
    uint64_t ix;
    for (size_t i = 0; i < m->n; i++)
        map_put(&ids, m->items[i].id, i);
    for (size_t i = 0; i < m->n; i++)
        m->items[i].top = !map_get(&ids, m->items[i].parent, &ix) || ix == i;
    map_release(&ids);
}

void mounts_parse(struct mounts *m, const char *mountinfo)
{
    free(m->text);
    m->text = xstrdup(mountinfo);
    m->n = 0;
    char *rest = m->text;
    for (char *line; (line = strsep(&rest, "\n")) && rest;) { /* the last one has no end */
        m->items = array_reserve(m->items, &m->capacity, m->n + 1, sizeof *m->items);
        m->n += parse_line(line, &m->items[m->n]);
    }
    find_tops(m);
}

void mounts_release(struct mounts *m)
{
    free(m->items);
    free(m->text);
    *m = (struct mounts){0};
}

/* ---- look-up ---- */

static bool is_below(const char *path, const char *point)
{
    size_t len = strlen(point);
    if (len == 1)
        return *path == '/';
    return strncmp(path, point, len) == 0 && (path[len] == '/' || !path[len]);
}

/* Where a walk along PATH begins: at the root, or, in a chroot that is no mount, at a mount in
 * it. */
static const struct mount *find_top(const struct mounts *m, const char *path)
{
    const struct mount *top = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct mount *here = &m->items[i];
        if (here->top && is_below(path, here->point) &&
            (!top || strlen(here->point) >= strlen(top->point)))
            top = here;
    }
    return top;
}

/* The first mount on MOUNT along PATH.  A mount that another one at a higher place covers is the
 * child of no mount on the walk. */
static const struct mount *next_on(const struct mounts *m, const struct mount *mount,
                                   const char *path)
{
    const struct mount *next = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct mount *here = &m->items[i];
        if (here->parent == mount->id && here != mount && is_below(path, here->point) &&
            (!next || strlen(here->point) <= strlen(next->point)))
            next = here;
    }
    return next;
}

const struct mount *mounts_find(const struct mounts *m, const char *path)
{
    const struct mount *found = find_top(m, path);
    const struct mount *next = found;
    for (size_t steps = 0; next && steps < m->n; steps++) { /* a text could go in circles */
        found = next;
        next = next_on(m, found, path);
    }
    return found;
}

static bool read_mounts(struct mounts *m, pid_t pid)
{
    char *text = xmalloc(MAX_MOUNTINFO_BYTES);
    bool done = proc_read_text(pid, 0, "mountinfo", text, MAX_MOUNTINFO_BYTES) > 0;
    if (done)
        mounts_parse(m, text);
    free(text);
    return done;
}

const struct mount *mounts_of(struct mounts *m, pid_t pid, const char *path)
{
    if (duty_cycle_begin(&m->reading)) {
        (void)read_mounts(m, pid);
        duty_cycle_end(&m->reading, SHARE, READ_EVERY_S * (int64_t)NS_PER_S);
    }
    return mounts_find(m, path);
}

/* ---- what it is ---- */

bool mount_is_served(const struct mount *m)
{
    static const char *const types[] = {
        "9p",   "acfs",   "afs",    "beegfs",   "ceph",   "cifs",     "coda",   "fuse",
        "gpfs", "lustre", "ncpfs",  "nfs",      "nfs4",   "panfs",    "prl_fs", "pvfs2",
        "smb3", "smbfs",  "vboxsf", "virtiofs", "vmhgfs", "orangefs", "wekafs"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(m->type, types[i]))
            return true;
    return str_starts(m->type, "fuse."); /* "fuseblk" is a disk of this machine */
}

/* The N of "/proc/N/root", with which PATH may begin, and which is taken off it; 0: it does not. */
static pid_t take_process_root(const char **path)
{
    struct cursor c = {*path, *path + strlen(*path)};
    uint64_t pid = 0;
    if (!cursor_take(&c, "/proc/") || !cursor_u64(&c, 10, &pid) || pid > INT32_MAX ||
        !cursor_take(&c, "/root"))
        return 0;
    *path = c.s;
    return (pid_t)pid;
}

bool mount_describe(const char *path, struct text *out)
{
    struct mounts mounts = {0};
    pid_t pid = take_process_root(&path);
    const struct mount *found =
        read_mounts(&mounts, pid ? pid : getpid()) ? mounts_find(&mounts, path) : NULL;
    if (found) {
        text_add_tame(out, found->type, strlen(found->type));
        text_add(out, " on ");
        text_add_tame(out, found->source, strlen(found->source));
    }
    mounts_release(&mounts);
    return found;
}
