/* The words for each obstacle: one table, for the messages of all commands and for doctor. */
#include "target/attach_check.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { WIDTH = 77, PREFIX_COLUMNS = 9 /* "wallspy: " */, WAY_COLUMNS = 13 };

/* ---- ways out ---- */

struct pid_text {
    char s[16];
};

static struct pid_text written(pid_t pid)
{
    struct pid_text t = {"PID"};
    if (pid)
        (void)snprintf(t.s, sizeof t.s, "%d", pid);
    return t;
}

static struct text *add_way(struct attach_ways *ways, const char *when)
{
    assert(ways->n < ATTACH_MAX_WAYS);
    struct attach_way *way = &ways->items[ways->n++];
    way->when = when;
    return &way->line;
}

static void add_debug_container(struct attach_ways *ways, pid_t pid, const char *profile)
{
    text_addf(add_way(ways, "now"),
              "kubectl debug -it POD --target=CONTAINER --image=IMAGE \\\n"
              "--profile=%s -- wallspy -p %s\n"
              "# IMAGE: has wallspy, and runs as root",
              profile, written(pid).s);
}

/* Pod Security looks at debug containers, too.  Source: kubernetes.io, Pod Security Standards. */
static void add_pod_ways(const struct attach_check *c, const char *profile,
                         struct attach_ways *ways)
{
    if (c->container.pod_security != POD_PRIVILEGED)
        text_add(add_way(ways, "first"),
                 "kubectl label namespace NAMESPACE --overwrite \\\n"
                 "pod-security.kubernetes.io/enforce=privileged\n"
                 "# Pod Security baseline and restricted refuse what follows");
    add_debug_container(ways, c->pid, profile);
    text_add(add_way(ways, "next time"), "securityContext: {capabilities: {add: [SYS_PTRACE]}}");
}

/* Returns the line, for more words. */
static struct text *add_sudo(const struct attach_check *c, struct attach_ways *ways)
{
    struct text *line = add_way(ways, "with root");
    text_addf(line, "sudo wallspy -p %s", written(c->pid).s);
    if (c->no_new_privs)
        text_add(line, ", from a shell without no_new_privs");
    return line;
}

static void add_capability_ways(const struct attach_check *c, const char *command,
                                struct attach_ways *ways)
{
    (void)command;
    const char *engine = container_name(c->container.kind);
    if (c->container.kind == CONTAINER_KUBERNETES) {
        add_pod_ways(c, "general", ways);
    } else if (c->container.kind) {
        bool root_has_it = c->container.grantable && c->caller != 0;
        text_addf(add_way(ways, "now"), "%s exec -u 0%s CONTAINER wallspy -p %s", engine,
                  root_has_it ? "" : " --privileged", written(c->pid).s);
        if (!root_has_it)
            text_addf(add_way(ways, "next time"), "%s run --cap-add=SYS_PTRACE ...", engine);
    } else if (c->caller == 0) {
        text_add(add_way(ways, "container"),
                 "docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug "
                 "container with SYS_PTRACE that shares the pid namespace");
    } else {
        (void)add_sudo(c, ways);
    }
}

static void add_user_ways(const struct attach_check *c, const char *command,
                          struct attach_ways *ways)
{
    if (c->container.kind == CONTAINER_KUBERNETES)
        text_addf(add_way(ways, "its user"), "securityContext: {runAsUser: %u}%s", c->owner,
                  c->owner ? "    # Pod Security allows it" : "");
    else if (c->container.kind)
        text_addf(add_way(ways, "its user"), "%s exec -u %u CONTAINER wallspy -p %s",
                  container_name(c->container.kind), c->owner, written(c->pid).s);
    add_capability_ways(c, command, ways);
}

/* The engines' own filters (RuntimeDefault) allow ptrace(2) with the capability, and newer ones to
 * all on kernels from 4.8 on.  Source: moby profiles/seccomp, containerd contrib/seccomp. */
