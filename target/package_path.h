/* Which part of a source's path tells people where it is: from its outermost package on, which is
 * the topmost of the folders above it that have an __init__.py one after the other.  Only looks
 * whether such files are there: opens nothing, and asks no other machine. */
#pragma once

#include <sys/types.h>

#include "base/hash.h"
#include "target/mount.h"

struct package_paths { /* of one process; zero-initialise */
    struct mounts mounts;
    struct map starts; /* by path */
};
/* The part of FILE, an absolute path as process PID sees it, "torch/nn/modules/linear.py" or
 * "train.py".  NULL: the path is none, or lies on a served mount, or this kernel is older than
 * Linux 5.6.  Remembers FILE by its address.  Source: openat2(2). */
const char *package_path(struct package_paths *p, pid_t pid, const char *file);
void package_paths_release(struct package_paths *p);
