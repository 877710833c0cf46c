#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define ZLIB_CONST
#include <zlib.h>

#include "base/alloc.h"
#include "base/file_use.h"
#include "base/log.h"
#include "base/text.h"

enum {
    LOOK_MS = 50,           /* whether it is still wanted */
    LOOKS_BEFORE_WORD = 20, /* for a FIFO's reader */
    MAX_BASE_BYTES = 200,   /* of a name that is kept beside: what is added fits into NAME_MAX */
    GZIP = 16,              /* added to deflateInit2()'s windowBits: gzip's header and trailer */
    DEFAULT_MEM_LEVEL = 8,
};

struct output {
    const struct output_target *target;
    output_cancelled cancelled;
    char *temporary; /* NULL: in place */
    int fd;
    bool may_wait;  /* writing to it may, for ever */
    z_stream *gzip; /* NULL: not compressed */
    FILE *file;
    int error; /* the first that a write met, as errno */
    int64_t bytes;
};

/* ---- writing ---- */

static bool is_cancelled(const struct output *out)
{
    return out->cancelled && out->cancelled();
}

/* Waits until FD takes PIPE_BUF bytes at once.  False: given up. */
static bool wait_for_room(const struct output *out)
{
    struct pollfd fd = {.fd = out->fd, .events = POLLOUT};
    int n;
    do
        n = poll(&fd, 1, LOOK_MS);
    while (!is_cancelled(out) && (n == 0 || (n < 0 && errno == EINTR)));
    return !is_cancelled(out);
}