static void add_seccomp_ways(const struct attach_check *c, const char *command,
                             struct attach_ways *ways)
{
    (void)command;
    if (c->container.kind == CONTAINER_KUBERNETES) {
        if (c->container.pod_security != POD_PRIVILEGED)
            text_add(add_way(ways, "next time"),
                     "securityContext: {seccompProfile: {type: RuntimeDefault}}\n"
                     "# Pod Security allows it");
        add_pod_ways(c, "sysadmin", ways);
    } else if (c->container.kind) {
        text_add(add_way(ways, "now"), "on the host: sudo wallspy -p N    # N: its number there");
        text_addf(add_way(ways, "next time"), "%s run --cap-add=SYS_PTRACE ...",
                  container_name(c->container.kind));
    } else {
        text_add(add_way(ways, ""),
                 "docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug container "
                 "with SYS_PTRACE that shares the pid namespace");
    }
}

static void add_yama_ways(const struct attach_check *c, const char *command,
                          struct attach_ways *ways)
{
    if (c->yama_scope == 0) {
        text_addf(add_way(ways, "next time"), "wallspy -- %s", command);
        text_add(add_way(ways, "now"), "run wallspy outside of that sandbox");
    } else if (c->yama_scope == 1) {
        text_addf(add_way(ways, "next time"), "wallspy standby -- %s", command);
        text_add(add_way(ways, "in Python"),
                 "import ctypes; ctypes.CDLL(None).prctl(0x59616d61,\n"
                 "ctypes.c_ulong(-1))    (this process, not its children)");
    }
    if (c->yama_scope == 1 || c->yama_scope == 2)
        add_capability_ways(c, command, ways);
}

static void add_unseen_ways(const struct attach_check *c, const char *command,
                            struct attach_ways *ways)
{
    (void)command;
    if (c->namesake)
        text_addf(add_way(ways, "now"), "wallspy -p %d", c->namesake);
    else if (c->container.kind == CONTAINER_KUBERNETES)
        text_add(add_way(ways, "next time"),
                 "shareProcessNamespace: true    # in the pod's spec, to see\n"
                 "# the processes of its other containers");
    else if (c->container.kind)
        text_addf(add_way(ways, "next time"),
                  "%s run --pid=container:OTHER ...\n# to see another container's processes",
                  container_name(c->container.kind));
}

static void add_gvisor_ways(const struct attach_check *c, const char *command,
                            struct attach_ways *ways)
{
    (void)command;
    if (c->container.kind == CONTAINER_KUBERNETES)
        text_add(add_way(ways, "next time"),
                 "leave out runtimeClassName: gvisor in the pod's spec");
    else
        text_addf(add_way(ways, "next time"), "%s run --runtime=runc ...",
                  c->container.kind ? container_name(c->container.kind) : "docker");
}

static void add_namespace_ways(const struct attach_check *c, const char *command,
                               struct attach_ways *ways)
{
    (void)command;
    text_add(add_way(ways, "now"),
             "run wallspy in its container (docker exec, podman exec, kubectl exec)");
    text_add(add_sudo(c, ways),
             c->container.user_namespace ? ", outside of this container or sandbox" : "");
}

static void add_tracer_ways(const struct attach_check *c, const char *command,
                            struct attach_ways *ways)
{
    (void)command;
    text_addf(add_way(ways, "now"), "let %s (pid %d) detach, or end it",
              *c->tracer_comm ? c->tracer_comm : "the tracer", c->tracer);
}

static void add_shell_ways(const struct attach_check *c, const char *command,
                           struct attach_ways *ways)
{
    (void)c, (void)command;
    text_add(add_way(ways, "now"), "start wallspy from another shell");
}

static void add_mount_ways(const struct attach_check *c, const char *command,
                           struct attach_ways *ways)
{
    (void)c, (void)command;
    text_add(add_way(ways, "now"), "mount -t proc proc /proc");
}

/* ---- causes ---- */

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
    const char *way = c->caller == 0    ? "Needs CAP_SYS_PTRACE."
                      : c->no_new_privs ? "Ask its owner: sudo has no effect here (no_new_privs)."
                                        : "Ask its owner, or use sudo.";
    text_addf(cause, ", you are uid %u. %s", c->caller, way);
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

static void add_refused(const struct attach_check *c, struct text *cause)
{
    text_addf(cause,
              "cannot attach to %d: the kernel refuses, and /proc does not say why (its "
              "owner hidden by hidepid, another user namespace, a capability that it "
              "has and you lack). Needs CAP_SYS_PTRACE.",
              c->pid);
}

static void add_old_kernel(const struct attach_check *c, struct text *cause)
{
    text_addf(cause, "wallspy needs Linux 4.18 or newer; this is Linux %s.", c->kernel);
}

