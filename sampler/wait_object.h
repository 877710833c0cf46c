/* The file, pipe or socket that a blocked thread waits for, where its system call takes a file
 * descriptor, or polls one and no other, or looks up a path.  It is read together with the stack,
 * because a moment later the descriptor may be another file's. */
#pragma once

#include "capture/message.h"
#include "sampler/recorder.h"

struct process;
struct wait_object {
    int64_t number; /* the call that waits for it, as far as that tells two waits apart */
    uint64_t args[2];
    uint64_t fd;
    enum syscall_flow flow;
    uint32_t len; /* of its link, or path; 0: it has none */
    char link[512];
};

/* Finds the descriptor for which call NUMBER of a thread of P waits, and reads its link
 * /proc/PID/fd/FD; or the path that the call looks up, with the folder that it is relative to.  No
 * thread may be held.  Source: proc(5), poll(2), path_resolution(7). */
void wait_object_look_up(struct wait_object *ret, const struct process *p, int64_t number,
                         const uint64_t args[6]);
/* Adds O to R's message M, if M's thread waits for it.  Without room it is left out. */
void wait_object_add(const struct wait_object *o, struct recorder *r, struct sample_message *m);
/* Is descriptor FD of P a socket?  False: it cannot be read. */
bool wait_object_is_socket(const struct process *p, uint64_t fd);
/* Looks up and adds the wait object of M's thread, one of P.  No thread may be held. */
void wait_object_read(struct recorder *r, const struct process *p, struct sample_message *m);
