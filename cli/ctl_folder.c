#include "cli/ctl_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

enum { MODE = 0700, ALL_MODES = 07777 };
static const char suffix[] = ".sock";

_Static_assert(CTL_PATH_BYTES <= sizeof(((struct sockaddr_un *)0)->sun_path), "an address");

static const char *absolute_path_in(const char *variable)
{
    const char *path = getenv(variable);
    return path && *path == '/' ? path : NULL;
}

void ctl_folders_init(struct ctl_folders *f)
{
    const char *only = absolute_path_in("WALLSPY_CTL_DIR");
    const char *runtime = absolute_path_in("XDG_RUNTIME_DIR");
    uid_t uid = geteuid();
    *f = (struct ctl_folders){.n = only ? 1 : CTL_FOLDERS};
    if (only)
        f->paths[0] = xstrdup(only);
    else if (uid == 0)
        f->paths[0] = xstrdup("/run/wallspy");
    else if (runtime)
        f->paths[0] = xasprintf("%s/wallspy", runtime);
    else
        f->paths[0] = xasprintf("/run/user/%u/wallspy", uid);
    if (!only)
        f->paths[1] = xasprintf("/tmp/wallspy-%u", uid);
}

void ctl_folders_release(struct ctl_folders *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->paths[i]);
    f->n = 0;
}

static int check(const char *path, const struct stat *st, struct err *err)
{
    if (st->st_uid != geteuid())
        return err_set(err, -EPERM, "%s belongs to uid %u", path, st->st_uid);
    if ((st->st_mode & ALL_MODES) != MODE)
        return err_set(err, -EPERM, "%s is not its owner's alone: it has to have mode 700", path);
    return 0;
}

int ctl_folder_open(const char *path, bool make, struct err *err)
{
    struct stat st;
    if (make && mkdir(path, MODE) < 0 && errno != EEXIST)
        return err_set(err, -errno, "%s cannot be made: %s", path, strerror(errno));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return err_set(err, -ENOTDIR, "%s is a link or a file", path);
    if (fd < 0)
        return err_set(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
    int error = fstat(fd, &st) < 0 ? -errno : check(path, &st, err);
    if (error == 0)
        return fd;
    close(fd);
    return error;
}

void ctl_socket_path(int folder, pid_t pid, char ret[CTL_PATH_BYTES])
{
    (void)snprintf(ret, CTL_PATH_BYTES, "/proc/self/fd/%d/%d%s", folder, pid, suffix);
}

void ctl_socket_remove(int folder, pid_t pid)
{
    char path[CTL_PATH_BYTES];
    ctl_socket_path(folder, pid, path);
    (void)unlink(path);
}

/* 0: NAME is no socket's. */
static pid_t pid_of(const char *name)
{
    uint64_t pid = 0;
    const char *end = parse_u64(name, name + strlen(name), 10, &pid);
    return end && str_eq(end, suffix) && pid <= INT_MAX ? (pid_t)pid : 0;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a;
    pid_t y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

size_t ctl_sockets(int folder, pid_t **ret)
{
    size_t n = 0;
    size_t capacity = 0;
    const struct dirent *entry;
    *ret = NULL;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    while (dir && (entry = readdir(dir))) {
        pid_t pid = pid_of(entry->d_name);
        if (!pid)
            continue;
        *ret = array_reserve(*ret, &capacity, n + 1, sizeof **ret);
        (*ret)[n++] = pid;
    }
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        close(fd);
    if (n)
        qsort(*ret, n, sizeof **ret, by_pid);
    return n;
}

int ctl_connect(int folder, pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    ctl_socket_path(folder, pid, address.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = -errno;
    close(fd);
    if (error == -ECONNREFUSED)
        ctl_socket_remove(folder, pid);
    return error;
}
