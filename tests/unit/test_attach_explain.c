/* The words of the messages.  tests/cli shows that each cause is found. */
#include <string.h>

#include "base/text.h"
#include "target/attach_check.h"
#include "tests/support/check_main.h"

static const struct {
    struct attach_check check;
    const char *message;
} cases[] = {
    {{.obstacle = ATTACH_YAMA, .pid = 1234, .comm = "python", .yama_scope = 1, .caller = 1000},
     "cannot attach to 1234 (python): Yama's ptrace_scope is 1 and it is\n"
     "not a child of wallspy.\n"
     "  next time  wallspy standby -- python train.py\n"
     "  in Python  import ctypes; ctypes.CDLL(None).prctl(0x59616d61,\n"
     "             ctypes.c_ulong(-1))    (this process, not its children)\n"
     "  with root  sudo wallspy -p 1234"},
    {{.obstacle = ATTACH_YAMA, .pid = 1, .comm = "x", .yama_scope = 2, .caller = 1000},
     "cannot attach to 1 (x): Yama's ptrace_scope is 2: only root may\n"
     "attach.\n"
     "  with root  sudo wallspy -p 1"},
    {{.obstacle = ATTACH_YAMA, .pid = 1, .yama_scope = 2, .caller = 1000, .no_new_privs = true},
     "cannot attach to 1 (): Yama's ptrace_scope is 2: only root may\n"
     "attach.\n"
     "  with root  sudo wallspy -p 1, from a shell without no_new_privs"},
    {{.obstacle = ATTACH_OTHER_USER,
      .pid = 1,
      .owner_name = "NAME",
      .caller = 1003,
      .no_new_privs = true},
     "cannot attach to 1: it belongs to NAME (uid 0), you are uid 1003.\n"
     "Ask its owner: sudo has no effect here (no_new_privs)."},
    {{.obstacle = ATTACH_YAMA, .pid = 1, .comm = "x", .yama_scope = 2, .caller = 0},
     "cannot attach to 1 (x): Yama's ptrace_scope is 2: only root may\n"
     "attach.\n"
     "  container  docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug\n"
     "             container with SYS_PTRACE that shares the pid namespace"},
    {{.obstacle = ATTACH_YAMA, .pid = 1, .comm = "x", .yama_scope = 3, .caller = 1000},
     "cannot attach to 1 (x): Yama's ptrace_scope is 3: nobody may attach\n"
     "before the next boot."},
    {{.obstacle = ATTACH_YAMA, .pid = 1, .comm = "x", .yama_scope = 0, .caller = 1000},
     "cannot attach to 1 (x): a sandbox (Landlock or another security\n"
     "module) lets wallspy look at its own children only.\n"
     "  next time  wallspy -- python train.py\n"
     "  now        run wallspy outside of that sandbox"},
    {{.obstacle = ATTACH_OTHER_USER,
      .pid = 1234,
      .owner = 1007,
      .caller = 1003,
      .owner_name = "NAME"},
     "cannot attach to 1234: it belongs to NAME (uid 1007), you are uid\n"
     "1003. Ask its owner, or use sudo."},
    {{.obstacle = ATTACH_TRACED, .pid = 1234, .tracer = 880, .tracer_comm = "gdb"},
     "cannot attach to 1234: gdb (pid 880) is tracing it. A process has\n"
     "one tracer."},
    {{.obstacle = ATTACH_NOT_DUMPABLE, .pid = 1234},
     "cannot attach to 1234: it is not dumpable (set-uid, or\n"
     "prctl(PR_SET_DUMPABLE, 0)). Needs CAP_SYS_PTRACE."},
    {{.obstacle = ATTACH_SECCOMP, .pid = 1234},
     "ptrace is blocked here by a seccomp filter (container).\n"
     "  docker --cap-add=SYS_PTRACE; kubernetes: an ephemeral debug container with\n"
     "  SYS_PTRACE that shares the pid namespace"},
    {{.obstacle = ATTACH_USER_NAMESPACE, .pid = 1234, .comm = "python", .caller = 1000},
     "cannot attach to 1234 (python): it is in another user namespace, in\n"
     "which wallspy has no capabilities.\n"
     "  now        run wallspy in its container (docker exec, podman exec, kubectl\n"
     "             exec)\n"
     "  with root  sudo wallspy -p 1234"},
    {{.obstacle = ATTACH_GVISOR, .pid = 1234},
     "this container runs on gVisor, which has no /proc/PID/syscall:\n"
     "wallspy cannot tell what is blocked.\n"
     "  next time  docker run --runtime=runc ..."},
    {{.obstacle = ATTACH_NO_PTRACE, .pid = 1234},
     "this system has no ptrace(2): it emulates x86-64, as Docker does on\n"
     "an ARM machine. wallspy needs an x86-64 machine."},
    {{.obstacle = ATTACH_OUR_TRACER, .pid = 1234, .comm = "strace"},
     "cannot attach to 1234: strace traces wallspy itself, and each would\n"
     "wait for the other."},
    {{.obstacle = ATTACH_OTHER_PROC, .pid = 1234},
     "/proc here is not that of this pid namespace, so its numbers are\n"
     "those of other processes. First: mount -t proc proc /proc"},
    {{.obstacle = ATTACH_NO_PROCESS, .pid = 1234, .namesake = 48213},
     "1234: no such process. (In that container it may be 48213 here.)"},
    {{.obstacle = ATTACH_NO_PROCESS, .pid = 1234}, "1234: no such process."},
    {{.obstacle = ATTACH_OLD_KERNEL, .pid = 1234, .kernel = "4.15.0-213-generic"},
     "wallspy needs Linux 4.18 or newer; this is Linux 4.15.0-213-generic."},
    {{.obstacle = ATTACH_KERNEL_THREAD, .pid = 2, .comm = "kthreadd"},
     "2 (kthreadd) is a thread of the kernel: it runs no program to\n"
     "sample."},
};

