/* A file descriptor of another process, as /proc shows it.  Parsers are pure and take text.
 * Source: proc_pid_fd(5), proc_pid_fdinfo(5); Documentation/filesystems/proc.rst 3.8. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { DESCRIPTOR_LINK_BYTES = 512, FDINFO_BYTES = 64 * 1024 };

enum descriptor_kind {
    DESCRIPTOR_OTHER,
    DESCRIPTOR_FILE, /* a path: a file, a FIFO or a device */
    DESCRIPTOR_PIPE,
    DESCRIPTOR_SOCKET,
    DESCRIPTOR_EPOLL,
    DESCRIPTOR_EVENTFD,
    DESCRIPTOR_TIMERFD,
    DESCRIPTOR_SIGNALFD,
    DESCRIPTOR_INOTIFY,
    DESCRIPTOR_PIDFD,
};
/* LINK: NUL-terminated.  RET_INODE: of a pipe or a socket, else 0. */
enum descriptor_kind descriptor_parse_link(const char *link, uint64_t *ret_inode);
/* The link of PID's descriptor FD, NUL-terminated; "": it has none, or a longer one. */
void descriptor_read_link(pid_t pid, uint64_t fd, char ret[DESCRIPTOR_LINK_BYTES]);
/* The file that PID's descriptor FD leads to, as this machine knows it: no file server is asked,
 * because it may not answer. */
struct descriptor_file {
    uint32_t device_major, device_minor;
    uint64_t inode;
    bool fifo;
};
bool descriptor_find_file(pid_t pid, uint64_t fd, struct descriptor_file *ret);
bool descriptor_same_file(const struct descriptor_file *a, const struct descriptor_file *b);
/* Reads the descriptor's fdinfo, NUL-terminated and cut at CAPACITY.  Returns its length or a
 * negative errno. */
ssize_t descriptor_read_info(pid_t pid, uint64_t fd, char *ret, size_t capacity);

/* ---- of the text of a fdinfo ---- */

/* Its O_ACCMODE; −1: INFO has none. */
int descriptor_access(const char *info);
/* The process of a pidfd, in the pid namespace of /proc; 0: none, or it has ended. */
pid_t descriptor_pidfd(const char *info);

/* One item of an epoll: descriptor FD of its process, while that leads to INODE. */
struct epoll_item {
    uint64_t fd, inode;
    uint32_t events; /* EPOLLIN… */
};
/* Fills RET with the first MOST items.  Returns how many there are. */
size_t descriptor_epoll_items(const char *info, struct epoll_item *ret, size_t most);
/* All items in one number, which is the same for as long as they are; 0: INFO has none. */
uint64_t descriptor_epoll_key(const char *info);

enum file_lock_kind { FILE_LOCK_POSIX, FILE_LOCK_OPEN_FILE, FILE_LOCK_FLOCK };
/* A lock that the process has by this descriptor. */
struct file_lock {
    enum file_lock_kind kind;
    bool write;
    pid_t taker;                /* the process that took it; below 1: unknown */
    uint64_t inode, start, end; /* END is part of it; UINT64_MAX: to the file's end */
};
size_t descriptor_locks(const char *info, struct file_lock *ret, size_t most);
/* The same of a line of /proc/locks, [AT, END).  False: it is of none, or of one that waits. */
bool descriptor_parse_lock(const char *at, const char *end, struct file_lock *ret);
