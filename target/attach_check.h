/* Why wallspy cannot attach to a process, found from /proc and harmless probes before attaching.
 * Source: ptrace(2) "Ptrace access mode checking"; kernel/ptrace.c;
 * Documentation/admin-guide/LSM/Yama.rst. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"
#include "target/container.h"
#include "target/user_name.h"

enum attach_obstacle {
    ATTACH_OK,
    ATTACH_OLD_KERNEL,
    ATTACH_GVISOR,
    ATTACH_NO_PROCESS,
    ATTACH_ZOMBIE,
    ATTACH_KERNEL_THREAD,
    ATTACH_SELF,
    ATTACH_OUR_TRACER, /* it traces wallspy, or a tracer of wallspy */
    ATTACH_OTHER_PROC, /* /proc is another pid namespace's: its numbers are other processes' */
    ATTACH_OTHER_USER,
    ATTACH_NOT_DUMPABLE,
    ATTACH_MORE_CAPABILITIES, /* it has some that wallspy lacks */
    ATTACH_TRACED,
    ATTACH_USER_NAMESPACE, /* it is in another one, in which wallspy has no capabilities */
    ATTACH_YAMA,           /* ptrace_scope forbids it, or a Landlock domain behaves like it */
    ATTACH_SECCOMP,        /* the ptrace call itself is refused */
    ATTACH_NO_PTRACE,      /* there is no such call, as under qemu-user */
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
    bool no_new_privs;                /* wallspy's: sudo has no effect, prctl(2) */
    char owner_name[USER_NAME_BYTES]; /* ATTACH_OTHER_USER: "" if unknown */
    char kernel[KERNEL_BYTES];        /* ATTACH_OLD_KERNEL: its release, cut */
    int error;                        /* ATTACH_UNREADABLE: errno */
    int yama_scope;                   /* ATTACH_YAMA: 1, 2, 3; 0 if not Yama's */
    pid_t
        namesake; /* ATTACH_NO_PROCESS: a process that has this pid in its own namespace; 0 none */
    struct container container; /* where wallspy is, if the caller wants the ways out of there */
};

/* Looks at NUMBER, a pid or tid.  Does not attach; nothing in the target changes. */
void attach_check(struct attach_check *ret, pid_t number);
/* What Yama's ptrace_scope is, 0 to 3; −1: this kernel has no Yama. */
int attach_yama_scope(void);

/* A way out: when it is open ("now", "next time"), and what is to be typed or written. */
enum { ATTACH_MAX_WAYS = 5 };
struct attach_way {
    const char *when;
    struct text line; /* may have line breaks */
};
struct attach_ways {
    struct attach_way items[ATTACH_MAX_WAYS];
    size_t n;
};
/* Fills RET with the ways out of the obstacle C, nearest first; none for some.  COMMAND is the
 * process's command line for display, NULL if unknown.  C->pid 0: the lines say PID.  The caller
 * releases RET.  Not for ATTACH_OK.  Pure. */
void attach_find_ways(const struct attach_check *c, const char *command, struct attach_ways *ret);
void attach_ways_release(struct attach_ways *ways);
/* Appends a line break and a way as people read it: WHEN in a column of its own ("": none), LINE
 * behind it, wrapped at 77 columns. */
void attach_add_way(const char *when, const char *line, struct text *out);
/* The obstacle as programs read it ("not-dumpable"), a literal; and the one thing that is missing,
 * in words. */
const char *attach_obstacle_name(enum attach_obstacle obstacle);
const char *attach_missing(const struct attach_check *c);
/* Appends the cause in a sentence or two, without line breaks.  Not for ATTACH_OK.  Pure. */
void attach_add_cause(const struct attach_check *c, struct text *out);
/* Appends the message for the user: one cause and its ways out, nearest first.  The caller puts it
 * behind "wallspy: "; its lines then have at most 79 columns, and there is no newline at the end.
 * COMMAND is the process's command line for display, NULL if unknown.  Not for ATTACH_OK.  Pure. */
void attach_check_explain(const struct attach_check *c, const char *command, struct text *out);
