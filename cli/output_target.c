#include "cli/output_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_use.h"
#include "base/text.h"

enum {
    NOT_OURS = -1,
    MAX_LINKS = 40,       /* as in the kernel: MAXSYMLINKS */
    MAX_BASE_BYTES = 200, /* of a temporary name: what is added still fits into NAME_MAX */
};

static int no_such_format(const char *format, struct err *err)
{
    struct text names = {0};
    exporter_add_names(&names);
    (void)err_set(err, -EINVAL, "--format %s: %s", format, names.s);
    text_release(&names);
    return -EINVAL;
}

static int no_such_suffix(const char *path, struct err *err)
{
    struct text suffixes = {0};
    exporter_add_suffixes(&suffixes);
    (void)err_set(err, -EINVAL, "%s: what format? End it in %s, or give -f", path, suffixes.s);
    text_release(&suffixes);
    return -EINVAL;
}

static int choose_exporter(struct output_target *t, const char *format, struct err *err)
{
    if (format)
        t->exporter = exporter_by_name(format);
    else
        t->exporter = t->descriptor >= 0 ? exporter_default() : exporter_by_path(t->path);
    if (t->exporter)
        return 0;
    return format ? no_such_format(format, err) : no_such_suffix(t->path, err);
}

static char *directory_of(const char *path)
{
    size_t len = (size_t)(path_base(path) - path);
    return len ? xasprintf("%.*s", (int)len, path) : xstrdup(".");
}

static int check_directory(const char *path, struct err *err)
{
    char *directory = directory_of(path);
    int r = 0;
    if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) != 0)
        r = err_set(err, -errno, "cannot write %s: %s: %s. %s another with -o.",
                    strchr(path, '%') ? "a recording" : path, directory, strerror(errno),
                    errno == ENOENT ? "Make that directory, or choose" : "Choose");
    free(directory);
    return r;
}

/* The descriptor of ours that PATH names, -1: none.  Others may write to its file, too, so that
 * file is never replaced. */
static int descriptor_named(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t fd = -1;
    if (str_eq(path, "-") || str_eq(path, "/dev/stdout"))
        return STDOUT_FILENO;
    if (str_eq(path, "/dev/stderr"))
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (str_starts(path, folders[i]))
            (void)parse_whole_i64(path + strlen(folders[i]), 0, INT_MAX, &fd);
    return (int)fd;
}

static int check_descriptor(const struct output_target *t, struct err *err)
{
    int flags = fcntl(t->descriptor, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY)
        return 0;
    return err_set(err, -EBADF, "cannot write %s: Bad file descriptor: it is not open for writing.",
                   t->path);
}

long output_sudo_id(const char *name)
{
    int64_t id = NOT_OURS;
    const char *value = geteuid() == 0 ? getenv(name) : NULL;
    if (value)
        (void)parse_whole_i64(value, 0, UINT32_MAX - 1, &id);
    return (long)id;
}

static bool is_own(uid_t uid)
{
    return uid == geteuid() || (long)uid == output_sudo_id("SUDO_UID");
}

bool output_is_own_file(const char *path, unsigned *ret_mode)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *ret_mode = st.st_mode & ACCESSPERMS;
    return is_own(st.st_uid);
}

/* In a folder that others may write to, another user's link would decide where root writes. */
static bool may_follow(const char *link)
{
    struct stat of_link;
    struct stat of_folder;
    char *folder = directory_of(link);
    bool known = lstat(link, &of_link) == 0 && stat(folder, &of_folder) == 0;
    free(folder);
    return geteuid() != 0 ||
           (known && (is_own(of_link.st_uid) || of_link.st_uid == of_folder.st_uid));
}

/* The goal of the link PATH, LEN bytes at TO: relative to the link's folder. */
static char *link_goal(const char *path, const char *to, size_t len)
{
    size_t folder = *to == '/' ? 0 : (size_t)(path_base(path) - path);
    return xasprintf("%.*s%.*s", (int)folder, path, (int)len, to);
}

/* The user means the file behind a symbolic link; it need not exist yet. */
static int follow_links(const char *path, char **ret, struct err *err)
{
    char to[PATH_MAX];
    char *at = xstrdup(path);
    ssize_t n;
    for (int i = 0; i < MAX_LINKS && (n = readlink(at, to, sizeof to)) > 0; i++) {
        if (!may_follow(at)) {
            (void)err_set(err, -EPERM,
                          "cannot write %s: %s is a link of another user. Choose another with -o.",
                          path, at);
            free(at);
            return -EPERM;
        }
        char *goal = link_goal(at, to, (size_t)n);
        free(at);
        at = goal;
    }
    *ret = at;
    return 0;
}

