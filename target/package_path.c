#include "target/package_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* Is the folder of LEN bytes a package, below the folder ROOT?  A negative errno: not known. */
static int is_package(int root, const char *folder, size_t len)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    char path[PATH_MAX];
    if (len >= PATH_MAX - sizeof "/__init__.py")
        return 0;
    (void)snprintf(path, sizeof path, "%.*s/__init__.py", (int)len, folder);
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd < 0)
        return errno == ENOSYS || errno == EPERM ? -errno : 0;
    (void)close(fd);
    return 1;
}

/* Where the name begins that ends before byte END of PATH. */
static size_t start_of_name(const char *path, size_t end)
{
    while (end && path[end - 1] != '/')
        end--;
    return end;
}

/* Where the part begins; a negative errno: not known. */
static ssize_t find_start(pid_t pid, const char *file)
{
    char root_path[64];
    (void)snprintf(root_path, sizeof root_path, "/proc/%d/root", pid);
    int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    int is = 1;
    size_t start = start_of_name(file, strlen(file));
    while (start > 1 && (is = is_package(root, file, start - 1)) > 0)
        start = start_of_name(file, start - 1);
    (void)close(root);
    return is < 0 ? is : (ssize_t)start;
}

const char *package_path(struct package_paths *p, pid_t pid, const char *file)
{
    uint64_t start;
    if (*file != '/')
        return NULL;
    if (!map_get(&p->starts, (uintptr_t)file, &start)) {
        const struct mount *m = mounts_of(&p->mounts, pid, file);
        ssize_t found = m && !mount_is_served(m) ? find_start(pid, file) : -ENOENT;
        start = found < 0 ? SIZE_MAX : (uint64_t)found;
        map_put(&p->starts, (uintptr_t)file, start);
    }
    return start == SIZE_MAX ? NULL : file + start;
}

void package_paths_release(struct package_paths *p)
{
    mounts_release(&p->mounts);
    map_release(&p->starts);
    *p = (struct package_paths){0};
}
