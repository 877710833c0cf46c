#include "cli/known_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "summary/known.h"

enum { MOST_BYTES = 1 << 20 };

/* Appends the bytes of FD's file.  -EINVAL: it is too large, or no regular file, whose reading
 * might never end; -errno. */
static int read_text(int fd, struct text *ret)
{
    char part[4096];
    struct stat st;
    ssize_t n;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    while ((n = read(fd, part, sizeof part)) > 0) {
        text_add_bytes(ret, part, (size_t)n);
        if (ret->len > MOST_BYTES)
            return -EINVAL;
    }
    return n < 0 ? -errno : 0;
}

static int check_rows(const char *rows, const char *path, struct err *err)
{
    struct known_table t;
    struct err bad = {0};
    int rc = known_init(&t, rows, &bad);
    known_release(&t);
    return rc < 0 ? err_set(err, rc, "%s: %s", path, bad.text) : 0;
}

static int read_rows(const char *path, struct text *ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int rc = fd < 0 ? -errno : read_text(fd, ret);
    if (fd >= 0)
        (void)close(fd);
    if (rc == 0 && ret->s && strlen(ret->s) < ret->len)
        rc = -EINVAL;
    if (rc == -EINVAL)
        return err_set(err, rc, "%s: not a text file of at most 1 MB (--known)", path);
    if (rc < 0)
        return err_set(err, rc, "%s: %s (--known)", path, strerror(-rc));
    return check_rows(ret->s ? ret->s : "", path, err);
}

int known_file_add(struct options *o, const char *path, struct err *err)
{
    struct text rows = {0};
    int rc = read_rows(path, &rows, err);
    if (rc == 0 && rows.len) {
        text_addf(&o->known, "%s\n", rows.s);
        o->view.known = o->known.s;
    }
    text_release(&rows);
    return rc == 0 && o->known.s ? check_rows(o->known.s, path, err) : rc; /* with those before */
}

int known_file_add_usual(struct options *o, struct err *err)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    struct text path = {0};
    if (config && *config == '/')
        text_addf(&path, "%s/wallspy/known.def", config);
    else if (home && *home == '/')
        text_addf(&path, "%s/.config/wallspy/known.def", home);
    int rc = path.s && access(path.s, F_OK) == 0 ? known_file_add(o, path.s, err) : 0;
    text_release(&path);
    return rc;
}