/* Of a long PATH the beginning: the cause behind it must not be cut. */
static int refuse(int error, const char *path, struct err *err)
{
    enum { MOST = 256 };
    return err_set(err, error, "cannot write %.*s%s: %s. Choose another with -o.", MOST, path,
                   strlen(path) > MOST ? "…" : "", strerror(-error));
}

/* wallspy chose the name, so an existing file of that name is not the user's to replace. */
static int check_new(const char *path, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) == 0)
        return refuse(-EEXIST, path, err);
    return errno == ENAMETOOLONG ? refuse(-errno, path, err) : 0;
}

/* PATH may exist already: a directory is a mistake, a device or a pipe is written in place, and the
 * file behind a symbolic link is replaced. */
static int check_existing(struct output_target *t, struct err *err)
{
    struct stat st;
    char *real = NULL;
    bool exists = stat(t->path, &st) == 0;
    int error = exists ? 0 : errno;
    if (error == ENAMETOOLONG || error == ELOOP)
        return refuse(-error, t->path, err);
    if (error && error != ENOENT) /* we may not follow it (fs.protected_symlinks) */
        return 0;
    if (exists && S_ISDIR(st.st_mode))
        return err_set(err, -EISDIR, "cannot write %s: it is a directory. Name a file in it.",
                       t->path);
    int r = follow_links(t->path, &real, err);
    if (r < 0)
        return r;
    t->in_place = exists && !S_ISREG(st.st_mode);
    if (t->in_place) {
        free(real);
    } else {
        free(t->path);
        t->path = real;
    }
    return 0;
}

/* The mode of what is to replace PATH is no wider than that of the file there; it stays private
 * until it gets that file's own. */
static mode_t mode_of_new(const char *path)
{
    unsigned older = ACCESSPERMS;
    return output_is_own_file(path, &older) ? 0600 : (0666 & older) | 0600;
}

void output_open_up(int fd, const char *path)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)!fchmod(fd, mode_of_new(path) & ~mask);
}

/* A file that has the temporary name already is left from a killed run. */
int output_create_temporary(const char *path, char **ret_name)
{
    const char *base = path_base(path);
    *ret_name =
        xasprintf("%.*s.%.*s.%d.tmp", (int)(base - path), path, MAX_BASE_BYTES, base, getpid());
    (void)unlink(*ret_name);
    int fd = open(*ret_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_of_new(path));
    return fd < 0 ? -errno : fd;
}

/* Some file systems say that a directory is writable and then refuse new files. */
static int try_temporary(const char *path, struct err *err)
{
    char *name;
    int fd = output_create_temporary(path, &name);
    if (fd >= 0) {
        close(fd);
        (void)unlink(name);
    }
    free(name);
    return fd >= 0 ? 0 : refuse(fd, path, err);
}

static int check_path(struct output_target *t, struct err *err)
{
    if (t->is_new)
        return check_new(t->path, err);
    t->descriptor = descriptor_named(t->path);
    t->in_place = t->descriptor >= 0;
    return t->in_place ? check_descriptor(t, err) : check_existing(t, err);
}

int output_plan(struct output_target *ret, const char *path, const char *format, bool is_new,
                struct err *err)
{
    if (!*path) /* a part of -o (%q{NAME}) may be empty */
        return err_set(err, -EINVAL, "the name of the file is empty. Choose another with -o.");
    struct output_target t = {
        .path = xstrdup(path), .gzip = str_ends(path, ".gz"), .descriptor = -1, .is_new = is_new};
    file_use_opening(path);
    int r = check_path(&t, err);
    output_note_before(&t);
    if (r == 0)
        r = choose_exporter(&t, format, err);
    if (r == 0 && !t.in_place)
        r = check_directory(t.path, err);
    if (r == 0 && !t.in_place)
        r = try_temporary(t.path, err);
    file_use_end();
    if (r < 0) {
        output_target_release(&t);
        return r;
    }
    *ret = t;
    return 0;
}

void output_note_before(struct output_target *t)
{
    if (stat(t->path, &t->before) != 0)
        t->before = (struct stat){.st_ino = 0};
}

bool output_has_changed(const struct output_target *t)
{
    struct stat now;
    const struct stat *before = &t->before;
    return stat(t->path, &now) == 0 &&
           (now.st_ino != before->st_ino || now.st_dev != before->st_dev ||
            now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

void output_target_release(struct output_target *t)
{
    free(t->path);
    *t = (struct output_target){0};
}
