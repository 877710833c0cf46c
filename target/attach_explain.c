/* The words for each obstacle. */
#include "target/attach_check.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { WIDTH = 77, PREFIX_COLUMNS = 9 /* "wallspy: " */, WAY_COLUMNS = 13 };

static void add_way(struct text *out, const char *label, const char *way)
{
    text_addf(out, "\n  %-*s", WAY_COLUMNS - 2, label);
    (void)text_add_wrapped(out, way, WAY_COLUMNS, WAY_COLUMNS, WIDTH);
}

static void add_root_way(const struct attach_check *c, struct text *out)
{
    struct text way = {0};
    text_addf(&way, "sudo wallspy -p %d", c->pid);
    if (c->caller == 0)
        add_way(out, "container",
                "docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug "
                "container with SYS_PTRACE that shares the pid namespace");
    else
        add_way(out, "with root", way.s);
    text_release(&way);
}

static void add_yama_ways(const struct attach_check *c, const char *command, struct text *out)
{
    struct text way = {0};
    text_addf(&way, "wallspy standby -- %s", command ? command : c->comm);
    if (c->yama_scope == 1) {
        add_way(out, "next time", way.s);
        add_way(out, "in Python",
                "import ctypes; ctypes.CDLL(None).prctl(0x59616d61,\n"
                "             ctypes.c_ulong(-1))    (this process, not its children)");
    }
    if (c->yama_scope > 0 && c->yama_scope < 3)
        add_root_way(c, out);
    text_release(&way);
    if (c->yama_scope > 0)
        return;
    text_addf(&way, "wallspy -- %s", command ? command : c->comm);
    add_way(out, "next time", way.s);
    add_way(out, "now", "run wallspy outside of that sandbox");
    text_release(&way);
}

static void add_yama_cause(const struct attach_check *c, struct text *cause)
{
    static const char *const causes[] = {
        "a sandbox (Landlock or another security module) lets wallspy look at its own children "
        "only.",
        "Yama's ptrace_scope is 1 and it is not a child of wallspy.",
        "Yama's ptrace_scope is 2: only root may attach.",
        "Yama's ptrace_scope is 3: nobody may attach before the next boot."};
    assert(c->yama_scope >= 0 && c->yama_scope <= 3);
    text_addf(cause, "cannot attach to %d (%s): %s", c->pid, c->comm, causes[c->yama_scope]);
}

static void add_other_user(const struct attach_check *c, struct text *cause)
{
    text_addf(cause, "cannot attach to %d: it belongs to ", c->pid);
    if (*c->owner_name)
        text_addf(cause, "%s (uid %u)", c->owner_name, c->owner);
    else
        text_addf(cause, "uid %u", c->owner);
    text_addf(cause, ", you are uid %u. %s", c->caller,
              c->caller == 0 ? "Needs CAP_SYS_PTRACE." : "Ask its owner, or use sudo.");
}

static void add_ended(const struct attach_check *c, struct text *cause)
{
    if (c->threads_live)
        text_addf(cause, "%d (%s): its main thread has ended, so its memory cannot be read.",
                  c->pid, c->comm);
    else
        text_addf(cause, "%d (%s) has ended; its parent has not collected it yet.", c->pid,
                  c->comm);
}

static void add_unseen(const struct attach_check *c, struct text *cause)
{
    if (c->obstacle == ATTACH_UNREADABLE) {
        text_addf(cause, "cannot read /proc/%d/status: %s.", c->pid, strerror(c->error));
        return;
    }
    text_addf(cause, "%d: no such process.", c->pid);
    if (c->namesake)
        text_addf(cause, " (In that container it may be %d here.)", c->namesake);
}

static const char ptrace_is_filtered[] = "ptrace is blocked here by a seccomp filter (container).";
static const char no_ptrace[] =
    "this system has no ptrace(2): it emulates x86-64, as Docker does on an ARM machine. wallspy "
    "needs an x86-64 machine.";
static const char kernel_thread[] =
    "%d (%s) is a thread of the kernel: it runs no program to sample.";
static const char not_dumpable[] =
    "cannot attach to %d: it is not dumpable (set-uid, or prctl(PR_SET_DUMPABLE, 0)). Needs "
    "CAP_SYS_PTRACE.";
static const char no_syscall_file[] =
    "this system has no /proc/%d/syscall, without which wallspy cannot tell what is blocked.";
static const char other_proc[] =
    "/proc here is not that of this pid namespace, so its numbers are those of other processes. "
    "First: mount -t proc proc /proc";

static void add_refused(const struct attach_check *c, struct text *cause)
{
    text_addf(cause,
              "cannot attach to %d: the kernel refuses, and /proc does not say why (its "
              "owner hidden by hidepid, another user namespace, a capability that it "
              "has and you lack). Needs CAP_SYS_PTRACE.",
              c->pid);
}

static void add_cause(const struct attach_check *c, struct text *cause)
{
    switch (c->obstacle) {
    case ATTACH_OK:
        assert(!"there is an obstacle");
        break;
    case ATTACH_OLD_KERNEL:
        text_addf(cause, "wallspy needs Linux 4.18 or newer; this is Linux %s.", c->kernel);
        break;
    case ATTACH_NO_PROCESS:
    case ATTACH_UNREADABLE:
        add_unseen(c, cause);
        break;
    case ATTACH_ZOMBIE:
        add_ended(c, cause);
        break;
    case ATTACH_KERNEL_THREAD:
        text_addf(cause, kernel_thread, c->pid, c->comm);
        break;
    case ATTACH_SELF:
        text_addf(cause, "%d is wallspy itself.", c->pid);
        break;
    case ATTACH_OUR_TRACER:
        text_addf(cause,
                  "cannot attach to %d: %s traces wallspy itself, and each would wait for the "
                  "other.",
                  c->pid, c->comm);
        break;
    case ATTACH_OTHER_PROC:
        text_add(cause, other_proc);
        break;
    case ATTACH_OTHER_USER:
        add_other_user(c, cause);
        break;
    case ATTACH_NOT_DUMPABLE:
        text_addf(cause, not_dumpable, c->pid);
        break;
    case ATTACH_TRACED:
        text_addf(cause,
                  "cannot attach to %d: %s (pid %d) is tracing it. A process has one tracer.",
                  c->pid, *c->tracer_comm ? c->tracer_comm : "a process", c->tracer);
        break;
    case ATTACH_YAMA:
        add_yama_cause(c, cause);
        break;
    case ATTACH_SECCOMP:
    case ATTACH_NO_PTRACE:
        text_add(cause, c->obstacle == ATTACH_SECCOMP ? ptrace_is_filtered : no_ptrace);
        break;
    case ATTACH_32_BIT:
        text_addf(cause, "%d (%s) is a 32-bit program; wallspy samples 64-bit ones.", c->pid,
                  c->comm);
        break;
    case ATTACH_NO_SYSCALL_FILE:
        text_addf(cause, no_syscall_file, c->pid);
        break;
    case ATTACH_REFUSED:
        add_refused(c, cause);
        break;
    }
}

void attach_check_explain(const struct attach_check *c, const char *command, struct text *out)
{
    struct text cause = {0};
    add_cause(c, &cause);
    (void)text_add_wrapped(out, cause.s, PREFIX_COLUMNS, 0, WIDTH);
    text_release(&cause);
    if (c->obstacle == ATTACH_YAMA)
        add_yama_ways(c, command, out);
    else if (c->obstacle == ATTACH_SECCOMP)
        text_add(out, "\n  docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug container\n"
                      "  with SYS_PTRACE that shares the pid namespace");
}
