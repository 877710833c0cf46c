#include "target/cpu_quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/cgroup.h"
#include "target/proc.h"

enum { MOUNTINFO_BYTES = 1 << 20, MAX_LEVELS = 32 };

/* One group; what it counted before the first look and at the last one. */
struct level {
    char *directory;
    double cpus;
    struct throttled first, last;
};

struct cpu_quota {
    int version;
    bool hidden;
    size_t n; /* the process's own group first */
    struct level levels[MAX_LEVELS];
    int64_t first_local_ns,
        local_ns;          /* of the process's group, whoever throttled it; −1: unknown */
    struct throttled past; /* by groups that the process has left */
    int64_t past_above_ns;
    char *cgroup; /* the text that named the group */
};

/* ---- counters ---- */

static void read_level(struct level *l)
{
    struct throttled now;
    if (!cgroup_read_throttled(l->directory, &now) || now.elapsed < l->last.elapsed)
        return; /* it was removed, and what is known of it stays */
    l->last = now;
    l->cpus = cgroup_read_cpus(l->directory);
}

void cpu_quota_read(struct cpu_quota *q)
{
    for (size_t i = 0; i < q->n; i++)
        read_level(&q->levels[i]);
    int64_t local_ns = q->n ? cgroup_read_local_ns(q->levels[0].directory) : -1;
    if (local_ns >= q->local_ns)
        q->local_ns = local_ns;
}

static struct throttled counted(const struct level *l)
{
    return (struct throttled){.periods = l->last.periods - l->first.periods,
                              .ns = l->last.ns - l->first.ns,
                              .elapsed = l->last.elapsed - l->first.elapsed};
}

/* Of the group that throttled most; where none did, of the tightest. */
static struct throttled most_throttled(const struct cpu_quota *q)
{
    struct throttled most = {0};
    for (size_t i = 0; i < q->n; i++) {
        struct throttled here = counted(&q->levels[i]);
        if (here.ns > most.ns || (here.ns == most.ns && here.elapsed > most.elapsed))
            most = here;
    }
    return most;
}

/* The throttled time that no visible group accounts for.  The counters are not read at one moment,
 * and two groups may throttle at one time, so a part of the time may be missing, and all of it
 * where a visible group throttled for as long. */
static int64_t above_ns(const struct cpu_quota *q)
{
    if (q->local_ns < 0 || q->first_local_ns < 0)
        return -1;
    int64_t visible_ns = 0;
    for (size_t i = 0; i < q->n; i++)
        visible_ns += (int64_t)counted(&q->levels[i]).ns;
    int64_t ns = q->local_ns - q->first_local_ns - visible_ns;
    return q->hidden && ns > 0 ? ns : 0;
}

struct cpu_quota_facts cpu_quota_facts(const struct cpu_quota *q)
{
    struct cpu_quota_facts f = {.version = q->version, .hidden = q->hidden, .path = ""};
    for (size_t i = 0; i < q->n; i++) {
        const struct level *l = &q->levels[i];
        if (l->cpus <= 0 || (f.cpus > 0 && l->cpus >= f.cpus))
            continue;
        f.cpus = l->cpus;
        f.path = l->directory;
        f.level = (uint32_t)i;
    }
    struct throttled t = most_throttled(q);
    f.periods = t.elapsed + q->past.elapsed;
    f.throttled_periods = t.periods + q->past.periods;
    f.throttled_ns = (int64_t)(t.ns + q->past.ns);
    f.throttled_above_ns = above_ns(q);
    if (f.throttled_above_ns >= 0)
        f.throttled_above_ns += q->past_above_ns;
    return f;
}

/* ---- groups ---- */

static void add_level(struct cpu_quota *q, const char *root, const char *directory)
{
    struct level *l = &q->levels[q->n++];
    *l = (struct level){.directory = xasprintf("%s%s", root, directory)};
    read_level(l);
    l->first = l->last;
}

