/* The table of system calls; see syscalls.h.  Names up to Linux 6.19.  The flags were found by
 * stopping threads blocked in each call (docs/interrupted-calls.md).  A call that was not tried
 * has none.  The exceptions are calls that look up or read files: a file system like FUSE may
 * interrupt them as it does read. */
#include "arch/syscalls.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum {
    FD = 1 << 0,     /* the first argument is a file descriptor */
    REPAIR = 1 << 1, /* may return EINTR after a stop, with nothing done */
    CLEAN = 1 << 2,  /* restarted by the kernel with the remaining time */
    BLOCK = 1 << 3,  /* by way of restart_syscall(2) */
    LATE = 1 << 4,   /* restarted also at the end of its time-out */
    IN = 1 << 5,     /* waits until there is something to take from its descriptor */
    OUT = 1 << 6,    /* waits for room in what its descriptor leads to, or for the other end */
    PATH = 1 << 7,   /* the first argument is a file's path */
    AT = 1 << 8,     /* the first is a folder's descriptor, or AT_FDCWD, the second a path in it */
};

static const struct call {
    const char *name;
    unsigned flags;
} calls[] = {
    [0] = {"read", FD | IN | REPAIR | CLEAN},
    [1] = {"write", FD | OUT | REPAIR},
    [2] = {"open", PATH | REPAIR},
    [3] = {"close", FD},
    [4] = {"stat", PATH | REPAIR},
    [5] = {"fstat", FD | REPAIR},
    [6] = {"lstat", PATH | REPAIR},
    [7] = {"poll", CLEAN | BLOCK | LATE},
    [8] = {"lseek", FD},
    [9] = {"mmap", 0},
    [10] = {"mprotect", 0},
    [11] = {"munmap", 0},
    [12] = {"brk", 0},
    [13] = {"rt_sigaction", 0},
    [14] = {"rt_sigprocmask", 0},
    [15] = {"rt_sigreturn", 0},
    [16] = {"ioctl", FD},
    [17] = {"pread64", FD | REPAIR},
    [18] = {"pwrite64", FD | REPAIR},
    [19] = {"readv", FD | IN | REPAIR | CLEAN},
    [20] = {"writev", FD | OUT | REPAIR},
    [21] = {"access", PATH | REPAIR},
    [22] = {"pipe", 0},
    [23] = {"select", REPAIR | CLEAN | LATE},
    [24] = {"sched_yield", 0},
    [25] = {"mremap", 0},
    [26] = {"msync", 0},
    [27] = {"mincore", 0},
    [28] = {"madvise", 0},
    [29] = {"shmget", 0},
    [30] = {"shmat", 0},
    [31] = {"shmctl", 0},
    [32] = {"dup", FD},
    [33] = {"dup2", FD},
    [34] = {"pause", CLEAN},
    [35] = {"nanosleep", CLEAN | BLOCK},
    [36] = {"getitimer", 0},
    [37] = {"alarm", 0},
    [38] = {"setitimer", 0},
    [39] = {"getpid", 0},
    [40] = {"sendfile", FD | OUT | REPAIR},
    [41] = {"socket", 0},
    [42] = {"connect", FD | OUT | REPAIR},
    [43] = {"accept", FD | IN | REPAIR},
    [44] = {"sendto", FD | OUT | REPAIR},
    [45] = {"recvfrom", FD | IN | REPAIR},
    [46] = {"sendmsg", FD | OUT | REPAIR},
    [47] = {"recvmsg", FD | IN | REPAIR},
    [48] = {"shutdown", FD},
    [49] = {"bind", FD},
    [50] = {"listen", FD},
    [51] = {"getsockname", FD},
    [52] = {"getpeername", FD},
    [53] = {"socketpair", 0},
    [54] = {"setsockopt", FD},
    [55] = {"getsockopt", FD},
    [56] = {"clone", 0},
    [57] = {"fork", 0},
    [58] = {"vfork", 0},
    [59] = {"execve", REPAIR},
    [60] = {"exit", 0},
    [61] = {"wait4", CLEAN},
    [62] = {"kill", 0},
    [63] = {"uname", 0},
    [64] = {"semget", 0},
    [65] = {"semop", REPAIR},
    [66] = {"semctl", 0},
    [67] = {"shmdt", 0},
    [68] = {"msgget", 0},
    [69] = {"msgsnd", 0},
    [70] = {"msgrcv", CLEAN},
    [71] = {"msgctl", 0},
    [72] = {"fcntl", FD | CLEAN},
    [73] = {"flock", FD | CLEAN},
    [74] = {"fsync", FD | REPAIR},
    [75] = {"fdatasync", FD | REPAIR},
    [76] = {"truncate", PATH},
    [77] = {"ftruncate", FD},
    [78] = {"getdents", FD | REPAIR},
    [79] = {"getcwd", 0},
    [80] = {"chdir", PATH},
    [81] = {"fchdir", FD},
    [82] = {"rename", PATH},
    [83] = {"mkdir", PATH},
    [84] = {"rmdir", PATH},
    [85] = {"creat", PATH},
    [86] = {"link", PATH},
    [87] = {"unlink", PATH},
    [88] = {"symlink", 0},
    [89] = {"readlink", PATH | REPAIR},
    [90] = {"chmod", PATH},
    [91] = {"fchmod", FD},
    [92] = {"chown", PATH},
    [93] = {"fchown", FD},
    [94] = {"lchown", PATH},
    [95] = {"umask", 0},
    [96] = {"gettimeofday", 0},
    [97] = {"getrlimit", 0},
    [98] = {"getrusage", 0},
    [99] = {"sysinfo", 0},
    [100] = {"times", 0},
    [101] = {"ptrace", 0},
    [102] = {"getuid", 0},
    [103] = {"syslog", 0},
    [104] = {"getgid", 0},
    [105] = {"setuid", 0},
    [106] = {"setgid", 0},
    [107] = {"geteuid", 0},
    [108] = {"getegid", 0},
    [109] = {"setpgid", 0},
    [110] = {"getppid", 0},
    [111] = {"getpgrp", 0},
    [112] = {"setsid", 0},
    [113] = {"setreuid", 0},
    [114] = {"setregid", 0},
    [115] = {"getgroups", 0},
    [116] = {"setgroups", 0},
    [117] = {"setresuid", 0},
    [118] = {"getresuid", 0},
    [119] = {"setresgid", 0},
    [120] = {"getresgid", 0},
    [121] = {"getpgid", 0},
    [122] = {"setfsuid", 0},
    [123] = {"setfsgid", 0},
    [124] = {"getsid", 0},
    [125] = {"capget", 0},
    [126] = {"capset", 0},
    [127] = {"rt_sigpending", 0},
    [128] = {"rt_sigtimedwait", REPAIR},
    [129] = {"rt_sigqueueinfo", 0},
    [130] = {"rt_sigsuspend", CLEAN},
    [131] = {"sigaltstack", 0},
    [132] = {"utime", PATH},
    [133] = {"mknod", PATH},
    [134] = {"uselib", 0},
    [135] = {"personality", 0},
    [136] = {"ustat", 0},
    [137] = {"statfs", PATH},
    [138] = {"fstatfs", FD},
    [139] = {"sysfs", 0},
    [140] = {"getpriority", 0},
    [141] = {"setpriority", 0},
    [142] = {"sched_setparam", 0},
    [143] = {"sched_getparam", 0},
    [144] = {"sched_setscheduler", 0},
    [145] = {"sched_getscheduler", 0},
    [146] = {"sched_get_priority_max", 0},
    [147] = {"sched_get_priority_min", 0},
    [148] = {"sched_rr_get_interval", 0},
    [149] = {"mlock", 0},
    [150] = {"munlock", 0},
    [151] = {"mlockall", 0},
    [152] = {"munlockall", 0},
    [153] = {"vhangup", 0},
    [154] = {"modify_ldt", 0},
    [155] = {"pivot_root", 0},
    [156] = {"_sysctl", 0},
    [157] = {"prctl", 0},
    [158] = {"arch_prctl", 0},
    [159] = {"adjtimex", 0},
    [160] = {"setrlimit", 0},
    [161] = {"chroot", 0},
    [162] = {"sync", 0},
    [163] = {"acct", 0},
    [164] = {"settimeofday", 0},
    [165] = {"mount", 0},
    [166] = {"umount2", 0},
    [167] = {"swapon", 0},
    [168] = {"swapoff", 0},
    [169] = {"reboot", 0},
    [170] = {"sethostname", 0},
    [171] = {"setdomainname", 0},
    [172] = {"iopl", 0},
    [173] = {"ioperm", 0},
    [174] = {"create_module", 0},
    [175] = {"init_module", 0},
    [176] = {"delete_module", 0},
    [177] = {"get_kernel_syms", 0},
    [178] = {"query_module", 0},
    [179] = {"quotactl", 0},
    [180] = {"nfsservctl", 0},
    [181] = {"getpmsg", 0},
    [182] = {"putpmsg", 0},
    [183] = {"afs_syscall", 0},
    [184] = {"tuxcall", 0},
    [185] = {"security", 0},
    [186] = {"gettid", 0},
    [187] = {"readahead", FD},
    [188] = {"setxattr", PATH},
    [189] = {"lsetxattr", PATH},
    [190] = {"fsetxattr", FD},
    [191] = {"getxattr", PATH},
    [192] = {"lgetxattr", PATH},
    [193] = {"fgetxattr", FD},
    [194] = {"listxattr", PATH},
    [195] = {"llistxattr", PATH},
    [196] = {"flistxattr", FD},
    [197] = {"removexattr", PATH},
    [198] = {"lremovexattr", PATH},
    [199] = {"fremovexattr", FD},
    [200] = {"tkill", 0},
    [201] = {"time", 0},
    [202] = {"futex", CLEAN | BLOCK},
    [203] = {"sched_setaffinity", 0},
    [204] = {"sched_getaffinity", 0},
    [205] = {"set_thread_area", 0},
    [206] = {"io_setup", 0},
    [207] = {"io_destroy", 0},
    [208] = {"io_getevents", REPAIR},
    [209] = {"io_submit", 0},
    [210] = {"io_cancel", 0},
    [211] = {"get_thread_area", 0},
    [212] = {"lookup_dcookie", 0},
    [213] = {"epoll_create", 0},
    [214] = {"epoll_ctl_old", 0},
    [215] = {"epoll_wait_old", 0},
    [216] = {"remap_file_pages", 0},
    [217] = {"getdents64", FD | REPAIR},
    [218] = {"set_tid_address", 0},
    [219] = {"restart_syscall", CLEAN | BLOCK},
    [220] = {"semtimedop", REPAIR},
    [221] = {"fadvise64", FD},
    [222] = {"timer_create", 0},
    [223] = {"timer_settime", 0},
    [224] = {"timer_gettime", 0},
    [225] = {"timer_getoverrun", 0},
    [226] = {"timer_delete", 0},
    [227] = {"clock_settime", 0},
    [228] = {"clock_gettime", 0},
    [229] = {"clock_getres", 0},
    [230] = {"clock_nanosleep", CLEAN | BLOCK},
    [231] = {"exit_group", 0},
    [232] = {"epoll_wait", FD | REPAIR},
    [233] = {"epoll_ctl", FD},
    [234] = {"tgkill", 0},
    [235] = {"utimes", PATH},
    [236] = {"vserver", 0},
    [237] = {"mbind", 0},
    [238] = {"set_mempolicy", 0},
    [239] = {"get_mempolicy", 0},
    [240] = {"mq_open", 0},
    [241] = {"mq_unlink", 0},
    [242] = {"mq_timedsend", FD | CLEAN | LATE},
    [243] = {"mq_timedreceive", FD | CLEAN | LATE},
    [244] = {"mq_notify", FD},
    [245] = {"mq_getsetattr", FD},
    [246] = {"kexec_load", 0},
    [247] = {"waitid", CLEAN},
    [248] = {"add_key", 0},
    [249] = {"request_key", 0},
    [250] = {"keyctl", 0},
    [251] = {"ioprio_set", 0},
    [252] = {"ioprio_get", 0},
    [253] = {"inotify_init", 0},
    [254] = {"inotify_add_watch", FD},
    [255] = {"inotify_rm_watch", FD},
    [256] = {"migrate_pages", 0},
    [257] = {"openat", AT | REPAIR},
    [258] = {"mkdirat", AT},
    [259] = {"mknodat", AT},
    [260] = {"fchownat", AT},
    [261] = {"futimesat", AT},
    [262] = {"newfstatat", AT | REPAIR},
    [263] = {"unlinkat", AT},
    [264] = {"renameat", AT},
    [265] = {"linkat", AT},
    [266] = {"symlinkat", 0},
    [267] = {"readlinkat", AT | REPAIR},
    [268] = {"fchmodat", AT},
    [269] = {"faccessat", AT | REPAIR},
    [270] = {"pselect6", REPAIR | CLEAN | LATE},
    [271] = {"ppoll", REPAIR | CLEAN | LATE},
    [272] = {"unshare", 0},
    [273] = {"set_robust_list", 0},
    [274] = {"get_robust_list", 0},
    [275] = {"splice", FD | REPAIR},
    [276] = {"tee", FD},
    [277] = {"sync_file_range", FD},
    [278] = {"vmsplice", FD},
    [279] = {"move_pages", 0},
    [280] = {"utimensat", AT},
    [281] = {"epoll_pwait", FD | REPAIR},
    [282] = {"signalfd", FD},
    [283] = {"timerfd_create", 0},
    [284] = {"eventfd", 0},
    [285] = {"fallocate", FD | REPAIR},
    [286] = {"timerfd_settime", FD},
    [287] = {"timerfd_gettime", FD},
    [288] = {"accept4", FD | IN | REPAIR},
    [289] = {"signalfd4", FD},
    [290] = {"eventfd2", 0},
    [291] = {"epoll_create1", 0},
    [292] = {"dup3", FD},
    [293] = {"pipe2", 0},
    [294] = {"inotify_init1", 0},
    [295] = {"preadv", FD | REPAIR},
    [296] = {"pwritev", FD | REPAIR},
    [297] = {"rt_tgsigqueueinfo", 0},
    [298] = {"perf_event_open", 0},
    [299] = {"recvmmsg", FD | IN | REPAIR | CLEAN},
    [300] = {"fanotify_init", 0},
    [301] = {"fanotify_mark", 0},
    [302] = {"prlimit64", 0},
    [303] = {"name_to_handle_at", 0},
    [304] = {"open_by_handle_at", 0},
    [305] = {"clock_adjtime", 0},
    [306] = {"syncfs", FD},
    [307] = {"sendmmsg", FD | OUT | REPAIR},
    [308] = {"setns", FD},
    [309] = {"getcpu", 0},
    [310] = {"process_vm_readv", 0},
    [311] = {"process_vm_writev", 0},
    [312] = {"kcmp", 0},
    [313] = {"finit_module", FD},
    [314] = {"sched_setattr", 0},
    [315] = {"sched_getattr", 0},
    [316] = {"renameat2", AT},
    [317] = {"seccomp", 0},
    [318] = {"getrandom", 0},
    [319] = {"memfd_create", 0},
    [320] = {"kexec_file_load", 0},
    [321] = {"bpf", 0},
    [322] = {"execveat", REPAIR},
    [323] = {"userfaultfd", 0},
    [324] = {"membarrier", 0},
    [325] = {"mlock2", 0},
    [326] = {"copy_file_range", FD | REPAIR},
    [327] = {"preadv2", FD | IN | REPAIR},
    [328] = {"pwritev2", FD | OUT | REPAIR},
    [329] = {"pkey_mprotect", 0},
    [330] = {"pkey_alloc", 0},
    [331] = {"pkey_free", 0},
    [332] = {"statx", AT | REPAIR},
    [333] = {"io_pgetevents", 0},
    [334] = {"rseq", 0},
    [335] = {"uretprobe", 0},
    [336] = {"uprobe", 0},
    [424] = {"pidfd_send_signal", FD},
    [425] = {"io_uring_setup", 0},
    [426] = {"io_uring_enter", FD | REPAIR},
    [427] = {"io_uring_register", FD},
    [428] = {"open_tree", 0},
    [429] = {"move_mount", 0},
    [430] = {"fsopen", 0},
    [431] = {"fsconfig", FD},
    [432] = {"fsmount", FD},
    [433] = {"fspick", 0},
    [434] = {"pidfd_open", 0},
    [435] = {"clone3", 0},
    [436] = {"close_range", 0},
    [437] = {"openat2", AT}, /* whether it makes a file is in memory */
    [438] = {"pidfd_getfd", FD},
    [439] = {"faccessat2", AT | REPAIR},
    [440] = {"process_madvise", FD},
    [441] = {"epoll_pwait2", FD | REPAIR},
    [442] = {"mount_setattr", 0},
    [443] = {"quotactl_fd", FD},
    [444] = {"landlock_create_ruleset", 0},
    [445] = {"landlock_add_rule", FD},
    [446] = {"landlock_restrict_self", FD},
    [447] = {"memfd_secret", 0},
    [448] = {"process_mrelease", FD},
    [449] = {"futex_waitv", CLEAN},
    [450] = {"set_mempolicy_home_node", 0},
    [451] = {"cachestat", FD},
    [452] = {"fchmodat2", 0},
    [453] = {"map_shadow_stack", 0},
    [454] = {"futex_wake", 0},
    [455] = {"futex_wait", CLEAN},
    [456] = {"futex_requeue", 0},
    [457] = {"statmount", 0},
    [458] = {"listmount", 0},
    [459] = {"lsm_get_self_attr", 0},
    [460] = {"lsm_set_self_attr", 0},
    [461] = {"lsm_list_modules", 0},
    [462] = {"mseal", 0},
    [463] = {"setxattrat", 0},
    [464] = {"getxattrat", 0},
    [465] = {"listxattrat", 0},
    [466] = {"removexattrat", 0},
    [467] = {"open_tree_attr", 0},
    [468] = {"file_getattr", 0},
    [469] = {"file_setattr", 0},
    [470] = {"listns", 0},
};

