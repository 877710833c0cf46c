/* The target's memory map, as text of /proc/PID/maps parsed into sorted mappings.
 * Source: proc_pid_maps(5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
    uint64_t start, end; /* [start, end) */
    uint64_t file_offset;
    uint32_t prot; /* PROT_READ | PROT_WRITE | PROT_EXEC */
    uint32_t dev_major, dev_minor;
    uint64_t inode;
    const char *path; /* "" for anonymous; "[stack]", "[vdso]", …; newlines unescaped */
    bool shared;      /* what is written goes to the file, and others see it */
    bool deleted;     /* the kernel's " (deleted)", removed from path */
};

struct maps {
    struct mapping *items; /* by address */
    size_t n;
    uint32_t generation; /* counts the loads that found a change */
    uint64_t text_hash;
    char *strings; /* owns the paths */
    bool cut;      /* there were more than MAX_MAPPINGS, or than MAX_MAPS_BYTES of text */
};

/* Replaces the content of MAPS (zero-initialised or loaded before) by the mappings of TEXT,
 * unless it was made of the same text.  At most MAX_MAPPINGS are taken.  Pure.  Returns 0, or
 * -EPROTO (malformed: MAPS is unchanged). */
int maps_parse(struct maps *maps, const char *text, size_t len);
/* Opens /proc/PID/maps.  Returns an fd, -ESRCH (no such process), -EPERM, or another negative
 * errno of open(2). */
int maps_open(pid_t pid);
/* Reads /proc/PID/maps; generation rises only if it changed.  Returns 0, -ESRCH (also if it exited
 * and waits to be reaped), -EPERM, -EPROTO, or another errno of open(2) and read(2). */
int maps_load(struct maps *maps, pid_t pid);
/* The same from an open file, whose first MAX_MAPS_BYTES are taken.  No -EPERM. */
int maps_read(struct maps *maps, int fd);
/* Does the kernel say that no code is mapped at ADDR now?  Takes one to three system calls, however
 * many mappings there are.  False too if the kernel cannot be asked (before Linux 6.11).
 * Source: fs/proc/task_mmu.c, include/uapi/linux/fs.h PROCMAP_QUERY. */
bool maps_no_code_at(pid_t pid, uint64_t addr);
/* Asks the kernel for the mapping at ADDR now: RET but for prot, path,
 * shared and deleted.  FD: of
 * maps_open().  Returns 0; -ENOENT: nothing is mapped there; -ESRCH: the process is gone, or runs
 * another program since FD was opened; -ENOTTY: the kernel cannot be asked (before Linux 6.11). */
int maps_ask(int fd, uint64_t addr, struct mapping *ret);
/* NULL: nothing mapped there.  Valid until the next load. */
const struct mapping *maps_find(const struct maps *maps, uint64_t addr);
/* Are A and B of the same file? */
bool mappings_have_one_file(const struct mapping *a, const struct mapping *b);
void maps_release(struct maps *maps);
