#include "target/attach_check.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "arch/machine.h"
#include "base/text.h"
#include "target/host.h"
#include "target/proc.h"
#include "target/user_name.h"

enum {
    TASK_IS_KERNEL_THREAD = 0x00200000, /* PF_KTHREAD, include/linux/sched.h */
    CAPABILITY_SYS_PTRACE = 19,         /* linux/capability.h */
    REQUEST_INTERRUPT = 0x4207,         /* PTRACE_INTERRUPT */
};

/* COMM for a message: a name may hold line ends, and orders to a terminal. */
static void copy_tame(char *ret, const char *comm)
{
    struct text tame = {0};
    text_add_tame(&tame, comm, strlen(comm));
    (void)snprintf(ret, TASK_COMM_BYTES, "%s", tame.len ? tame.s : "");
    text_release(&tame);
}

static void copy_comm(pid_t pid, char *ret)
{
    struct task_stat stat;
    if (proc_stat(pid, 0, &stat) == 0)
        copy_tame(ret, stat.comm);
}

/* A process that calls itself NUMBER inside its pid namespace; 0: none. */
static pid_t find_namesake(pid_t number)
{
    DIR *dir = opendir("/proc");
    if (!dir)
        return 0;
    pid_t found = 0;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        int64_t pid = 0;
        struct task_status status;
        if (parse_whole_i64(entry->d_name, 1, INT32_MAX, &pid) == 0 &&
            proc_status((pid_t)pid, 0, &status) == 0 && status.ns_tid == number)
            found = (pid_t)pid;
    }
    closedir(dir);
    return found;
}

static void count_task(void *ctx, pid_t tid)
{
    (void)tid;
    ++*(int *)ctx;
}

static bool is_32_bit(pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/exe", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    unsigned char ident[EI_NIDENT] = {0};
    ssize_t n = pread(fd, ident, sizeof ident, 0);
    close(fd);
    return n == (ssize_t)sizeof ident && memcmp(ident, ELFMAG, SELFMAG) == 0 &&
           ident[EI_CLASS] == ELFCLASS32;
}

/* Whether the call itself is refused, or not there.  No process has the id 0, so that the kernel's
 * own answer is ESRCH, and nothing is traced (which is sampler/'s alone).  A seccomp filter may say
 * ENOSYS, too, as podman's. */
static enum attach_obstacle check_ptrace(void)
{
    if (syscall(SYS_ptrace, REQUEST_INTERRUPT, 0, 0, 0) >= 0 || errno == ESRCH)
        return ATTACH_OK;
    return errno == ENOSYS && machine_is_emulated() ? ATTACH_NO_PTRACE : ATTACH_SECCOMP;
}

static bool has_ptrace_capability(void)
{
    struct task_status status;
    return proc_status(getpid(), 0, &status) == 0 &&
           status.effective & UINT64_C(1) << CAPABILITY_SYS_PTRACE;
}

/* A service with AmbientCapabilities= of systemd's (security/commoncap.c,
 * cap_ptrace_access_check()). */
static bool has_more_capabilities(const struct task_status *target)
{
    struct task_status own;
    return proc_status(getpid(), 0, &own) == 0 && target->permitted & ~own.permitted;
}

/* The kernel gives the files of a process that is not dumpable to root (fs/proc/base.c
 * task_dump_owner). */
static bool is_dumpable(pid_t pid, uid_t euid)
{
    char path[64];
    struct stat st;
    (void)snprintf(path, sizeof path, "/proc/%d/mem", pid);
    return stat(path, &st) != 0 || st.st_uid == euid;
}

int attach_yama_scope(void)
{
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    char digit = '0';
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, &digit, 1);
    close(fd);
    return n == 1 && digit >= '0' && digit <= '3' ? digit - '0' : 0;
}

/* Is PID in another user namespace than wallspy?  Its own maps may be read by anybody, and are
 * shown as seen from the reader's namespace. */
static bool is_other_user_namespace(pid_t pid)
{
    char own[PROC_TEXT_BYTES];
    char its[PROC_TEXT_BYTES];
    return proc_read_text(getpid(), 0, "uid_map", own, sizeof own) >= 0 &&
           proc_read_text(pid, 0, "uid_map", its, sizeof its) >= 0 && !str_eq(own, its);
}

/* Why the kernel forbids an attach to process C->pid.  A refusal to attach that allows reading
 * (PTRACE_MODE_READ) can only be Yama's.  The causes that forbid both are in the order of the
 * kernel's checks. */
static enum attach_obstacle find_refusal(struct attach_check *c, const struct task_status *status)
{
    char exe[2];
    int scope = attach_yama_scope();
    c->yama_scope = scope > 0 ? scope : 0;
    if (proc_read_link(c->pid, "exe", exe, sizeof exe) == 0)
        return c->yama_scope ? ATTACH_YAMA : ATTACH_REFUSED;
    bool capable = has_ptrace_capability();
    if (!capable && status->uid != c->caller) {
        user_name(status->uid, c->owner_name);
        return ATTACH_OTHER_USER;
    }
    if (is_other_user_namespace(c->pid))
        return ATTACH_USER_NAMESPACE;
    if (!capable && (status->euid != c->caller || status->suid != c->caller ||
                     status->egid != status->gid || !is_dumpable(c->pid, status->euid)))
        return ATTACH_NOT_DUMPABLE;
    if (!capable && has_more_capabilities(status))
        return ATTACH_MORE_CAPABILITIES;
    if (!capable && c->caller == 0)
        return ATTACH_REFUSED;
    c->yama_scope = 0;
    return ATTACH_YAMA;
}

