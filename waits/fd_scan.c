#include "waits/fd_scan.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "waits/descriptor.h"

enum { MOST_USERS = 4096, MOST_DESCRIPTORS = 1 << 18, LINKS_A_CLOCK = 16 };

uint64_t fd_scan_key(const char *link)
{
    return hash_bytes(link, strlen(link));
}

void fd_scan_want(struct fd_scan *s, uint64_t link)
{
    map_put(&s->wanted, link, 1);
}

/* FD is one of PID's, whose folder of links is DIRECTORY. */
static void look_at_link(struct fd_scan *s, int directory, pid_t pid, const char *name)
{
    char link[DESCRIPTOR_LINK_BYTES];
    uint64_t unused;
    int64_t fd;
    if (parse_whole_i64(name, 0, INT_MAX, &fd) < 0)
        return;
    ssize_t n = readlinkat(directory, name, link, sizeof link);
    if (n <= 0 || n == sizeof link)
        return;
    uint64_t key = hash_bytes(link, (size_t)n);
    if (!map_get(&s->looked_for, key, &unused))
        return;
    s->users = array_reserve(s->users, &s->capacity, s->n + 1, sizeof *s->users);
    s->users[s->n++] = (struct fd_user){.link = key, .pid = pid, .fd = (uint64_t)fd};
}

struct fd_scan_bounds {
    int64_t end_cpu_ns;
    size_t left; /* descriptors */
};

/* False: a bound was reached. */
static bool look_at_process(struct fd_scan *s, pid_t pid, struct fd_scan_bounds *b)
{
    char path[32];
    bool all = true;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    if (!dir)
        return errno != EMFILE && errno != ENFILE; /* another user's, or it has just ended */
    const struct dirent *entry;
    while (all && (entry = readdir(dir))) {
        look_at_link(s, dirfd(dir), pid, entry->d_name);
        all = b->left-- > 1 && s->n < MOST_USERS &&
              (b->left % LINKS_A_CLOCK || clock_cpu_ns() < b->end_cpu_ns);
    }
    closedir(dir);
    return all;
}

void fd_scan_run(struct fd_scan *s, int64_t longest_cpu_ns)
{
    struct fd_scan_bounds b = {clock_cpu_ns() + longest_cpu_ns, MOST_DESCRIPTORS};
    struct map before = s->looked_for;
    s->looked_for = s->wanted;
    s->wanted = before;
    map_clear(&s->wanted);
    s->n = 0;
    s->whole = false;
    DIR *dir = opendir("/proc");
    if (!dir)
        return;
    const struct dirent *entry;
    int64_t pid;
    s->whole = true;
    while (s->whole && (entry = readdir(dir)))
        if (parse_whole_i64(entry->d_name, 1, INT_MAX, &pid) == 0)
            s->whole = look_at_process(s, (pid_t)pid, &b);
    closedir(dir);
    s->n_cut += !s->whole;
    s->end_ns = clock_now_ns();
}

void fd_scan_release(struct fd_scan *s)
{
    map_release(&s->wanted);
    map_release(&s->looked_for);
    free(s->users);
    *s = (struct fd_scan){0};
}
