/* fcntl(2), flock(2): the holder of the lock.  Every holder shows the lock in a fdinfo of its own.
 * /proc/locks names the process that took it, which is looked at first.  That may have ended, while
 * a child that inherited the descriptor goes on: then all processes are.
 * Source: fcntl_locking(2), flock(2), proc_pid_fdinfo(5), proc_locks(5). */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/bytes.h"
#include "base/text.h"
#include "waits/peer_find.h"

enum { MOST_LOCKS = 64, LOCK_INFO_BYTES = 16 * 1024, FLOCK_KINDS = 3 /* LOCK_SH | LOCK_EX */ };
enum { MOST_LINES = 1024, LINE_BYTES = 256 }; /* of /proc/locks: with more nobody is found there */
enum { MOST_LINKS = 4096 };                   /* descriptors of a process that are looked at */

/* The lock that the thread waits for. */
struct wanted_lock {
    bool by_flock, write;
    pid_t owner;         /* of a POSIX lock: those of this process are in nobody's way */
    uint64_t start, end; /* END is part of it */
    struct descriptor_file file;
};

/* `struct flock` of x86-64: l_type 0, l_whence 2, l_start 8, l_len 16.  Only ranges from the file's
 * start are known. */
static bool read_range(const struct peer_wait *w, struct wanted_lock *ret)
{
    enum { BYTES = 24, START = 8, LEN = 16 };
    uint8_t bytes[BYTES];
    int16_t kind[2];
    if (mem_read(w->live, w->args[2], bytes, sizeof bytes) < 0)
        return false;
    memcpy(kind, bytes, sizeof kind);
    int64_t start = (int64_t)get_u64(bytes + START);
    int64_t len = (int64_t)get_u64(bytes + LEN);
    ret->write = kind[0] == F_WRLCK;
    ret->start = (uint64_t)start;
    ret->end = len ? (uint64_t)start + (uint64_t)len - 1 : UINT64_MAX;
    return (kind[0] == F_WRLCK || kind[0] == F_RDLCK) && kind[1] == SEEK_SET && start >= 0 &&
           len >= 0;
}

static bool which_lock(const struct peer_wait *w, struct wanted_lock *ret)
{
    *ret = (struct wanted_lock){.by_flock = w->number == SYS_flock, .end = UINT64_MAX};
    if (!descriptor_find_file(w->pid, w->args[0], &ret->file))
        return false;
    if (!ret->by_flock) {
        ret->owner = w->args[1] == F_SETLKW ? w->pid : 0;
        return (w->args[1] == F_SETLKW || w->args[1] == F_OFD_SETLKW) && read_range(w, ret);
    }
    ret->write = (w->args[1] & FLOCK_KINDS) == LOCK_EX;
    return ret->write || (w->args[1] & FLOCK_KINDS) == LOCK_SH;
}

static bool is_in_the_way(const struct file_lock *lock, const struct wanted_lock *wanted)
{
    return lock->inode == wanted->file.inode &&
           (lock->kind == FILE_LOCK_FLOCK) == wanted->by_flock && (lock->write || wanted->write) &&
           lock->start <= wanted->end && lock->end >= wanted->start;
}

/* Does USER's descriptor have a lock that the thread has to wait for? */
static bool has_lock(const struct fd_user *user, const void *ctx)
{
    const struct wanted_lock *wanted = ctx;
    char info[LOCK_INFO_BYTES];
    struct file_lock locks[MOST_LOCKS];
    struct descriptor_file file;
    if (user->pid == wanted->owner || !descriptor_find_file(user->pid, user->fd, &file) ||
        !descriptor_same_file(&file, &wanted->file) ||
        descriptor_read_info(user->pid, user->fd, info, sizeof info) < 0)
        return false;
    size_t n = descriptor_locks(info, locks, MOST_LOCKS);
    for (size_t i = 0; i < n; i++)
        if (is_in_the_way(&locks[i], wanted))
            return true;
    return false;
}