static const struct call *find_call(int64_t number)
{
    static const struct call unknown = {NULL, 0};
    bool known = number >= 0 && number < (int64_t)(sizeof calls / sizeof *calls);
    return known ? &calls[number] : &unknown;
}

const char *syscall_name(int64_t number)
{
    return find_call(number)->name;
}

bool syscall_takes_fd(int64_t number)
{
    return find_call(number)->flags & FD;
}

int syscall_path_argument(int64_t number)
{
    unsigned flags = find_call(number)->flags;
    return flags & AT ? 1 : flags & PATH ? 0 : -1;
}

enum syscall_flow syscall_flow(int64_t number)
{
    unsigned flags = find_call(number)->flags;
    return flags & IN ? FLOW_IN : flags & OUT ? FLOW_OUT : FLOW_NONE;
}

bool syscall_polls(int64_t number)
{
    return number == SYS_poll || number == SYS_ppoll;
}

bool syscall_polls_nothing(int64_t number, const uint64_t args[6])
{
    if (syscall_polls(number))
        return !args[1];
    return (number == SYS_select || number == SYS_pselect6) &&
           (!args[0] || !(args[1] | args[2] | args[3]));
}

/* Once more, it would find its own file there. */
static bool makes_a_file(int64_t number, const uint64_t args[6])
{
    return (number == SYS_open && args[1] & O_EXCL) || (number == SYS_openat && args[2] & O_EXCL);
}