/* Reading /proc/PID/syscall takes the permission that attaching takes (PTRACE_MODE_ATTACH). */
static enum attach_obstacle check_permission(struct attach_check *c,
                                             const struct task_status *status)
{
    char buf[PROC_TEXT_BYTES];
    ssize_t n = proc_read_text(c->pid, 0, "syscall", buf, sizeof buf);
    if (n == -EPERM || n == -EACCES)
        return find_refusal(c, status);
    if (n == -ENOENT)
        return ATTACH_NO_SYSCALL_FILE;
    if (n == -ESRCH)
        return ATTACH_NO_PROCESS;
    if (status->tracer) {
        c->tracer = status->tracer;
        copy_comm(c->tracer, c->tracer_comm);
        return ATTACH_TRACED;
    }
    return ATTACH_OK;
}

/* Held, it would not let us go on to release it. */
static bool traces_us(pid_t pid)
{
    enum { MAX_TRACERS = 16 }; /* of one another */
    struct task_status status;
    pid_t traced = getpid();
    for (int i = 0; i < MAX_TRACERS && proc_status(traced, 0, &status) == 0 && status.tracer; i++) {
        if (proc_status(status.tracer, 0, &status) < 0)
            return false;
        traced = status.tgid;
        if (traced == pid)
            return true;
    }
    return false;
}

/* A /proc mounted for another pid namespace has other processes by the same numbers. */
static bool is_other_proc(void)
{
    char self[16];
    char wanted[16];
    (void)snprintf(wanted, sizeof wanted, "%d", getpid());
    ssize_t n = readlink("/proc/self", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    return !str_eq(self, wanted);
}

static enum attach_obstacle check_process(struct attach_check *c, const struct task_status *status)
{
    struct task_stat stat;
    if (proc_stat(c->pid, 0, &stat) < 0)
        return ATTACH_NO_PROCESS;
    copy_tame(c->comm, stat.comm);
    if (stat.state == 'Z' || stat.state == 'X') {
        int tasks = 0;
        (void)proc_each_task(c->pid, count_task, &tasks);
        c->threads_live = tasks > 1;
        return ATTACH_ZOMBIE;
    }
    if (stat.flags & TASK_IS_KERNEL_THREAD)
        return ATTACH_KERNEL_THREAD;
    if (c->pid == getpid())
        return ATTACH_SELF;
    if (traces_us(c->pid))
        return ATTACH_OUR_TRACER;
    if (is_32_bit(c->pid))
        return ATTACH_32_BIT;
    enum attach_obstacle obstacle = check_ptrace();
    return obstacle ? obstacle : check_permission(c, status);
}

/* Did reading /proc/PID fail because there is no such process, or it is hidden? */
static bool is_unseen(int r)
{
    return r == -ENOENT || r == -ESRCH || r == -EPERM || r == -EACCES;
}

static bool is_old_kernel(struct attach_check *c)
{
    struct utsname name;
    if (uname(&name) != 0 || !host_kernel_is_old(name.release))
        return false;
    (void)snprintf(c->kernel, sizeof c->kernel, "%.*s", KERNEL_BYTES - 1, name.release);
    return true;
}

/* May this be how gVisor lacks what wallspy needs?  It has no /proc/PID/syscall, fewer lines in
 * /proc/PID/status, and the release of an older Linux. */
static bool may_be_gvisors(enum attach_obstacle obstacle)
{
    return obstacle == ATTACH_OLD_KERNEL || obstacle == ATTACH_UNREADABLE ||
           obstacle == ATTACH_SECCOMP || obstacle == ATTACH_NO_SYSCALL_FILE ||
           obstacle == ATTACH_REFUSED;
}

static void find_obstacle(struct attach_check *ret, pid_t number)
{
    struct task_status status;
    if (is_old_kernel(ret)) {
        ret->obstacle = ATTACH_OLD_KERNEL;
        return;
    }
    if (is_other_proc()) {
        ret->obstacle = ATTACH_OTHER_PROC;
        return;
    }
    int r = proc_status(number, 0, &status);
    if (r < 0 && !is_unseen(r)) {
        ret->error = -r;
        ret->obstacle = ATTACH_UNREADABLE;
        return;
    }
    if (r < 0) {
        /* hidepid hides the directory, not the process. */
        bool hidden = kill(number, 0) == 0 || errno == EPERM;
        ret->obstacle = hidden ? ATTACH_REFUSED : ATTACH_NO_PROCESS;
        if (!hidden)
            ret->namesake = find_namesake(number);
        return;
    }
    if (status.tgid != number) {
        ret->asked_is_thread = true;
        ret->pid = status.tgid;
        copy_comm(number, ret->thread_comm);
        if (proc_status(status.tgid, 0, &status) < 0) {
            ret->obstacle = ATTACH_NO_PROCESS;
            return;
        }
    }
    ret->owner = status.uid;
    ret->obstacle = check_process(ret, &status);
}

void attach_check(struct attach_check *ret, pid_t number)
{
    *ret = (struct attach_check){.pid = number,
                                 .caller = getuid(),
                                 .no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1};
    find_obstacle(ret, number);
    if (may_be_gvisors(ret->obstacle) && container_is_gvisor())
        ret->obstacle = ATTACH_GVISOR;
}
