#include "arch/syscalls.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/support/check_main.h"

START_TEST(calls_have_their_names)
{
    static const struct {
        int64_t number;
        const char *name;
    } cases[] = {{SYS_read, "read"},
                 {SYS_futex, "futex"},
                 {SYS_ioctl, "ioctl"},
                 {SYS_clock_nanosleep, "clock_nanosleep"},
                 {SYS_epoll_pwait2, "epoll_pwait2"},
                 {SYS_restart_syscall, "restart_syscall"},
                 {SYS_rseq, "rseq"},
                 {424, "pidfd_send_signal"},
                 {455, "futex_wait"},
                 {470, "listns"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(syscall_name(cases[i].number), cases[i].name);
}
END_TEST

static const uint64_t none[6];

START_TEST(unknown_numbers_are_nothing)
{
    static const int64_t unknown[] = {-1, -2, 337, 423, 471, 1 << 30, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        ck_assert_ptr_null(syscall_name(unknown[i]));
        ck_assert(!syscall_takes_fd(unknown[i]));
        ck_assert(!syscall_needs_repair(unknown[i], none));
        ck_assert(!syscall_restarts_cleanly(unknown[i]));
    }
}
END_TEST

/* A server that gives up for an interruption may have made the file. */
START_TEST(who_makes_a_file_is_left_alone)
{
    static const uint64_t lock[6] = {3, O_CREAT | O_EXCL, O_CREAT | O_EXCL};
    static const uint64_t log[6] = {3, O_CREAT | O_WRONLY, O_CREAT | O_WRONLY};
    ck_assert(!syscall_needs_repair(SYS_open, lock) && syscall_needs_repair(SYS_open, log));
    ck_assert(!syscall_needs_repair(SYS_openat, lock) && syscall_needs_repair(SYS_openat, log));
    ck_assert(!syscall_needs_repair(437, log));
}
END_TEST

START_TEST(flags_say_what_a_stop_does)
{
    ck_assert(syscall_takes_fd(SYS_ioctl) && !syscall_takes_fd(SYS_futex));
    static const uint64_t collapses[6] = {0, 8};
    ck_assert(syscall_needs_repair(SYS_fallocate, none));
    ck_assert(!syscall_needs_repair(SYS_fallocate, collapses));
    ck_assert_int_eq(syscall_path_argument(SYS_stat), 0);
    ck_assert_int_eq(syscall_path_argument(SYS_openat), 1);
    ck_assert_int_eq(syscall_path_argument(SYS_read), -1);
    ck_assert_int_eq(syscall_flow(SYS_accept4), FLOW_IN);
    ck_assert_int_eq(syscall_flow(SYS_connect), FLOW_OUT);
    ck_assert_int_eq(syscall_flow(SYS_poll), FLOW_NONE);
    ck_assert(syscall_needs_repair(SYS_epoll_wait, none) && syscall_needs_repair(SYS_semop, none));
    ck_assert(syscall_needs_repair(SYS_execve, none) && !syscall_restarts_cleanly(SYS_execve));
    ck_assert(!syscall_needs_repair(SYS_close, none) && !syscall_restarts_cleanly(SYS_close));
    ck_assert(syscall_restarts_cleanly(SYS_futex) && !syscall_needs_repair(SYS_futex, none));
    ck_assert(!syscall_restarts_cleanly(SYS_epoll_wait));
    ck_assert(syscall_has_restart_block(SYS_poll) && syscall_has_restart_block(SYS_futex));
    ck_assert(!syscall_has_restart_block(SYS_ppoll) && !syscall_has_restart_block(SYS_read));
    ck_assert(syscall_only_waits(SYS_futex) && syscall_only_waits(SYS_clock_nanosleep));
    ck_assert(!syscall_only_waits(SYS_read) && !syscall_only_waits(SYS_epoll_wait) &&
              !syscall_only_waits(-1));
}
END_TEST

START_TEST(less_than_asked_is_cut)
{
    static const struct {
        int64_t number;
        uint64_t args[6];
        int64_t result;
        bool cut;
    } cases[] = {
        {SYS_write, {1, 0, 100}, 99, true},
        {SYS_write, {1, 0, 100}, 100, false},
        {SYS_write, {1, 0, 100}, -4, false},
        {SYS_write, {1, 0, 100}, 0, false},
        {SYS_write, {1, 0, UINT64_MAX}, INT64_MAX, true},
        {SYS_sendto, {1, 0, 100, 0}, 60, true},
        {SYS_sendto, {1, 0, 100, MSG_DONTWAIT}, 60, false},
        {SYS_recvfrom, {1, 0, 100, MSG_WAITALL}, 60, true},
        {SYS_recvfrom, {1, 0, 100, 0}, 60, false},
        {SYS_recvmmsg, {1, 0, 8, 0, 0}, 3, true},
        {SYS_recvmmsg, {1, 0, 8, MSG_WAITFORONE, 0}, 3, false},
        {SYS_recvmmsg, {1, 0, 8, 0, 4096}, 3, false},
        {SYS_getrandom, {0, 100, 0}, 60, true},
        {SYS_read, {1, 0, 100}, 60, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(syscall_was_cut(cases[i].number, cases[i].args, cases[i].result),
                         cases[i].cut);
}
END_TEST

CHECK_MAIN("syscalls", 20, calls_have_their_names, unknown_numbers_are_nothing,
           who_makes_a_file_is_left_alone, flags_say_what_a_stop_does, less_than_asked_is_cut)