/* Finds the descriptor by which process PID has the lock, among those that lead to LINK. */
static bool find_in_process(pid_t pid, const char *link, const struct wanted_lock *wanted,
                            struct fd_user *ret)
{
    char path[32];
    char at[DESCRIPTOR_LINK_BYTES];
    const struct dirent *entry;
    int64_t fd;
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    for (size_t n = 0; dir && !found && n < MOST_LINKS && (entry = readdir(dir)); n++) {
        if (parse_whole_i64(entry->d_name, 0, INT_MAX, &fd) < 0)
            continue;
        *ret = (struct fd_user){.link = fd_scan_key(link), .pid = pid, .fd = (uint64_t)fd};
        descriptor_read_link(pid, ret->fd, at);
        found = str_eq(at, link) && has_lock(ret, wanted);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* What the kernel's table of all locks says of a wait. */
struct takers {
    struct peer_users users; /* that took the lock in its way, and have it still */
    bool unknown;            /* somebody else has one, or the table says too little */
};

/* The table is in the order of the CPUs on which locks were taken: fs/locks.c, locks_start(). */
static void insert_by_pid(struct peer_users *users, const struct fd_user *user)
{
    size_t i = users->n++;
    for (; i && users->first[i - 1].pid > user->pid; i--)
        users->first[i] = users->first[i - 1];
    users->first[i] = *user;
}

static void add_taker(const struct peer_wait *w, const struct wanted_lock *wanted,
                      const struct file_lock *lock, struct takers *ret)
{
    struct fd_user user;
    if (!is_in_the_way(lock, wanted))
        return;
    for (size_t i = 0; i < ret->users.n; i++)
        if (ret->users.first[i].pid == lock->taker)
            return;
    bool has = lock->taker > 0 && lock->taker != w->pid && ret->users.n < MOST_NAMED_USERS &&
               find_in_process(lock->taker, w->link, wanted, &user);
    if (has)
        insert_by_pid(&ret->users, &user);
    ret->unknown |= !has;
}

static struct takers read_takers(const struct peer_wait *w, const struct wanted_lock *wanted)
{
    char line[LINE_BYTES];
    struct file_lock lock;
    struct takers ret = {.unknown = false};
    FILE *file = fopen("/proc/locks", "re");
    size_t n = 0;
    for (; file && n < MOST_LINES && fgets(line, sizeof line, file); n++)
        if (descriptor_parse_lock(line, line + strcspn(line, "\n"), &lock))
            add_taker(w, wanted, &lock, &ret);
    ret.unknown |= !file || n == MOST_LINES;
    if (file)
        (void)fclose(file);
    return ret;
}

/* Does the kernel's table lack the locks whose taker has ended?  Such a process has no number in a
 * container.  Source: fs/locks.c, locks_translate_pid(); include/linux/proc_ns.h. */
static bool table_lacks_some(void)
{
    static const ino_t first_pid_namespace = 0xEFFFFFFC;
    struct stat ours;
    return stat("/proc/self/ns/pid", &ours) < 0 || ours.st_ino != first_pid_namespace;
}

/* The processes that took the lock and have it still: a short wait is over before all processes
 * have been looked at.  A lock that changed hands meanwhile is no reason to do that, as far as the
 * table can tell.  False: they have to be. */
static bool find_takers(const struct peer_wait *w, const struct wanted_lock *wanted,
                        struct peer_users *ret)
{
    struct takers takers = read_takers(w, wanted);
    if (takers.unknown)
        takers = read_takers(w, wanted);
    *ret = takers.users;
    bool may_lack_it = !takers.users.n && !w->over && table_lacks_some();
    return !takers.unknown && !may_lack_it;
}

/* If the thread's own descriptor has the lock already, and wants to change it, all processes that
 * inherited the descriptor show it, too: the one in the way is unknown.  A POSIX lock is shown by
 * its owner alone (fs/locks.c, __show_fd_locks()). */
static bool has_one_itself(const struct peer_wait *w)
{
    char info[LOCK_INFO_BYTES];
    struct file_lock lock;
    return descriptor_read_info(w->pid, w->args[0], info, sizeof info) < 0 ||
           descriptor_locks(info, &lock, 1) > 0;
}

void peer_find_lock(struct peer_looks *l, const struct peer_wait *w, struct peer_answer *ret)
{
    struct wanted_lock wanted;
    struct peer_users users = {0};
    uint64_t inode;
    if (descriptor_parse_link(w->link, &inode) != DESCRIPTOR_FILE || !which_lock(w, &wanted))
        return;
    if ((wanted.owner || !has_one_itself(w)) && !find_takers(w, &wanted, &users))
        ret->later = !peer_users_find(l, w, w->link, has_lock, &wanted, &users);
    if (ret->later)
        return;
    ret->side.thing = THING_FILE_LOCK;
    peer_users_answer(l, &users, ret);
}