static void add_levels(struct cpu_quota *q, struct cgroup_place *place, const char *root)
{
    q->version = place->version;
    q->hidden |= place->part;
    do
        add_level(q, root, place->directory);
    while (q->n < MAX_LEVELS && cgroup_go_up(place));
    q->hidden |= q->n == MAX_LEVELS;
    q->first_local_ns = q->local_ns = cgroup_read_local_ns(q->levels[0].directory);
}

struct cpu_quota *cpu_quota_open(const char *mountinfo, const char *cgroup, const char *root,
                                 bool whole)
{
    struct cpu_quota *q = xcalloc(1, sizeof *q);
    struct cgroup_place place;
    q->cgroup = xstrdup(cgroup);
    q->first_local_ns = q->local_ns = -1;
    q->hidden = !whole;
    if (cgroup_find(mountinfo, cgroup, "cpu", &place) == 0 && place.exact)
        add_levels(q, &place, root);
    return q;
}

/* A process with the machine's own cgroup namespace sees all groups. */
static bool sees_all_groups(void)
{
    static const char initial[] = "cgroup:[4026531835]"; /* Linux include/linux/proc_ns.h */
    char link[64];
    return proc_read_link(getpid(), "ns/cgroup", link, sizeof link) == 0 && str_eq(link, initial);
}

/* Where our own mounts do not show the group, those of PID may. */
static struct cpu_quota *open_for(pid_t pid, const char *cgroup)
{
    char root[64];
    struct cpu_quota *q = NULL;
    char *mountinfo = xmalloc(MOUNTINFO_BYTES);
    (void)snprintf(root, sizeof root, "/proc/%d/root", pid);
    const struct {
        pid_t pid;
        const char *root;
    } views[] = {{getpid(), ""}, {pid, root}};
    for (size_t i = 0; i < 2 && !(q && q->n); i++) {
        cpu_quota_free(q);
        if (proc_read_text(views[i].pid, 0, "mountinfo", mountinfo, MOUNTINFO_BYTES) < 0)
            *mountinfo = '\0';
        q = cpu_quota_open(mountinfo, cgroup, views[i].root, sees_all_groups());
    }
    free(mountinfo);
    return q;
}

struct cpu_quota *cpu_quota_new(pid_t pid)
{
    char cgroup[PROC_TEXT_BYTES];
    if (proc_read_text(pid, 0, "cgroup", cgroup, sizeof cgroup) < 0)
        *cgroup = '\0';
    return open_for(pid, cgroup);
}

static void release(struct cpu_quota *q)
{
    for (size_t i = 0; i < q->n; i++)
        free(q->levels[i].directory);
    free(q->cgroup);
}

/* Q becomes NOW, which has its own counters; what was counted so far stays. */
static void move_to(struct cpu_quota *q, struct cpu_quota *now)
{
    struct throttled t = most_throttled(q);
    int64_t above = above_ns(q);
    now->past = (struct throttled){.periods = q->past.periods + t.periods,
                                   .ns = q->past.ns + t.ns,
                                   .elapsed = q->past.elapsed + t.elapsed};
    now->past_above_ns = q->past_above_ns + (above > 0 ? above : 0);
    release(q);
    *q = *now;
    free(now);
}

void cpu_quota_look(struct cpu_quota *q, pid_t pid)
{
    char cgroup[PROC_TEXT_BYTES];
    cpu_quota_read(q);
    if (proc_read_text(pid, 0, "cgroup", cgroup, sizeof cgroup) > 0 && !str_eq(cgroup, q->cgroup))
        move_to(q, open_for(pid, cgroup));
}

void cpu_quota_skip(struct cpu_quota *q, pid_t pid)
{
    char cgroup[PROC_TEXT_BYTES];
    if (proc_read_text(pid, 0, "cgroup", cgroup, sizeof cgroup) > 0)
        move_to(q, open_for(pid, cgroup));
}

struct cpu_quota *cpu_quota_free(struct cpu_quota *q)
{
    if (!q)
        return NULL;
    release(q);
    free(q);
    return NULL;
}
