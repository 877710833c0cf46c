/* What a blocked thread waits for, where its system call takes a file descriptor.  Asked together with its stack: a moment
 * later that descriptor may be another file's. */
#pragma once

#include "sampler/message.h"
#include "sampler/recorder.h"

struct object {
    uint64_t fd;
    uint32_t len; /* of its link; 0: it has none */
    char link[512];
};

/* The link /proc/PID/fd/N of what system call NUMBER takes as its first argument, FD.  Not while a thread is held.
 * Source: proc(5). */
void object_look(struct object *ret, pid_t pid, int64_t number, uint64_t fd);
/* Adds O, if it is what M's thread waits for, to what R holds for M.  For want of room it is left out. */
void object_add(const struct object *o, struct recorder *r, struct sample_message *m);
/* Both, for a thread that is not held. */
void object_read(struct recorder *r, pid_t pid, struct sample_message *m);