static void add_our_tracer(const struct attach_check *c, struct text *cause)
{
    text_addf(cause,
              "cannot attach to %d: %s traces wallspy itself, and each would wait for the other.",
              c->pid, c->comm);
}

static void add_traced(const struct attach_check *c, struct text *cause)
{
    text_addf(cause, "cannot attach to %d: %s (pid %d) is tracing it. A process has one tracer.",
              c->pid, *c->tracer_comm ? c->tracer_comm : "a process", c->tracer);
}

/* ---- the table ---- */

static const struct obstacle {
    const char *name, *missing;
    const char *cause; /* its conversions, if any, are of the pid and comm, in this order */
    void (*add_cause)(const struct attach_check *c, struct text *cause); /* NULL: CAUSE is it */
    void (*add_ways)(const struct attach_check *c, const char *command,
                     struct attach_ways *ways); /* NULL: there is none */
    bool needs_ways;                            /* the cause alone does not say what to do */
} obstacles[] = {
    [ATTACH_OK] = {.name = "none", .missing = "nothing", .cause = "nothing"},
    [ATTACH_OLD_KERNEL] = {.name = "old-kernel",
                           .missing = "Linux 4.18 or newer",
                           .add_cause = add_old_kernel},
    [ATTACH_GVISOR] = {.name = "gvisor",
                       .missing = "a kernel that has /proc/PID/syscall",
                       .cause = "this container runs on gVisor, which has no /proc/PID/syscall: "
                                "wallspy cannot tell what is blocked.",
                       .add_ways = add_gvisor_ways,
                       .needs_ways = true},
    [ATTACH_NO_PROCESS] = {.name = "no-process",
                           .missing = "a process of that number, as seen from here",
                           .add_cause = add_unseen,
                           .add_ways = add_unseen_ways},
    [ATTACH_ZOMBIE] = {.name = "ended",
                       .missing = "a process that has not ended",
                       .add_cause = add_ended},
    [ATTACH_KERNEL_THREAD] = {.name = "kernel-thread",
                              .missing = "a process that runs a program",
                              .cause = "%d (%s) is a thread of the kernel: it runs no program to "
                                       "sample."},
    [ATTACH_SELF] = {.name = "self",
                     .missing = "another process",
                     .cause = "%d is wallspy itself."},
    [ATTACH_OUR_TRACER] = {.name = "our-tracer",
                           .missing = "a wallspy that it does not trace",
                           .add_cause = add_our_tracer,
                           .add_ways = add_shell_ways},
    [ATTACH_OTHER_PROC] = {.name = "other-proc",
                           .missing = "the /proc of this pid namespace",
                           .cause = "/proc here is not that of this pid namespace, so its numbers "
                                    "are those of other processes. First: mount -t proc proc "
                                    "/proc",
                           .add_ways = add_mount_ways},
    [ATTACH_OTHER_USER] = {.name = "other-user",
                           .missing = "CAP_SYS_PTRACE, or that user's id",
                           .add_cause = add_other_user,
                           .add_ways = add_user_ways},
    [ATTACH_NOT_DUMPABLE] = {.name = "not-dumpable",
                             .missing = "CAP_SYS_PTRACE",
                             .cause = "cannot attach to %d: it is not dumpable (set-uid, or "
                                      "prctl(PR_SET_DUMPABLE, 0)). Needs CAP_SYS_PTRACE.",
                             .add_ways = add_capability_ways},
    [ATTACH_MORE_CAPABILITIES] = {.name = "more-capabilities",
                                  .missing = "CAP_SYS_PTRACE, or its capabilities",
                                  .cause = "cannot attach to %d (%s): it has capabilities that "
                                           "wallspy lacks. Needs CAP_SYS_PTRACE.",
                                  .add_ways = add_capability_ways},
    [ATTACH_TRACED] = {.name = "traced",
                       .missing = "the one place for a tracer",
                       .add_cause = add_traced,
                       .add_ways = add_tracer_ways},
    [ATTACH_USER_NAMESPACE] = {.name = "user-namespace",
                               .missing = "CAP_SYS_PTRACE in its user namespace",
                               .cause = "cannot attach to %d (%s): it is in another user "
                                        "namespace, in which wallspy has no capabilities.",
                               .add_ways = add_namespace_ways,
                               .needs_ways = true},
    [ATTACH_YAMA] = {.name = "yama",
                     .missing = "CAP_SYS_PTRACE",
                     .add_cause = add_yama_cause,
                     .add_ways = add_yama_ways,
                     .needs_ways = true},
    [ATTACH_SECCOMP] = {.name = "seccomp",
                        .missing = "permission to call ptrace(2)",
                        .cause = "ptrace is blocked here by a seccomp filter (container).",
                        .add_ways = add_seccomp_ways,
                        .needs_ways = true},
    [ATTACH_NO_PTRACE] = {.name = "no-ptrace",
                          .missing = "an x86-64 machine",
                          .cause = "this system has no ptrace(2): it emulates x86-64, as Docker "
                                   "does on an ARM machine. wallspy needs an x86-64 machine."},
    [ATTACH_32_BIT] = {.name = "32-bit",
                       .missing = "a 64-bit program",
                       .cause = "%d (%s) is a 32-bit program; wallspy samples 64-bit ones."},
    [ATTACH_NO_SYSCALL_FILE] = {.name = "no-syscall-file",
                                .missing = "a kernel that has /proc/PID/syscall",
                                .cause = "this system has no /proc/%d/syscall, without which "
                                         "wallspy cannot tell what is blocked."},
    [ATTACH_UNREADABLE] = {.name = "unreadable",
                           .missing = "a /proc that wallspy may read",
                           .add_cause = add_unseen},
    [ATTACH_REFUSED] = {.name = "refused",
                        .missing = "CAP_SYS_PTRACE",
                        .add_cause = add_refused,
                        .add_ways = add_capability_ways},
};

