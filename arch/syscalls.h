/* System calls by number: names, and what an interruption does to them.
 * Source: signal(7); docs/interrupted-calls.md. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Calls that newer machines have not: numbers that no call has. */
#ifndef SYS_poll
enum { SYS_poll = -1001, SYS_select = -1002, SYS_epoll_wait = -1003, SYS_open = -1004 };
#endif

const char *syscall_name(int64_t number); /* "futex"; NULL if unknown */
/* Its first argument is a file descriptor, so that naming the object helps. */
bool syscall_takes_fd(int64_t number);
/* Which of its arguments is the address of a path that it looks up: 0; 1 where the argument before
 * is the folder's descriptor; −1: none. */
int syscall_path_argument(int64_t number);
enum syscall_flow { FLOW_NONE, FLOW_IN, FLOW_OUT };
/* Does it wait to take something from its descriptor (a connection, too), or to pass something on
 * by it?  None: neither is known of it. */
enum syscall_flow syscall_flow(int64_t number);
/* Is it poll or ppoll? */
bool syscall_polls(int64_t number);
/* Does a poll or a select with ARGS list no descriptor, so that only time or a signal ends it? */
bool syscall_polls_nothing(int64_t number, const uint64_t args[6]);
/* A stop makes it return EINTR to the program although no signal was sent; rax may be set to
 * −ERESTARTNOHAND to have it restarted, with the same ARGS. */
bool syscall_needs_repair(int64_t number, const uint64_t args[6]);
/* A stop is not seen by the program: the kernel restarts it with the remaining time. */
bool syscall_restarts_cleanly(int64_t number);
/* Of those: interrupted, it goes on as restart_syscall(2), which a seccomp filter may not allow. */
bool syscall_has_restart_block(int64_t number);
/* Does the call, which restarts cleanly, do nothing while it blocks that a stop could undo?  A
 * call that takes a file descriptor may ask a server (FUSE, NFS), which begins anew. */
bool syscall_only_waits(int64_t number);
/* Does the call wait, or do I/O?  A thread that waits for a CPU in it most likely was woken
 * there. */
bool syscall_mostly_sleeps(int64_t number);
/* Does a stop restart it even when its time-out is over?  The kernel asks for signals before it
 * looks at the time (do_poll() and do_select() in fs/select.c, wq_sleep() in ipc/mqueue.c): the
 * restart does not say that the thread slept. */
bool syscall_restarts_late(int64_t number);
/* Did it return (RESULT) with less done than ARGS asked for, as it may after a stop?  False where
 * that is unknown, or as the program asked. */
bool syscall_was_cut(int64_t number, const uint64_t args[6], int64_t result);
