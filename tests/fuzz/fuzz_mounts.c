/* Text of /proc/PID/mountinfo, a path behind the first NUL, and /proc/PID/cgroup behind the second.
 * Anybody who may make a mount or a group chooses names in them. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "target/cgroup.h"
#include "target/mount.h"
#include "tests/fuzz/fuzz.h"

static void check_mounts(const struct mounts *m, const char *path)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct mount *item = &m->items[i];
        FUZZ_CHECK(*item->point == '/' && item->root && item->type && item->source);
        (void)mount_is_served(item);
    }
    const struct mount *found = mounts_find(m, path);
    if (found && !str_eq(found->point, "/"))
        FUZZ_CHECK(str_starts(path, found->point));
}

static void check_place(struct cgroup_place *place)
{
    FUZZ_CHECK(place->version == 1 || place->version == 2);
    size_t steps = 0;
    while (cgroup_go_up(place))
        FUZZ_CHECK(++steps < PATH_MAX);
    FUZZ_CHECK(strlen(place->directory) <= PATH_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct mounts mounts = {0};
    struct cgroup_place place;
    char *text = xmalloc(len + 3);
    memcpy(text, bytes, len);
    memset(text + len, 0, 3);
    const char *path = text + strlen(text) + 1;
    const char *cgroup = path <= text + len ? path + strlen(path) + 1 : path;
    mounts_parse(&mounts, text);
    check_mounts(&mounts, path);
    if (cgroup_find(text, cgroup, "memory", &place) == 0)
        check_place(&place);
    mounts_release(&mounts);
    free(text);
    return 0;
}
