#include "target/freezer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "target/proc.h"

/* ---- where a thread sleeps ---- */

static bool begins_like(const char *name, const char *const *beginnings)
{
    for (; *beginnings; beginnings++)
        if (str_starts(name, *beginnings))
            return true;
    return false;
}

/* What a fault may sleep in.  For root freezer_is_in_fault() knows the others, too.
 * Source: Linux mm/, fs/, drivers/. */
static const char *const of_faults[] = {
    "folio_wait",
    "__folio_lock",
    "folio_lock",
    "wait_on_page",
    "__lock_page",
    "lock_page",
    "filemap_",
    "do_swap_page",
    "swap",
    "read_swap",
    "handle_userfault",
    "migration_entry",
    "io_schedule",
    "rwsem_down_read",
    "down_read",
    "fuse_",
    "request_wait_answer",
    "nfs",
    "rpc_",
    "netfs_",
    "cifs_",
    "wait_for_response",
    "p9_",
    "afs_",
    "ptlrpc_",
    "ldlm_",
    "gfs2_",
    "dlm_",
    "zio_wait",
    "ceph_",
    "ext4_",
    "xfs_",
    "btrfs_",
    "bch2_",
    "erofs_",
    "iomap_",
    "jbd2_",
    "shmem_",
    "hugetlb",
    "try_to_free",
    "shrink_",
    "reclaim_throttle",
    "throttle_direct",
    "congestion_wait",
    "mem_cgroup_",
    "blk_",
    "submit_bio",
    "squashfs_",
    "wait_on_buffer",
    "dma_fence",
    "ttm_",
    "uvm_",
    "do_user_addr_fault",
    "handle_mm_fault",
    "__handle_mm_fault",
    "exc_page_fault",
    NULL,
};

/* Who sleeps in get_signal() and is not stopped is in do_freezer_trap(), which is inlined there.
 * Source: Linux kernel/freezer.c, kernel/signal.c. */
enum outside_of_calls freezer_judge(const char *wchan)
{
    static const char *const frozen[] = {"do_freezer_trap", "get_signal", "__refrigerator",
                                         "refrigerator", NULL};
    if (begins_like(wchan, frozen))
        return OUTSIDE_FROZEN;
    return begins_like(wchan, of_faults) ? OUTSIDE_PAGE : OUTSIDE_UNKNOWN;
}

/* Source: Linux mm/memory.c; arch/x86/mm/fault.c (exc_page_fault). */
bool freezer_is_in_fault(const char *stack)
{
    return strstr(stack, " handle_mm_fault+") || strstr(stack, "_page_fault+");
}

/* ---- the group ---- */

/* Is CONTROLLER one of LIST, N bytes with commas between? */
static bool is_listed(const char *list, size_t n, const char *controller)
{
    size_t len = strlen(controller);
    if (!len)
        return n == 0;
    for (size_t at = 0; at < n;) {
        size_t one = 0;
        while (at + one < n && list[at + one] != ',')
            one++;
        if (one == len && memcmp(list + at, controller, len) == 0)
            return true;
        at += one + 1;
    }
    return false;
}

/* "0::/a.slice" or "6:freezer,cpu:/a" */
static bool is_line_of(const char *line, const char *controller, const char **ret_path)
{
    const char *list = strchr(line, ':');
    const char *path = list ? strchr(list + 1, ':') : NULL;
    if (!path || !is_listed(list + 1, (size_t)(path - list) - 1, controller))
        return false;
    *ret_path = path + 1;
    return true;
}

bool freezer_find_group(const char *cgroup, const char *controller, char *ret, size_t capacity)
{
    while (*cgroup) {
        char line[PATH_MAX + 64];
        const char *path = NULL;
        size_t n = strcspn(cgroup, "\n");
        if (n >= sizeof line)
            return false;
        memcpy(line, cgroup, n);
        line[n] = '\0';
        if (is_line_of(line, controller, &path))
            return snprintf(ret, capacity, "%s", path) < (int)capacity;
        cgroup += n + (cgroup[n] != '\0');
    }
    return false;
}

/* Does the file NAME of group PATH below MOUNT say WORDS? */
static bool group_says(const char *mount, const char *path, const char *name, const char *words)
{
    char file[PATH_MAX];
    char text[256];
    if (snprintf(file, sizeof file, "%s%s/%s", mount, path, name) >= (int)sizeof file)
        return false;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    return strstr(text, words) != NULL;
}

bool freezer_is_frozen(pid_t pid)
{
    char cgroup[PROC_TEXT_BYTES];
    char path[PATH_MAX];
    if (proc_read_text(pid, 0, "cgroup", cgroup, sizeof cgroup) <= 0)
        return false;
    if (freezer_find_group(cgroup, "", path, sizeof path) &&
        (group_says("/sys/fs/cgroup", path, "cgroup.events", "frozen 1") ||
         group_says("/sys/fs/cgroup/unified", path, "cgroup.events", "frozen 1")))
        return true;
    return freezer_find_group(cgroup, "freezer", path, sizeof path) &&
           group_says("/sys/fs/cgroup/freezer", path, "freezer.state", "FROZEN");
}
