#include "target/mount.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/cursor.h"
#include "target/proc.h"

enum { MAX_MOUNTINFO_BYTES = 1 << 20 };

struct field {
    const char *s;
    size_t len;
};

/* The N-th word of [S, END), from 0. */
static struct field word(const char *s, const char *end, int n)
{
    for (; n > 0 && s; n--) {
        s = memchr(s, ' ', (size_t)(end - s));
        s = s ? s + 1 : NULL;
    }
    const char *space = s ? memchr(s, ' ', (size_t)(end - s)) : NULL;
    return (struct field){s ? s : "", s ? (size_t)((space ? space : end) - s) : 0};
}

static bool is_below(const char *path, const struct field *mount)
{
    if (mount->len == 1 && *mount->s == '/')
        return true;
    return strncmp(path, mount->s, mount->len) == 0 &&
           (path[mount->len] == '/' || !path[mount->len]);
}

/* ID PARENT MAJOR:MINOR ROOT MOUNT OPTIONS … - TYPE SOURCE OPTIONS */
bool mount_find(const char *mountinfo, const char *path, struct text *out)
{
    enum { MOUNT = 4 };
    struct field type = {0};
    struct field source = {0};
    size_t longest = 0;
    const char *newline;
    for (const char *s = mountinfo; (newline = strchr(s, '\n')); s = newline + 1) {
        const struct field mount = word(s, newline, MOUNT);
        const char *more = memmem(s, (size_t)(newline - s), " - ", 3);
        if (!more || mount.len < longest || !mount.len || !is_below(path, &mount))
            continue; /* of two at one place the later one is seen */
        longest = mount.len;
        type = word(more + 3, newline, 0);
        source = word(more + 3, newline, 1);
    }
    if (!longest)
        return false;
    text_add_tame(out, type.s, type.len);
    text_add(out, " on ");
    text_add_tame(out, source.s, source.len);
    return true;
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

bool mount_of(const char *path, struct text *out)
{
    pid_t pid = take_process_root(&path);
    char *text = xmalloc(MAX_MOUNTINFO_BYTES);
    ssize_t len = proc_read_text(pid ? pid : getpid(), 0, "mountinfo", text, MAX_MOUNTINFO_BYTES);
    bool found = len > 0 && mount_find(text, path, out);
    free(text);
    return found;
}