/* A pipe may have no reader: so each write must be short enough not to wait. */
static bool write_bytes(struct output *out, const void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        size_t part = len - done;
        if (out->may_wait && part > PIPE_BUF)
            part = PIPE_BUF;
        if (out->may_wait && !wait_for_room(out)) {
            errno = ECANCELED;
            return false;
        }
        ssize_t n = write(out->fd, (const char *)buf + done, part);
        /* Another writer may have filled the pipe in between. */
        if (n < 0 && (errno == EINTR || (errno == EAGAIN && out->may_wait)))
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* FLUSH: Z_NO_FLUSH, or Z_FINISH at the end. */
static bool write_compressed(struct output *out, const char *buf, size_t len, int flush)
{
    z_stream *z = out->gzip;
    unsigned char part[1 << 14];
    z->next_in = (const unsigned char *)buf;
    z->avail_in = (unsigned)len;
    do {
        z->next_out = part;
        z->avail_out = sizeof part;
        (void)deflate(z, flush); /* Z_BUF_ERROR: there was nothing to do */
        if (!write_bytes(out, part, sizeof part - z->avail_out))
            return false;
    } while (z->avail_out == 0);
    return true;
}

static bool write_all(struct output *out, const char *buf, size_t len)
{
    return out->gzip ? write_compressed(out, buf, len, Z_NO_FLUSH) : write_bytes(out, buf, len);
}

static void note_error(struct output *out)
{
    if (!out->error)
        out->error = errno ? errno : EIO;
}

/* fopencookie's: 0 is an error. */
static ssize_t on_write(void *cookie, const char *buf, size_t len)
{
    struct output *out = cookie;
    errno = ECANCELED;
    if (is_cancelled(out) || !write_all(out, buf, len)) {
        note_error(out);
        return 0;
    }
    out->bytes += (int64_t)len;
    return (ssize_t)len;
}

static int open_temporary(struct output *out)
{
    int fd = output_create_temporary(out->target->path, &out->temporary);
    if (fd < 0)
        return fd;
    out->fd = fd;
    return 0;
}

/* Opens a device, or a FIFO, for which it waits until the FIFO has a reader. */
static int open_special(struct output *out)
{
    struct stat st;
    const char *path = out->target->path;
    bool fifo = stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
    out->fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    for (int looks = 0; out->fd < 0 && errno == ENXIO && fifo; looks++) {
        if (is_cancelled(out))
            return -ECANCELED;
        if (looks == LOOKS_BEFORE_WORD)
            log_warn("FIFO", "waiting for a reader of %s (Ctrl-C twice: discard)", path);
        (void)poll(NULL, 0, LOOK_MS);
        out->fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    if (out->fd < 0)
        return -errno;
    int flags = fcntl(out->fd, F_GETFL);
    return fcntl(out->fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

static int open_in_place(struct output *out)
{
    struct stat st = {0};
    int r = 0;
    if (out->target->descriptor >= 0)
        out->fd = fcntl(out->target->descriptor, F_DUPFD_CLOEXEC, 0);
    else
        r = open_special(out);
    if (r == 0 && (out->fd < 0 || fstat(out->fd, &st) < 0))
        r = -errno;
    /* It was none when the recording began: somebody has put a file, or a link to one, there. */
    if (r == 0 && out->target->descriptor < 0 && S_ISREG(st.st_mode)) {
        close(out->fd);
        out->fd = -1;
        r = -EEXIST;
    }
    out->may_wait = r == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode));
    return r;
}

static int open_gzip(struct output *out)
{
    out->gzip = xcalloc(1, sizeof *out->gzip);
    int r = deflateInit2(out->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                         DEFAULT_MEM_LEVEL, Z_DEFAULT_STRATEGY);
    return r == Z_OK ? 0 : -ENOMEM;
}

static void close_gzip(struct output *out)
{
    if (out->gzip)
        (void)deflateEnd(out->gzip);
    free(out->gzip);
    out->gzip = NULL;
}

int output_begin(struct output **ret, const struct output_target *t, output_cancelled cancelled,
                 struct err *err)
{
    struct output *out = xcalloc(1, sizeof *out);
    *out = (struct output){.target = t, .cancelled = cancelled, .fd = -1};
    file_use_note(t->path);
    int r = t->in_place ? open_in_place(out) : open_temporary(out);
    if (r < 0) {
        free(out->temporary);
        out->temporary = NULL;
    } else if (t->gzip) {
        r = open_gzip(out);
    }
    if (r == 0) {
        out->file = fopencookie(out, "w", (cookie_io_functions_t){.write = on_write});
        r = out->file ? 0 : -errno;
    }
    if (r < 0) {
        (void)err_set(err, r, "cannot write %s: %s", t->path, strerror(-r));
        (void)output_discard(out);
        return r;
    }
    *ret = out;
    return 0;
}

FILE *output_file(struct output *out)
{
    return out->file;
}

void output_fail(struct output *out, int error)
{
    if (!out->error)
        out->error = -error;
}

static int close_file(struct output *out)
{
    if (fclose(out->file) != 0)
        note_error(out);
    out->file = NULL;
    if (out->gzip && !out->error && !write_compressed(out, NULL, 0, Z_FINISH))
        note_error(out);
    close_gzip(out);
    return -out->error;
}

/* A file that is whole, but has no name that its user gave it. */
struct finished {
    const struct output_target *target;
    const char *name; /* the one that it has */
    int fd;
};

/* A file that its owner made private stays private.  The mode of another user's file is ignored. */
static void keep_mode(const struct finished *f)
{
    unsigned mode;
    if (output_is_own_file(f->target->path, &mode) && fchmod(f->fd, mode) != 0)
        log_warn("mode", "cannot restore the mode of %s: %s", f->target->path, strerror(errno));
}

/* Gives FROM the name TO; -EEXIST if a file has that name.  Some file systems have neither a rename
 * that fails then, nor links. */
static int rename_to_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (link(from, to) == 0) {
        (void)unlink(from);
        return 0;
    }
    if (errno == EEXIST)
        return -errno;
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* ours to replace */
    if (fd < 0)
        return -errno;
    close(fd);
    return rename(from, to) == 0 ? 0 : -errno;
}

void output_give_to_user(int fd, const char *path)
{
    uid_t uid = (uid_t)output_sudo_id("SUDO_UID");
    gid_t gid = (gid_t)output_sudo_id("SUDO_GID");
    if (fchown(fd, uid, gid) != 0) /* not every file system has owners */
        log_warn("owner", "cannot give %s to its user: %s", path, strerror(errno));
}

static int move_into_place(const struct finished *f)
{
    if (f->target->is_new || output_has_changed(f->target))
        return rename_to_new(f->name, f->target->path);
    return rename(f->name, f->target->path) == 0 ? 0 : -errno;
}

/* *RET_WHOLE: the whole file is on the disk, also where an error is returned. */
static int publish(const struct finished *f, bool *ret_whole)
{
    output_give_to_user(f->fd, f->target->path);
    if (!f->target->is_new)
        keep_mode(f);
    *ret_whole = fsync(f->fd) == 0;
    return *ret_whole ? move_into_place(f) : -errno;
}

/* The recording is whole, but the file at PATH must not be replaced: it is another user's file in
 * /tmp, it is mounted into a container, or another wallspy has written it since.  The recording
 * gets a visible name beside it, if that name is free. */
static bool keep_beside(const struct finished *f, int error, struct err *err)
{
    const char *path = f->target->path;
    const char *base = path_base(path);
    char *kept =
        xasprintf("%.*swallspy.%d.%.*s", (int)(base - path), path, getpid(), MAX_BASE_BYTES, base);
    bool done = rename_to_new(f->name, kept) == 0;
    bool changed = error == -EEXIST && !f->target->is_new;
    if (done)
        (void)err_set(err, error, "cannot replace %s: %s. The recording is in %s.", path,
                      changed ? "it has changed since the recording began" : strerror(-error),
                      kept);
    free(kept);
    return done;
}

int output_publish(const struct output_target *t, const char *name, int fd, bool *ret_kept,
                   struct err *err)
{
    const struct finished f = {t, name, fd};
    bool whole = false;
    int r = publish(&f, &whole);
    *ret_kept = r < 0 && whole && keep_beside(&f, r, err);
    if (r < 0 && !*ret_kept)
        (void)err_set(err, r, "cannot write %s: %s", t->path, strerror(-r));
    return r;
}

int output_commit(struct output *out, int64_t *ret_bytes, bool *ret_kept, struct err *err)
{
    int r = close_file(out);
    struct stat st;
    int64_t bytes = out->bytes;
    *ret_kept = false;
    if (r < 0) {
        (void)err_set(err, r, "cannot write %s: %s", out->target->path, strerror(-r));
    } else if (out->temporary) {
        bytes = fstat(out->fd, &st) == 0 ? st.st_size : bytes;
        r = output_publish(out->target, out->temporary, out->fd, ret_kept, err);
    }
    if (r < 0) {
        (void)output_discard(out);
        return r;
    }
    *ret_bytes = bytes;
    free(out->temporary);
    out->temporary = NULL;
    (void)output_discard(out);
    return 0;
}

struct output *output_discard(struct output *out)
{
    if (!out)
        return NULL;
    if (out->file)
        (void)close_file(out);
    close_gzip(out);
    if (out->temporary)
        (void)unlink(out->temporary);
    free(out->temporary);
    if (out->fd >= 0)
        close(out->fd);
    free(out);
    return NULL;
}
