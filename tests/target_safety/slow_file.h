/* A file whose reads take their time, of a FUSE file system that gives up a read when it is told
 * that the reader was interrupted (as NFS and sshfs mounted with `intr` do). */
#pragma once

enum { SLOW_FILE_BYTES = 8 };

enum { SLOW_FILE_LOOP = 6 }; /* the offset of code that runs for ever */

/* As slow_file_open(); the file keeps its name, and process RET_SERVER serves it: until SIGUSR1,
 * from which on it takes requests and answers none. */
int slow_file_mount(int ms, int *ret_server);
/* Opens it for reading; each read returns the same SLOW_FILE_BYTES after MS milliseconds.  The
 * calling process gets a mount namespace of its own.  Call it before threads are started.  Returns
 * the descriptor, or a negative errno if that is not available here. */
int slow_file_open(int ms);