void attach_add_cause(const struct attach_check *c, struct text *out)
{
    const struct obstacle *obstacle = &obstacles[c->obstacle];
    assert(c->obstacle != ATTACH_OK);
    if (obstacle->add_cause)
        obstacle->add_cause(c, out);
    else
        text_addf(out, obstacle->cause, c->pid, c->comm);
}

const char *attach_obstacle_name(enum attach_obstacle obstacle)
{
    return obstacles[obstacle].name;
}

const char *attach_missing(const struct attach_check *c)
{
    static const char *const of_yama[] = {
        "a place outside of that sandbox", "CAP_SYS_PTRACE, or the process's permission",
        "CAP_SYS_PTRACE", "a boot with a lower kernel.yama.ptrace_scope"};
    assert(c->yama_scope >= 0 && c->yama_scope <= 3);
    return c->obstacle == ATTACH_YAMA ? of_yama[c->yama_scope] : obstacles[c->obstacle].missing;
}

void attach_find_ways(const struct attach_check *c, const char *command, struct attach_ways *ret)
{
    const struct obstacle *obstacle = &obstacles[c->obstacle];
    *ret = (struct attach_ways){0};
    if (obstacle->add_ways)
        obstacle->add_ways(c, command ? command : c->comm, ret);
}

void attach_ways_release(struct attach_ways *ways)
{
    for (size_t i = 0; i < ways->n; i++)
        text_release(&ways->items[i].line);
    *ways = (struct attach_ways){0};
}

void attach_add_way(const char *when, const char *line, struct text *out)
{
    int indent = *when ? WAY_COLUMNS : 2;
    text_addf(out, "\n  %-*s", indent - 2, when);
    for (const char *s = line; *s;) {
        size_t len = strcspn(s, "\n");
        struct text part = {0};
        text_add_bytes(&part, s, len);
        (void)text_add_wrapped(out, part.s ? part.s : "", (size_t)indent, (size_t)indent, WIDTH);
        text_release(&part);
        s += len + (s[len] == '\n');
        if (*s)
            text_addf(out, "\n%*s", indent, "");
    }
}

void attach_check_explain(const struct attach_check *c, const char *command, struct text *out)
{
    struct text cause = {0};
    struct attach_ways ways;
    attach_add_cause(c, &cause);
    (void)text_add_wrapped(out, cause.s, PREFIX_COLUMNS, 0, WIDTH);
    text_release(&cause);
    attach_find_ways(c, command, &ways);
    for (size_t i = 0; obstacles[c->obstacle].needs_ways && i < ways.n; i++)
        attach_add_way(ways.items[i].when, ways.items[i].line.s, out);
    attach_ways_release(&ways);
}