/* Does fallocate(2) move what lies behind its range?  Then it must not be done twice.  On tmpfs and
 * hugetlbfs one that is interrupted gives back what it has allocated, and fails (mm/shmem.c,
 * fs/hugetlbfs/inode.c; tmpfs not since 6.11). */
static bool moves_a_file(int64_t number, const uint64_t args[6])
{
    return number == SYS_fallocate && args[1] & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
}

bool syscall_needs_repair(int64_t number, const uint64_t args[6])
{
    return find_call(number)->flags & REPAIR && !makes_a_file(number, args) &&
           !moves_a_file(number, args);
}

bool syscall_restarts_cleanly(int64_t number)
{
    return find_call(number)->flags & CLEAN;
}

bool syscall_only_waits(int64_t number)
{
    return (find_call(number)->flags & (CLEAN | FD)) == CLEAN;
}

bool syscall_mostly_sleeps(int64_t number)
{
    return find_call(number)->flags & (CLEAN | FD);
}

bool syscall_has_restart_block(int64_t number)
{
    return find_call(number)->flags & BLOCK;
}

bool syscall_restarts_late(int64_t number)
{
    return find_call(number)->flags & LATE;
}

bool syscall_was_cut(int64_t number, const uint64_t args[6], int64_t result)
{
    uint64_t asked = 0;
    switch (number) {
    case SYS_write:
    case SYS_pwrite64:
        asked = args[2];
        break;
    case SYS_sendto:
        asked = args[3] & MSG_DONTWAIT ? 0 : args[2];
        break;
    case SYS_recvfrom:
        asked = args[3] & MSG_WAITALL ? args[2] : 0;
        break;
    case SYS_recvmmsg: /* a time-out cuts it, too */
        asked = args[3] & (MSG_DONTWAIT | MSG_WAITFORONE) || args[4] ? 0 : args[2];
        break;
    case SYS_getrandom:
        asked = args[1];
        break;
    default:
        break;
    }
    return result > 0 && (uint64_t)result < asked;
}
