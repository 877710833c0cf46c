/* A thread that is blocked in a call whose other side lies in the kernel. */
#pragma once

#include "capture/message.h"
#include "profile/wait.h"
#include "waits/descriptor.h"

struct blocked_call {
    uint32_t process, thread_no; /* by number */
    pid_t tid, ns_tid;
    uint64_t runs;
    int64_t since_ns, due_ns; /* no look before */
    int64_t number;
    uint64_t args[6];
    uint64_t link;   /* hash of its descriptor's link, or of its path; 0: it has none */
    uint64_t socket; /* inode, if that is one; else 0 */
    uint64_t fd;     /* that descriptor */
    enum syscall_flow flow;
};
/* A call whose other side is asked for, and where that is to be put. */
struct asked_call {
    const struct blocked_call *call;
    struct wait_side *side;
};
/* False: not a wait that has such another side, or it is not proven to last. */
bool blocked_call_of(const struct sample_message *m, struct blocked_call *ret);
/* Has it not run since, and is it in the same call?  PID: its process. */
bool blocked_call_lasts(pid_t pid, const struct blocked_call *call);
/* Does its descriptor, if it has one, lead to the same file?  RET gets the link. */
bool blocked_call_has_link(pid_t pid, const struct blocked_call *call,
                           char ret[DESCRIPTOR_LINK_BYTES]);
