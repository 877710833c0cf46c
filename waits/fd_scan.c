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

enum { MOST_USERS = 4096, LINKS_A_CLOCK = 16 };

uint64_t fd_scan_key(const char *link)
{
    return hash_bytes(link, strlen(link));
}

void fd_scan_want(struct fd_scan *s, uint64_t link)
{
    map_put(&s->wanted, link, 1);
}

bool fd_scan_is_wanted(const struct fd_scan *s)
{
    return s->wanted.n || s->goes_on;
}

static bool looks_for(const struct fd_round *r, uint64_t link, int64_t since_ns)
{
    uint64_t unused;
    return r->begun_ns > since_ns && map_get(&r->looked_for, link, &unused);
}

bool fd_scan_has(struct fd_scan *s, uint64_t link, int64_t since_ns)
{
    if (looks_for(&s->last, link, since_ns))
        return true;
    if (!s->goes_on || !looks_for(&s->now, link, since_ns))
        fd_scan_want(s, link);
    return false;
}

static void look_at_link(struct fd_round *r, int directory, pid_t pid, const char *name,
                         uint64_t fd)
{
    char link[DESCRIPTOR_LINK_BYTES];
    uint64_t unused;
    ssize_t n = readlinkat(directory, name, link, sizeof link);
    if (n <= 0 || n == sizeof link)
        return;
    uint64_t key = hash_bytes(link, (size_t)n);
    if (!map_get(&r->looked_for, key, &unused))
        return;
    r->users = array_reserve(r->users, &r->capacity, r->n + 1, sizeof *r->users);
    r->users[r->n++] = (struct fd_user){.link = key, .pid = pid, .fd = fd};
}

/* How a look at a process ends. */
enum look { LOOK_DONE, LOOK_TIME_IS_OVER, LOOK_GIVEN_UP };

/* Goes on at R's place in process PID. */
static enum look look_at_process(struct fd_round *r, pid_t pid, int64_t end_cpu_ns)
{
    char path[32];
    enum look look = LOOK_DONE;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    if (!dir) /* another user's, or it has just ended */
        return errno == EMFILE || errno == ENFILE ? LOOK_GIVEN_UP : LOOK_DONE;
    const struct dirent *entry;
    int64_t fd;
    for (size_t links = 0; !look && (entry = readdir(dir));) {
        if (parse_whole_i64(entry->d_name, 0, INT_MAX, &fd) < 0 || (uint64_t)fd < r->next_fd)
            continue;
        look_at_link(r, dirfd(dir), pid, entry->d_name, (uint64_t)fd);
        r->next_fd = (uint64_t)fd + 1;
        if (r->n >= MOST_USERS)
            look = LOOK_GIVEN_UP;
        else if (++links % LINKS_A_CLOCK == 0 && clock_cpu_ns() >= end_cpu_ns)
            look = LOOK_TIME_IS_OVER;
    }
    closedir(dir);
    return look;
}

/* Goes on at R's place.  A folder of /proc lists pids in their order. */
static enum look look_at_all(struct fd_round *r, int64_t end_cpu_ns)
{
    enum look look = LOOK_DONE;
    DIR *dir = opendir("/proc");
    if (!dir)
        return LOOK_GIVEN_UP;
    const struct dirent *entry;
    int64_t pid;
    while (!look && (entry = readdir(dir))) {
        if (parse_whole_i64(entry->d_name, 1, INT_MAX, &pid) < 0 || pid < r->next_pid)
            continue;
        if (pid > r->next_pid)
            r->next_fd = 0;
        r->next_pid = (pid_t)pid;
        look = look_at_process(r, (pid_t)pid, end_cpu_ns);
        if (look)
            break;
        r->next_pid++;
        r->next_fd = 0;
        if (clock_cpu_ns() >= end_cpu_ns)
            look = LOOK_TIME_IS_OVER;
    }
    closedir(dir);
    return look;
}

/* What is wanted is looked for; the users' room is used again. */
static void begin(struct fd_scan *s)
{
    struct map before = s->now.looked_for;
    s->now.looked_for = s->wanted;
    s->wanted = before;
    map_clear(&s->wanted);
    s->now.n = 0;
    s->now.next_pid = 0;
    s->now.next_fd = 0;
    s->now.begun_ns = clock_now_ns();
    s->goes_on = true;
}

void fd_scan_run(struct fd_scan *s, int64_t longest_cpu_ns)
{
    if (!s->goes_on)
        begin(s);
    enum look look = look_at_all(&s->now, clock_cpu_ns() + longest_cpu_ns);
    if (look == LOOK_TIME_IS_OVER)
        return;
    struct fd_round before = s->last;
    s->now.whole = look == LOOK_DONE;
    s->n_cut += !s->now.whole;
    s->last = s->now;
    s->now = before;
    s->goes_on = false;
}

static void release_round(struct fd_round *r)
{
    map_release(&r->looked_for);
    free(r->users);
}

void fd_scan_release(struct fd_scan *s)
{
    map_release(&s->wanted);
    release_round(&s->last);
    release_round(&s->now);
    *s = (struct fd_scan){0};
}
