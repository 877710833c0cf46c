/* Why wallspy cannot attach to a process, found from /proc and harmless probes before attaching.
 * Source: ptrace(2) "Ptrace access mode checking"; kernel/ptrace.c;
 * Documentation/admin-guide/LSM/Yama.rst. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "target/user_name.h"

enum attach_obstacle {
    ATTACH_OK,
    ATTACH_OLD_KERNEL,
    ATTACH_NO_PROCESS,
    ATTACH_ZOMBIE,
    ATTACH_KERNEL_THREAD,
    ATTACH_SELF,
    ATTACH_OUR_TRACER, /* it traces wallspy, or a tracer of wallspy */
    ATTACH_OTHER_PROC, /* /proc is another pid namespace's: its numbers are other processes' */
    ATTACH_OTHER_USER,
    ATTACH_NOT_DUMPABLE,
    ATTACH_TRACED,
    ATTACH_YAMA,      /* ptrace_scope forbids it, or a Landlock domain behaves like it */
    ATTACH_SECCOMP,   /* the ptrace call itself is refused */
    ATTACH_NO_PTRACE, /* there is no such call, as under qemu-user */
    ATTACH_32_BIT,
    ATTACH_NO_SYSCALL_FILE, /* no /proc/PID/syscall: CONFIG_HAVE_ARCH_TRACEHOOK off or hidden */
    ATTACH_UNREADABLE,      /* its /proc files cannot be read, for a reason of ours: ERROR */
    ATTACH_REFUSED,         /* the kernel says no and /proc gives no reason */
};

enum { KERNEL_BYTES = 32 };

struct attach_check {
    enum attach_obstacle obstacle;
    pid_t pid;            /* the process; differs from the given number if that is a tid */
    bool asked_is_thread; /* the number given is a thread of pid */
    char comm[16];        /* of pid */
    char thread_comm[16]; /* of the thread asked for */
    bool threads_live;    /* ATTACH_ZOMBIE: only the main thread has ended */
    pid_t tracer;         /* ATTACH_TRACED */
    char tracer_comm[16];
    uid_t owner, caller;              /* of the process; wallspy's */
    char owner_name[USER_NAME_BYTES]; /* ATTACH_OTHER_USER: "" if unknown */
    char kernel[KERNEL_BYTES];        /* ATTACH_OLD_KERNEL: its release, cut */
    int error;                        /* ATTACH_UNREADABLE: errno */
    int yama_scope;                   /* ATTACH_YAMA: 1, 2, 3; 0 if not Yama's */
    pid_t
        namesake; /* ATTACH_NO_PROCESS: a process that has this pid in its own namespace; 0 none */
};

/* Looks at NUMBER, a pid or tid.  Does not attach; nothing in the target changes. */
void attach_check(struct attach_check *ret, pid_t number);
/* Appends the message for the user: one cause and its ways out, nearest first.  The caller puts it
 * behind "wallspy: "; its lines then have at most 79 columns, and there is no newline at the end.
 * COMMAND is the process's command line for display, NULL if unknown.  Not for ATTACH_OK.  Pure. */
struct text;
void attach_check_explain(const struct attach_check *c, const char *command, struct text *out);
