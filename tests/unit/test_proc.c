#include "target/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/check_main.h"

START_TEST(schedstat_is_strict)
{
    struct schedstat s = {0};
    static const char good[] = "18446744073709551615 22 333\n";
    ck_assert_int_eq(schedstat_parse(good, sizeof good - 1, &s), 0);
    ck_assert_uint_eq(s.run_ns, UINT64_MAX);
    ck_assert_uint_eq(s.wait_ns, 22);
    ck_assert_uint_eq(s.runs, 333);
    static const char *const bad[] = {"",         "\n",       "1 2\n",
                                      "1 2 3",    "1 2 3 \n", "1 2 3\n\n",
                                      "1  2 3\n", "1 -2 3\n", "18446744073709551616 2 3\n",
                                      "a b c\n",  " 1 2 3\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(schedstat_parse(bad[i], strlen(bad[i]), &s) == -EPROTO, "%s", bad[i]);
    ck_assert_uint_eq(s.runs, 333);
}
END_TEST

START_TEST(syscall_has_three_forms)
{
    struct syscall_state s = {0};
    static const char running[] = "running\n";
    ck_assert_int_eq(syscall_state_parse(running, sizeof running - 1, &s), 0);
    ck_assert_int_eq(s.view, SYSCALL_RUNNING);

    static const char fault[] = "-1 0x7ffc0 0x7f01\n";
    ck_assert_int_eq(syscall_state_parse(fault, sizeof fault - 1, &s), 0);
    ck_assert_int_eq(s.view, SYSCALL_BLOCKED);
    ck_assert_int_eq(s.number, -1);
    ck_assert_uint_eq(s.sp, 0x7ffc0);
    ck_assert_uint_eq(s.pc, 0x7f01);

    static const char call[] = "202 0x1 0x2 0x3 0x4 0x5 0xffffffffffffffff 0x7ffc0 0x7f01\n";
    ck_assert_int_eq(syscall_state_parse(call, sizeof call - 1, &s), 0);
    ck_assert_int_eq(s.number, 202);
    ck_assert_uint_eq(s.args[0], 1);
    ck_assert_uint_eq(s.args[5], UINT64_MAX);
    ck_assert_uint_eq(s.pc, 0x7f01);

    static const char *const bad[] = {"",
                                      "running",
                                      "running \n",
                                      "run\n",
                                      "-2 0x1 0x2\n",
                                      "-1 0x1\n",
                                      "-1 1 2\n",
                                      "-1 0x1 0x2",
                                      "0 0x1 0x2\n",
                                      "1\n",
                                      "-1 0x1 0x2 0x3\n",
                                      "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7\n",
                                      "-1 0x 0x\n",
                                      "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x10000000000000000\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(syscall_state_parse(bad[i], strlen(bad[i]), &s) == -EPROTO, "%s", bad[i]);
    ck_assert_int_eq(s.number, 202);
}
END_TEST

#define STAT_TAIL " 7 34816 7 4194304 110 120 130 140 1 2 3 4 20 -5 1 0 555 9 8 7 6 5 140722 0 0\n"

START_TEST(stat_survives_any_name)
{
    static const struct {
        const char *text, *comm;
    } good[] = {
        {"12 (cat) S 3 7" STAT_TAIL, "cat"},
        {"12 (a b) c) R 1) S 3 7" STAT_TAIL, "a b) c) R 1"},
        {"12 () S 3 7" STAT_TAIL, ""},
        {"12 (new\nline) S 3 7" STAT_TAIL, "new\nline"},
        {"12 (kworker/u4:2-events_unbound) S 3 7" STAT_TAIL, "kworker/u4:2-ev"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct task_stat t = {0};
        ck_assert_int_eq(task_stat_parse(good[i].text, strlen(good[i].text), &t), 0);
        ck_assert_str_eq(t.comm, good[i].comm);
        ck_assert_int_eq(t.state, 'S');
        ck_assert_int_eq(t.ppid, 3);
        ck_assert_uint_eq(t.flags, 4194304);
        ck_assert_uint_eq(t.minor_faults, 110);
        ck_assert_uint_eq(t.major_faults, 130);
        ck_assert_uint_eq(t.user_ticks, 1);
        ck_assert_uint_eq(t.system_ticks, 2);
        ck_assert_uint_eq(t.children_ticks, 3 + 4);
        ck_assert_uint_eq(t.start_ticks, 555);
        ck_assert_uint_eq(t.stack_start, 140722);
    }
    static const char *const bad[] = {"",
                                      "12",
                                      "12 cat S 3",
                                      "12 (cat S 3",
                                      "12 (cat)",
                                      "12 (cat) ",
                                      "12 (cat) S 3 7 8\n",
                                      "x (cat) S 3 7" STAT_TAIL,
                                      "12 (cat) 5 3 7" STAT_TAIL,
                                      "12 (cat) S -3 7" STAT_TAIL,
                                      "12 (cat) S 99999999999 7" STAT_TAIL,
                                      "12 (cat) S  3 7" STAT_TAIL};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct task_stat t;
        ck_assert_msg(task_stat_parse(bad[i], strlen(bad[i]), &t) == -EPROTO, "%s", bad[i]);
    }
}
END_TEST

static const char status_text[] = "Name:\ta\\nTracerPid:\t9\n"
                                  "State:\tS (sleeping)\nTgid:\t11\nPid:\t12\nTracerPid:\t0\n"
                                  "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t4294967294\nNSpid:\t12\t8\t1\n"
                                  "CapPrm:\t0000000000080400\n"
                                  "CapEff:\t0000000000080000\n"
                                  "CapBnd:\t0000000000000400\nNoNewPrivs:\t1\n"
                                  "Seccomp:\t2\nSeccomp_filters:\t1\n"
                                  "voluntary_ctxt_switches:\t150\n"
                                  "nonvoluntary_ctxt_switches:\t545\n";

START_TEST(status_is_read)
{
    struct task_status t;
    ck_assert_int_eq(task_status_parse(status_text, sizeof status_text - 1, &t), 0);
    ck_assert_int_eq(t.state, 'S');
    ck_assert_int_eq(t.tgid, 11);
    ck_assert_int_eq(t.tracer, 0);
    ck_assert_int_eq(t.ns_tid, 1);
    ck_assert_uint_eq(t.bounding, 0x400);
    ck_assert(t.no_new_privs);
    ck_assert_uint_eq(t.uid, 1);
    ck_assert_uint_eq(t.euid, 2);
    ck_assert_uint_eq(t.suid, 3);
    ck_assert_uint_eq(t.gid, 5);
    ck_assert_uint_eq(t.sgid, 7);
    ck_assert_uint_eq(t.permitted, 0x80400);
    ck_assert_uint_eq(t.effective, 0x80000);
    ck_assert_int_eq(t.seccomp, 2);
    ck_assert_uint_eq(t.voluntary, 150);
    ck_assert_uint_eq(t.involuntary, 545);
    for (size_t len = 0; len < sizeof status_text - 1; len++)
        ck_assert_int_eq(task_status_parse(status_text, len, &t), -EPROTO);
}
END_TEST

/* STATUS_TEXT with its line KEY… replaced. */
static int parse_with(const char *key, const char *line, struct task_status *ret)
{
    struct text t = {0};
    const char *at = strstr(status_text, key);
    text_add_bytes(&t, status_text, (size_t)(at - status_text) + 1);
    text_add(&t, line);
    text_add(&t, strchr(at + 1, '\n') + 1);
    int r = task_status_parse(t.s, t.len, ret);
    text_release(&t);
    return r;
}

START_TEST(status_without_optional_or_with_broken_lines)
{
    struct task_status t;
    ck_assert_int_eq(parse_with("\nSeccomp:", "", &t), 0);
    ck_assert_int_eq(t.seccomp, -1);
    ck_assert_int_eq(parse_with("\nSeccomp:", "Seccomp:\t3\n", &t), 0); /* its filter killed it */
    ck_assert_int_eq(t.seccomp, 2);
    ck_assert_int_eq(parse_with("\nNSpid:", "", &t), 0);
    ck_assert_int_eq(t.ns_tid, 0);
    ck_assert_int_eq(parse_with("\nUid:", "Uid:\t4294967295\t0\t0\t0\n", &t), 0);
    ck_assert_uint_eq(t.uid, UINT32_MAX);
    static const char *const bad[][2] = {
        {"\nTracerPid:", ""},
        {"\nTracerPid:", "TracerPid:\t-1\n"},
        {"\nTracerPid:", "TracerPid:\t9999999999\n"},
        {"\nUid:", "Uid:\t1\t2\n"},
        {"\nUid:", "Uid:\t4294967296\t2\t3\t4\n"},
        {"\nUid:", "Uid:\t1\t2\t-3\t4\n"},
        {"\nNSpid:", "NSpid:\t12\t\n"},
        {"\nSeccomp:", "Seccomp:\tx\n"},
        {"\nState:", "State:\t\n"},
        {"\nvoluntary", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(parse_with(bad[i][0], bad[i][1], &t) == -EPROTO, "%s", bad[i][1]);
}
END_TEST

static int read_text(const char *s, size_t len, struct task_status *ret)
{
    int fd = memfd_create("status", MFD_CLOEXEC);
    ck_assert_int_eq(write(fd, s, len), (ssize_t)len);
    int r = task_status_read(fd, ret);
    close(fd);
    return r;
}

/* Of a process that has ended the open file is empty. */
START_TEST(status_of_none_or_of_nonsense)
{
    static const char nonsense[] = "Name:\ta\nState:\tS (sleeping)\nTgid:\tx\n";
    struct task_status t;
    ck_assert_int_eq(read_text("", 0, &t), -ESRCH);
    ck_assert_int_eq(read_text(nonsense, sizeof nonsense - 1, &t), -EPROTO);
    ck_assert_int_eq(read_text(status_text, sizeof status_text - 1, &t), 0);
}
END_TEST

/* The kernel lists the groups ahead of most of what is wanted; so do N of these. */
static int read_with_groups(size_t n, struct task_status *ret)
{
    struct text t = {0};
    const char *behind = strstr(status_text, "NSpid:");
    text_add_bytes(&t, status_text, (size_t)(behind - status_text));
    text_add(&t, "Groups:\t");
    for (size_t i = 0; i < n; i++)
        text_addf(&t, "%zu ", 1000000000 + i);
    text_addf(&t, "\n%s", behind);
    int r = read_text(t.s, t.len, ret);
    text_release(&t);
    return r;
}

START_TEST(status_of_many_groups_is_read_whole)
{
    static const size_t groups[] = {0, 100, 340, 345, 350, 355, 360, 365, 370, 1000, 65536};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct task_status t;
        ck_assert_int_eq(read_with_groups(groups[i], &t), 0);
        ck_assert_uint_eq(t.uid, 1);
        ck_assert_int_eq(t.ns_tid, 1);
        ck_assert_uint_eq(t.involuntary, 545);
    }
    struct task_status t;
    ck_assert_int_eq(read_with_groups(200000, &t), -EPROTO);
}
END_TEST

START_TEST(own_files_are_read_again_and_again)
{
    prctl(PR_SET_NAME, ") R (1\n2 (");
    pid_t pid = getpid();
    int schedstat = proc_task_open(pid, pid, "schedstat");
    int stat = proc_task_open(pid, pid, "stat");
    int status = proc_task_open(pid, pid, "status");
    ck_assert(schedstat >= 0 && stat >= 0 && status >= 0);
    ck_assert_int_eq(fcntl(stat, F_GETFD), FD_CLOEXEC);
    struct schedstat before;
    struct schedstat after;
    struct task_stat t;
    struct task_status u;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(schedstat_read(schedstat, i ? &after : &before), 0);
        ck_assert_int_eq(task_stat_read(stat, &t), 0);
        ck_assert_int_eq(task_status_read(status, &u), 0);
        usleep(1000);
    }
    ck_assert_uint_gt(after.runs, before.runs);
    ck_assert_str_eq(t.comm, ") R (1\n2 (");
    ck_assert_int_eq(t.ppid, getppid());
    ck_assert_int_eq(u.tgid, pid);
    ck_assert_uint_eq(u.euid, geteuid());
    ck_assert_uint_ge(u.voluntary, 2);
    close(schedstat);
    close(stat);
    close(status);
}
END_TEST

static void *sleep_in_pipe(void *arg)
{
    char byte;
    (void)!read(*(int *)arg, &byte, 1);
    return NULL;
}

static void other_task(void *ctx, pid_t tid)
{
    if (tid != getpid())
        *(pid_t *)ctx = tid;
}

START_TEST(a_blocked_thread_and_its_end)
{
    int fds[2];
    ck_assert_int_eq(pipe(fds), 0);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, sleep_in_pipe, &fds[0]), 0);
    pid_t tid = 0;
    ck_assert_int_eq(proc_each_task(getpid(), other_task, &tid), 0);
    ck_assert_int_gt(tid, 0);
    int fd = proc_task_open(getpid(), tid, "syscall");
    int schedstat = proc_task_open(getpid(), tid, "schedstat");
    struct syscall_state s = {.view = SYSCALL_RUNNING};
    for (int i = 0; i < 1000 && (s.view == SYSCALL_RUNNING || s.number != 0); i++) {
        ck_assert_int_eq(syscall_state_read(fd, &s), 0);
        usleep(1000);
    }
    ck_assert_int_eq(s.number, 0); /* read */
    ck_assert_uint_eq(s.args[0], (uint64_t)fds[0]);
    ck_assert_uint_eq(s.args[2], 1);
    ck_assert_uint_gt(s.sp, 0x1000);

    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    pthread_join(thread, NULL);
    struct schedstat gone;
    int r = 0;
    for (int i = 0; i < 1000 && r == 0; i++) {
        r = schedstat_read(schedstat, &gone);
        usleep(1000);
    }
    ck_assert_int_eq(r, -ESRCH);
    ck_assert_int_eq(syscall_state_read(fd, &s), -ESRCH);
    close(fd);
    close(schedstat);
}
END_TEST

