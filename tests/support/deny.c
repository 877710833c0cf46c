/* Runs a command that may not do something, to see how wallspy reports it.
 *   deny call=ERRNO[,call=ERRNO…] CMD…   those system calls fail (seccomp)
 *   deny sandbox CMD…                    CMD may look at its own children only (a Landlock domain),
 *                                        as under Yama's ptrace_scope 1
 * Exits 77, "skipped", where the kernel has no Landlock. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SKIPPED = 77, MAX_INSTRUCTIONS = 32 };

struct word {
    const char *name;
    unsigned value;
};
static const struct word calls[] = {
    {"ptrace", SYS_ptrace},       {"process_vm_readv", SYS_process_vm_readv},
    {"fsync", SYS_fsync},         {"rename", SYS_rename},
    {"renameat2", SYS_renameat2}, {"link", SYS_link},
    {"eventfd2", SYS_eventfd2}};
static const struct word errors[] = {{"EPERM", EPERM},   {"EACCES", EACCES}, {"ENOSYS", ENOSYS},
                                     {"EINVAL", EINVAL}, {"EIO", EIO},       {"EROFS", EROFS}};

static void die(const char *what)
{
    (void)fprintf(stderr, "deny: %s: %s\n", what, strerror(errno));
    exit(errno == ENOSYS || errno == EOPNOTSUPP ? SKIPPED : EXIT_FAILURE);
}

static unsigned find(const struct word *words, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].name, name) == 0)
            return words[i].value;
    errno = EINVAL;
    die(name);
    return 0;
}

static void filter_calls(char *list)
{
    struct sock_filter code[MAX_INSTRUCTIONS] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short n = 1;
    for (char *call; (call = strsep(&list, ",")) && n + 3 < MAX_INSTRUCTIONS;) {
        const char *name = strsep(&call, "=");
        unsigned number = find(calls, sizeof calls / sizeof *calls, name);
        unsigned error = find(errors, sizeof errors / sizeof *errors, call ? call : "");
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        die("seccomp");
}

/* A domain that forbids next to nothing in the file system; that it is one restricts ptrace
 * (Documentation/userspace-api/landlock.rst "Ptrace restrictions"). */
static void enter_sandbox(void)
{
    struct landlock_ruleset_attr rules = {.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) != 0)
        die("landlock");
    close(fd);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fprintf(stderr, "usage: deny sandbox|call=ERRNO,... CMD...\n");
        return EXIT_FAILURE;
    }
    /* LeakSanitizer looks for leaks by ptrace(2). */
    (void)setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        die("no_new_privs");
    if (strcmp(argv[1], "sandbox") == 0)
        enter_sandbox();
    else
        filter_calls(argv[1]);
    (void)execvp(argv[2], argv + 2);
    die(argv[2]);
}
