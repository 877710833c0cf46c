/* What tells of waits in different dumps, also of different machines, that they are for one thing:
 * the ends of connections, where a lock lies in shared memory, which machine and network it is. */
#pragma once

#include "cli/dump_thread.h"
#include "exporter/json.h"
#include "target/maps.h"

struct dump_match { /* zero-initialise: of one process */
    pid_t pid;
    struct maps maps; /* as they are now; none where they cannot be read */
};

/* Writes the key boot_id: the kernel's own name of this machine's run; null: it cannot be read.
 * Source: random(4). */
void dump_match_write_machine(struct json *j);
void dump_match_open(struct dump_match *m, const struct dump *d, pid_t pid);
/* Writes the keys of T's wait, of the process of M: remote, remotes, more, listens, device, inode,
 * offset, owner, as far as they are known. */
void dump_match_write_wait(struct json *j, const struct dump *d, const struct dump_thread *t,
                           const struct dump_match *m);
/* Writes the keys of the process: net_ns, shared, connections. */
void dump_match_write_process(struct json *j, const struct dump_match *m);
void dump_match_close(struct dump_match *m);
