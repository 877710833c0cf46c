/* Which file system a path lies on, without asking that file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/duty_cycle.h"
#include "base/text.h"

struct mount { /* a line of a mountinfo file, with its escapes undone */
    uint64_t id, parent;
    const char *root;  /* the mounted part of the file system */
    const char *point; /* where */
    const char *type, *source, *options;
    bool top; /* its parent is not among the mounts */
};

struct mounts { /* zero-initialise */
    struct mount *items;
    size_t n, capacity;
    char *text;                /* the items point into it */
    struct duty_cycle reading; /* of mounts_of() */
};

/* Fills M anew from the text of a mountinfo file; lines that are malformed are left out.  Source:
 * proc_pid_mountinfo(5). */
void mounts_parse(struct mounts *m, const char *mountinfo);
/* The mount that PATH lies on, an absolute path as the process of M sees it; NULL: none.  Valid
 * until M is filled anew. */
const struct mount *mounts_find(const struct mounts *m, const char *path);
/* The same for process PID, whose mounts are read at the first call, and again when the last
 * reading is some seconds old; those of a process that has ended stay. */
const struct mount *mounts_of(struct mounts *m, pid_t pid, const char *path);
void mounts_release(struct mounts *m);

/* Does another machine or another program answer for it: a network file system, FUSE, a host's
 * directory in its guest? */
bool mount_is_served(const struct mount *m);
/* Appends the mount that PATH lies on: "nfs4 on nfs01:/export".  PATH is absolute; below
 * /proc/PID/root it is one of that process's.  False: the mount is unknown. */
bool mount_describe(const char *path, struct text *out);
