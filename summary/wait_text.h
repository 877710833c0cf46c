/* Waits in words: the same in every file and on the terminal. */
#pragma once

#include "base/text.h"
#include "profile/profile.h"

/* The file of the synthetic frame that a wait is shown as. */
extern const char wait_file[];
/* Appends "futex [blocked]", "ioctl /dev/nvidiactl [blocked]", "[waiting for cpu]", …; of a path
 * below a mount "read /mnt/data [blocked]".  ADDRESSED: of a socket whose other end is known
 * "recvfrom 127.0.0.1:5433 [blocked]", else "recvfrom socket [blocked]".  WAIT is P's. */
void wait_add_text(struct text *out, const struct profile *p, const struct wait *wait,
                   bool addressed);
/* Is the wait for a socket that has a name to put behind the call's? */
bool wait_has_address(const struct wait *wait);
/* Appends that: "127.0.0.1:5433", "client of :8000", "UDP on 0.0.0.0:53", "unix:/run/x";
 * "UDP" where the kernel chose the port. */
void wait_add_address(struct text *out, const struct profile *p, const struct wait *wait);
/* Is WAIT for whoever has the other end of a named pipe?  Its object is a path, as a file's. */
bool wait_is_for_fifo(const struct profile *p, const struct wait *wait);
/* The point of the mount that the wait's path is below; none: the root's, or there is none. */
string_id wait_mount_point(const struct profile *p, const struct wait *wait);
/* The path that wait_add_text() leaves out for its mount; NULL: none. */
const char *wait_path_below_mount(const struct profile *p, const struct wait *wait);
/* The terminal in whose read(2) STOP, a wait of a stopped thread, began; NULL: it was in none.  A
 * background job is stopped so (SIGTTIN), and its other threads with it. */
const char *wait_terminal_read(const struct profile *p, const struct wait *stop);
/* Appends whom or what SIDE is, of a wait in the kernel and of a process OWN_PID: "its child 4711
 * (sleep)", "4711 (sleep), which has the pipe's other end", "127.0.0.1:5433".  Nothing for other
 * things.  DETAILED, for what is read once: with what changes from look to look, as "nothing
 * received" and who several processes are. */
void wait_side_add_text(struct text *out, const struct profile *p, const struct wait_side *side,
                        pid_t own_pid, bool detailed);
/* The same in a few words, without what kind of thing it is: "sleep", "2 processes". */
void wait_side_add_what(struct text *out, const struct profile *p, const struct wait_side *side,
                        bool detailed);
/* Has it any? */
bool wait_side_is_told(const struct wait_side *side);
