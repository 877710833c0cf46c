/* The folders in which recordings have their sockets, and who may use them.  A socket is called
 * after wallspy's own process: PID.sock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

enum { CTL_FOLDERS = 2 };
struct ctl_folders { /* in the order in which a recording tries them */
    char *paths[CTL_FOLDERS];
    size_t n;
};
/* Those of this user: below XDG_RUNTIME_DIR, for root /run/wallspy; and /tmp/wallspy-UID.
 * WALLSPY_CTL_DIR: that one alone. */
void ctl_folders_init(struct ctl_folders *f);
void ctl_folders_release(struct ctl_folders *f);

/* Opens the folder PATH, which is to be this user's alone: no link, owned by him, mode 0700.  MAKE:
 * makes it if there is none.  Returns its descriptor, which the caller closes, or a negative errno
 * with ERR. */
int ctl_folder_open(const char *path, bool make, struct err *err);

enum { CTL_PATH_BYTES = 64 };
/* The path of the socket of wallspy's process PID in the folder with this descriptor.  However long
 * the folder's own path is, it fits into a socket's address. */
void ctl_socket_path(int folder, pid_t pid, char ret[CTL_PATH_BYTES]);
void ctl_socket_remove(int folder, pid_t pid);
/* The processes that have a socket in the folder, in the order of their ids.  Returns how many; the
 * caller frees *RET. */
size_t ctl_sockets(int folder, pid_t **ret);
/* Connects to that of PID without waiting, and removes it if nobody listens.  Returns a descriptor
 * (non-blocking) or a negative errno. */
int ctl_connect(int folder, pid_t pid);
