/* The file, pipe or socket that a blocked thread waits for, where its system call takes a file
 * descriptor.  It is read together with the stack, because a moment later the descriptor may be
 * another file's. */
#pragma once

#include "sampler/message.h"
#include "sampler/recorder.h"

struct wait_object {
    uint64_t fd;
    uint32_t len; /* of its link; 0: it has none */
    char link[512];
};

/* Reads the link /proc/PID/fd/FD, if system call NUMBER takes FD as its first argument.  No thread
 * may be held.  Source: proc(5). */
void wait_object_look_up(struct wait_object *ret, pid_t pid, int64_t number, uint64_t fd);
/* Adds O to R's message M, if M's thread waits for it.  Without room it is left out. */
void wait_object_add(const struct wait_object *o, struct recorder *r, struct sample_message *m);
/* Looks up and adds the wait object of M's thread.  No thread may be held. */
void wait_object_read(struct recorder *r, pid_t pid, struct sample_message *m);
