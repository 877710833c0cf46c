/* Which file system a path lies on, without asking that file system. */
#pragma once

#include "base/text.h"

/* Appends what the mount that PATH lies on is: "nfs4 on nfs01:/export".  PATH is absolute; below
 * /proc/PID/root it is one of that process's.  False: that cannot be told.  Source:
 * proc_pid_mountinfo(5). */
bool mount_of(const char *path, struct text *out);
/* The same of the text of a mountinfo file, for a path as its process sees it.  Pure. */
bool mount_find(const char *mountinfo, const char *path, struct text *out);
