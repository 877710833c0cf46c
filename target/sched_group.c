#include "target/sched_group.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "target/cgroup.h"
#include "target/proc.h"

enum { MOUNTINFO_BYTES = 1 << 20 };

/* Version 2: the root has no such file, nor have groups for which the controller is off. */
static bool has_weight(const char *directory)
{
    char path[PATH_MAX + sizeof "/cpu.weight"];
    (void)snprintf(path, sizeof path, "%s/cpu.weight", directory);
    return access(path, F_OK) == 0;
}

/* Goes up to the group that the scheduler knows.  Returns whether that is the root. */
static bool find_scheduled(struct cgroup_place *p)
{
    bool is_top;
    if (p->version == 1)
        return strlen(p->directory) == p->top && !p->part;
    do
        is_top = !has_weight(p->directory);
    while (is_top && cgroup_go_up(p));
    return is_top && !p->part;
}

enum sched_apart sched_group_judge(const char *mountinfo, const struct sched_group_texts *a,
                                   const struct sched_group_texts *b)
{
    struct cgroup_place places[2];
    bool in_root = false;
    bool seen = cgroup_find(mountinfo, a->cgroup, "cpu", &places[0]) == 0 && places[0].exact &&
                cgroup_find(mountinfo, b->cgroup, "cpu", &places[1]) == 0 && places[1].exact;
    if (seen) {
        in_root = find_scheduled(&places[0]);
        (void)find_scheduled(&places[1]);
    }
    bool same =
        seen ? str_eq(places[0].directory, places[1].directory) : str_eq(a->cgroup, b->cgroup);
    if (!same)
        return SCHED_OTHER_CGROUP;
    /* "/autogroup-17 nice 0" */
    size_t len = strcspn(a->autogroup, " ");
    bool one_session =
        strncmp(a->autogroup, b->autogroup, len) == 0 && strcspn(b->autogroup, " ") == len;
    return in_root && len && *b->autogroup && !one_session ? SCHED_OTHER_SESSION : SCHED_TOGETHER;
}

static bool sessions_are_grouped(void)
{
    char on = '0';
    int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, &on, 1);
    close(fd);
    return n == 1 && on == '1';
}

static void read_text(pid_t pid, const char *name, char ret[PROC_TEXT_BYTES])
{
    ssize_t n = proc_read_text(pid, 0, name, ret, PROC_TEXT_BYTES);
    if (n <= 0)
        *ret = '\0';
}

enum sched_apart sched_group_compare(pid_t pid)
{
    char texts[4][PROC_TEXT_BYTES] = {{0}};
    const struct sched_group_texts mine = {texts[0], texts[1]};
    const struct sched_group_texts its = {texts[2], texts[3]};
    read_text(getpid(), "cgroup", texts[0]);
    read_text(pid, "cgroup", texts[2]);
    if (sessions_are_grouped()) {
        read_text(getpid(), "autogroup", texts[1]);
        read_text(pid, "autogroup", texts[3]);
    }
    bool as_usual = str_eq(mine.cgroup, its.cgroup) && str_eq(mine.autogroup, its.autogroup);
    if (as_usual || !*mine.cgroup || !*its.cgroup)
        return SCHED_TOGETHER;
    char *mountinfo = xmalloc(MOUNTINFO_BYTES);
    if (proc_read_text(getpid(), 0, "mountinfo", mountinfo, MOUNTINFO_BYTES) <= 0)
        *mountinfo = '\0';
    enum sched_apart apart = sched_group_judge(mountinfo, &mine, &its);
    free(mountinfo);
    return apart;
}