START_TEST(texts_and_links)
{
    char buf[64];
    prctl(PR_SET_NAME, "tester");
    ck_assert_int_eq(proc_read_text(getpid(), getpid(), "comm", buf, sizeof buf), 7);
    ck_assert_str_eq(buf, "tester\n");
    ck_assert_int_eq(proc_read_text(getpid(), 0, "comm", buf, 4), 3);
    ck_assert_str_eq(buf, "tes");
    ck_assert_int_eq(proc_read_text(getpid(), 0, "no-such-file", buf, sizeof buf), -ENOENT);
    ck_assert_int_eq(proc_read_comm(getpid(), getpid(), buf), 6);
    ck_assert_str_eq(buf, "tester");
    prctl(PR_SET_NAME, "sixteen\ncharacters");
    ck_assert_int_eq(proc_read_comm(getpid(), 0, buf), 15);
    ck_assert_str_eq(buf, "sixteen\ncharact");
    ck_assert_int_eq(proc_read_comm(0x7fffffff, 0, buf), -ENOENT);
    char link[4096];
    ck_assert_int_eq(proc_read_link(getpid(), "exe", link, sizeof link), 0);
    ck_assert(str_ends(link, "/test_proc"));
    ck_assert_int_eq(proc_read_link(getpid(), "exe", link, 2), 0);
    ck_assert_str_eq(link, "/");
    pid_t none = 0;
    ck_assert_int_eq(proc_each_task(0x7fffffff, other_task, &none), -ESRCH);
}
END_TEST

