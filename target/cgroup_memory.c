#include "target/cgroup_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "target/cgroup.h"
#include "target/cursor.h"
#include "target/proc.h"

enum { MOUNTINFO_BYTES = 1 << 20, MAX_LEVELS = 32 };
/* Version 1 has the largest number of pages where there is no limit. */
static const uint64_t no_limit = UINT64_C(1) << 62;

/* One group. */
struct level {
    char *directory;
    uint64_t limit, used, first_reached, reached;
};
struct cgroup_memory {
    size_t n; /* the process's own group first */
    struct level levels[MAX_LEVELS];
};

/* ---- files ---- */

/* The number in DIRECTORY/NAME; "max", or no such file: UINT64_MAX. */
static uint64_t read_number(const char *directory, const char *name)
{
    char text[CGROUP_FILE_BYTES];
    uint64_t value;
    struct cursor c = {text, text + cgroup_read_file(directory, name, text, 0)};
    return cursor_u64(&c, 10, &value) ? value : UINT64_MAX;
}

/* The sum of the lines "max N" and "high N": how often the group was about to pass a limit. */
static bool read_events(const char *directory, const char *name, uint64_t *ret)
{
    char text[CGROUP_FILE_BYTES];
    struct cursor c = {text, text + cgroup_read_file(directory, name, text, 0)};
    bool found = c.s < c.end;
    *ret = 0;
    while (c.s < c.end) {
        uint64_t value;
        if ((cursor_take(&c, "max ") || cursor_take(&c, "high ")) && cursor_u64(&c, 10, &value))
            *ret += value;
        while (c.s < c.end && *c.s++ != '\n')
            ;
    }
    return found;
}

/* False: the group is gone, or has no such counters. */
static bool read_level(struct level *l)
{
    uint64_t used = read_number(l->directory, "memory.current");
    uint64_t limit;
    uint64_t reached;
    if (used != UINT64_MAX) {
        limit = min_u64(read_number(l->directory, "memory.max"),
                        read_number(l->directory, "memory.high"));
        /* Before Linux 5.2 there are only those with the counts of all groups below. */
        if (read_events(l->directory, "memory.events.local", &reached) ||
            read_events(l->directory, "memory.events", &reached))
            l->reached = reached;
    } else {
        used = read_number(l->directory, "memory.usage_in_bytes");
        limit = read_number(l->directory, "memory.limit_in_bytes");
        reached = read_number(l->directory, "memory.failcnt");
        l->reached = reached == UINT64_MAX ? l->reached : reached;
    }
    if (used == UINT64_MAX)
        return false;
    l->used = used;
    l->limit = limit < no_limit ? limit : 0;
    return true;
}

void cgroup_memory_look(struct cgroup_memory *m)
{
    for (size_t i = 0; i < m->n; i++)
        (void)read_level(&m->levels[i]);
}

static uint64_t counted(const struct level *l)
{
    return l->reached > l->first_reached ? l->reached - l->first_reached : 0;
}

struct cgroup_memory_facts cgroup_memory_facts(const struct cgroup_memory *m)
{
    const struct level *best = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const struct level *l = &m->levels[i];
        bool tighter = !best || l->limit < best->limit;
        if (l->limit &&
            (!best || counted(l) > counted(best) || (counted(l) == counted(best) && tighter)))
            best = l;
    }
    if (!best)
        return (struct cgroup_memory_facts){.path = ""};
    return (struct cgroup_memory_facts){best->limit, best->used, counted(best), best->directory};
}

/* ---- groups ---- */

static void add_level(struct cgroup_memory *m, const char *root, const char *directory)
{
    struct level *l = &m->levels[m->n];
    *l = (struct level){.directory = xasprintf("%s%s", root, directory)};
    if (!read_level(l)) { /* the root group has none */
        free(l->directory);
        return;
    }
    l->first_reached = l->reached;
    m->n++;
}

struct cgroup_memory *cgroup_memory_open(const char *mountinfo, const char *cgroup,
                                         const char *root)
{
    struct cgroup_memory *m = xcalloc(1, sizeof *m);
    struct cgroup_place place;
    if (cgroup_find(mountinfo, cgroup, "memory", &place) < 0 || !place.exact)
        return m;
    do
        add_level(m, root, place.directory);
    while (m->n < MAX_LEVELS && cgroup_go_up(&place));
    return m;
}

/* Where our own mounts do not show the group, those of PID may. */
struct cgroup_memory *cgroup_memory_new(pid_t pid)
{
    char root[64];
    char cgroup[PROC_TEXT_BYTES];
    struct cgroup_memory *m = NULL;
    char *mountinfo = xmalloc(MOUNTINFO_BYTES);
    (void)snprintf(root, sizeof root, "/proc/%d/root", pid);
    if (proc_read_text(pid, 0, "cgroup", cgroup, sizeof cgroup) < 0)
        *cgroup = '\0';
    const struct {
        pid_t pid;
        const char *root;
    } views[] = {{getpid(), ""}, {pid, root}};
    for (size_t i = 0; i < sizeof views / sizeof *views && !(m && m->n); i++) {
        cgroup_memory_free(m);
        if (proc_read_text(views[i].pid, 0, "mountinfo", mountinfo, MOUNTINFO_BYTES) < 0)
            *mountinfo = '\0';
        m = cgroup_memory_open(mountinfo, cgroup, views[i].root);
    }
    free(mountinfo);
    return m;
}

struct cgroup_memory *cgroup_memory_free(struct cgroup_memory *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->n; i++)
        free(m->levels[i].directory);
    free(m);
    return NULL;
}