START_TEST(messages_are_as_promised)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text t = {0};
        attach_check_explain(&cases[i].check, "python train.py", &t);
        ck_assert_str_eq(t.s, cases[i].message);
        text_release(&t);
    }
}
END_TEST

static void check_width(const char *s)
{
    for (const char *line = s; *line; line += strcspn(line, "\n"), line += *line == '\n')
        ck_assert_msg(strcspn(line, "\n") <= 79, "%s", s);
}

static void check_ways(const struct attach_check *c)
{
    struct attach_ways ways;
    struct text t = {0};
    attach_find_ways(c, NULL, &ways);
    for (size_t i = 0; i < ways.n; i++) {
        ck_assert_uint_gt(ways.items[i].line.len, 0);
        attach_add_way(ways.items[i].when, ways.items[i].line.s, &t);
    }
    if (t.len)
        check_width(t.s);
    text_release(&t);
    attach_ways_release(&ways);
}

START_TEST(ways_fit_in_every_container)
{
    struct attach_check c = {.owner = 4294967294, .comm = "WWWWWWWWWWWWWWW"};
    for (int o = ATTACH_OK + 1; o <= ATTACH_REFUSED; o++)
        for (unsigned i = 0; i < CONTAINER_KINDS * 3 * 4; i++) {
            c.obstacle = (enum attach_obstacle)o;
            c.container.kind = (enum container_kind)(i % CONTAINER_KINDS);
            c.container.pod_security = (enum pod_security)(i / CONTAINER_KINDS % 3);
            c.yama_scope = (int)(i / CONTAINER_KINDS / 3);
            c.caller = i % 2 ? 0 : 1000;
            c.pid = i % 2 ? 4194304 : 0;
            check_ways(&c);
        }
}
END_TEST

START_TEST(what_is_missing_has_a_name)
{
    for (int o = ATTACH_OK + 1; o <= ATTACH_REFUSED; o++) {
        const struct attach_check c = {.obstacle = (enum attach_obstacle)o};
        ck_assert_uint_gt(strlen(attach_missing(&c)), 4);
        for (int other = ATTACH_OK; other < o; other++)
            ck_assert_str_ne(attach_obstacle_name(c.obstacle),
                             attach_obstacle_name((enum attach_obstacle)other));
    }
}
END_TEST

START_TEST(every_obstacle_has_a_text_that_fits)
{
    for (int o = ATTACH_OK + 1; o <= ATTACH_REFUSED; o++) {
        struct attach_check c = {.obstacle = (enum attach_obstacle)o, .pid = 4194304};
        memset(c.comm, 'W', sizeof c.comm - 1);
        struct text t = {0};
        text_add(&t, "wallspy: ");
        attach_check_explain(&c, NULL, &t);
        check_width(t.s);
        text_release(&t);
    }
}
END_TEST

CHECK_MAIN("attach_explain", 20, messages_are_as_promised, ways_fit_in_every_container,
           what_is_missing_has_a_name, every_obstacle_has_a_text_that_fits)