/* One more for each call in between, that of the counter itself too. */
START_TEST(stat_is_of_a_process_or_of_one_thread)
{
    struct task_stat process;
    struct task_stat thread;
    ck_assert_int_eq(proc_stat(getpid(), 0, &process), 0);
    ck_assert_int_eq(proc_stat(getpid(), getpid(), &thread), 0);
    ck_assert_uint_eq(process.start_ticks, thread.start_ticks);
    ck_assert_int_eq(process.ppid, getppid());
    ck_assert_uint_eq(process.threads, proc_thread_count(getpid()));
    ck_assert_int_lt(proc_stat(0x7fffffff, 0, &process), 0);
}
END_TEST

START_TEST(read_calls_are_the_kernels_count)
{
    struct task_calls before;
    struct task_calls after;
    char byte = 0;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(proc_read_calls(getpid(), gettid(), &before), 0);
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(read(zero, &byte, 1), 1);
    for (int i = 0; i < 50; i++)
        ck_assert_int_eq(write(null, "abc", 3), 3);
    close(zero);
    close(null);
    ck_assert_int_eq(proc_read_calls(getpid(), gettid(), &after), 0);
    ck_assert_uint_ge(after.reads - before.reads, 100);
    ck_assert_uint_le(after.reads - before.reads, 104);
    ck_assert_uint_ge(after.read_bytes - before.read_bytes, 100);
    /* Check writes something of its own for each assertion. */
    ck_assert_uint_ge(after.writes - before.writes, 50);
    ck_assert_uint_ge(after.written_bytes - before.written_bytes, 150);
    ck_assert_int_eq(proc_read_calls(getpid(), 0x7fffffff, &after), -ENOENT);
}
END_TEST

START_TEST(environment_is_what_the_program_began_with)
{
    size_t len = 0;
    char *all = proc_read_environment(getpid(), &len);
    ck_assert_ptr_nonnull(all);
    bool found = false;
    for (const char *s = all; s < all + len; s += strlen(s) + 1)
        found |= str_starts(s, "CK_VERBOSITY=");
    ck_assert(found);
    free(all);
    ck_assert_ptr_null(proc_read_environment(0x7fffffff, &len));
    ck_assert_uint_eq(len, 0);
}
END_TEST

CHECK_MAIN("proc", 20, schedstat_is_strict, syscall_has_three_forms, stat_survives_any_name,
           status_is_read, status_without_optional_or_with_broken_lines,
           status_of_none_or_of_nonsense, status_of_many_groups_is_read_whole,
           own_files_are_read_again_and_again, a_blocked_thread_and_its_end,
           stat_is_of_a_process_or_of_one_thread, texts_and_links, read_calls_are_the_kernels_count,
           environment_is_what_the_program_began_with)
