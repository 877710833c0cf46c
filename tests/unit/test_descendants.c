#include "worker/descendants.h"

#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check_main.h"

enum { MOST_FOUND = 1024 };

struct found {
    pid_t pids[MOST_FOUND];
    size_t n;
};

static void note(void *ctx, const struct descendant *d)
{
    struct found *found = ctx;
    ck_assert_uint_gt(d->start_ticks, 0);
    ck_assert_uint_lt(found->n, MOST_FOUND);
    found->pids[found->n++] = d->pid;
}

/* What a program of processes tells the test: their pids, in the order of their births. */
struct told {
    _Atomic int n;
    _Atomic pid_t pids[MOST_FOUND];
    _Atomic bool go;
};

static struct told *tell_here(void)
{
    struct told *told =
        mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(told, MAP_FAILED);
    return told;
}

static pid_t fork_telling(struct told *told)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid)
        told->pids[told->n++] = pid;
    return pid;
}

static void wait_for(const struct told *told, int n)
{
    while (told->n < n) /* else the test runs out of time */
        (void)usleep(1000);
}

/* A process that waits for GO, then has N children, of which each has one more. */
static pid_t start_family(struct told *told, int n)
{
    pid_t root = fork();
    ck_assert_int_ge(root, 0);
    (void)setpgid(root, root); /* by both: the test may end the group at once */
    if (root)
        return root;
    while (!told->go)
        (void)usleep(1000);
    for (int i = 0; i < n; i++)
        if (fork_telling(told) == 0) {
            if (fork_telling(told) == 0)
                (void)pause();
            (void)pause();
        }
    for (;;)
        (void)pause();
}

static void end_family(pid_t root)
{
    (void)kill(-root, SIGKILL);
    ck_assert_int_eq(waitpid(root, NULL, 0), root);
}

static void look_for(struct descendants *d, bool whole, struct found *found, size_t n)
{
    int64_t end_ns = clock_now_ns() + 2 * (int64_t)NS_PER_S;
    do {
        (void)descendants_look(d, whole, note, found);
        (void)usleep(5000);
    } while (found->n < n && clock_now_ns() < end_ns);
}

static void expect_all(const struct found *found, const struct told *told)
{
    ck_assert_int_eq((int)found->n, told->n);
    for (int i = 0; i < told->n; i++) {
        size_t k = 0;
        while (k < found->n && found->pids[k] != told->pids[i])
            k++;
        ck_assert_uint_lt(k, found->n);
    }
}

START_TEST(last_pid_is_read)
{
    static const struct {
        const char *text;
        pid_t pid;
    } cases[] = {
        {"0.10 0.20 0.30 1/234 5678\n", 5678},
        {"0.1 0.2 0.3 1/2 1\n", 1},
        {"0.1 0.2 0.3 1/2 4194303", 4194303},
        {"0.1 0.2 0.3 1/2 0\n", 0},
        {"0.1 0.2 0.3 1/2 \n", 0},
        {"0.1 0.2 0.3 1/2 x1\n", 0},
        {"", 0},
        {"17\n", 0},
        {"0.1 0.2 0.3 1/2 99999999999\n", 0},
        {"1/2 11111111111111111111111\n", 0},
        {" ", 0},
        {"1/2 -5\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(descendants_parse_last_pid(cases[i].text, strlen(cases[i].text)),
                         cases[i].pid);
}
END_TEST

START_TEST(numbers_begin_anew)
{
    ck_assert(descendants_is_between(11, 10, 12));
    ck_assert(descendants_is_between(12, 10, 12));
    ck_assert(!descendants_is_between(10, 10, 12));
    ck_assert(!descendants_is_between(13, 10, 12));
    ck_assert(!descendants_is_between(10, 10, 10));
    ck_assert(descendants_is_between(32767, 32766, 300));
    ck_assert(descendants_is_between(300, 32766, 300));
    ck_assert(!descendants_is_between(301, 32766, 300));
    ck_assert(!descendants_is_between(32766, 32766, 300));
}
END_TEST

static void find_those_that_are_there(const char *no_children_files)
{
    struct told *told = tell_here();
    struct found found = {0};
    ck_assert_int_eq(setenv("WALLSPY_NO_PROC_CHILDREN", no_children_files, 1), 0);
    pid_t root = start_family(told, 3);
    told->go = true;
    wait_for(told, 6);
    struct descendants *d = descendants_new();
    ck_assert(descendants_add(d, root));
    look_for(d, true, &found, 6);
    expect_all(&found, told);
    (void)descendants_look(d, true, note, &found); /* nobody is met twice */
    ck_assert_uint_eq(found.n, 6);
    descendants_free(d);
    end_family(root);
}

START_TEST(those_that_are_there_are_found)
{
    find_those_that_are_there("0");
}
END_TEST

START_TEST(those_that_are_there_are_found_without_files_of_children)
{
    find_those_that_are_there("1");
}
END_TEST

START_TEST(births_are_found_soon_at_any_depth)
{
    struct told *told = tell_here();
    struct found found = {0};
    pid_t root = start_family(told, 20);
    struct descendants *d = descendants_new();
    ck_assert(descendants_add(d, root));
    (void)descendants_look(d, true, note, &found);
    ck_assert_uint_eq(found.n, 0);
    told->go = true;
    wait_for(told, 40);
    look_for(d, false, &found, 40);
    expect_all(&found, told);
    descendants_free(d);
    end_family(root);
}
END_TEST

/* A shell may have its own processes recorded. */
START_TEST(this_process_is_nobodys_descendant)
{
    struct found found = {0};
    struct descendants *d = descendants_new();
    ck_assert(descendants_add(d, getppid()));
    pid_t child = fork();
    if (child == 0)
        for (;;)
            (void)pause();
    for (int i = 0; i < 10; i++) {
        (void)descendants_look(d, true, note, &found);
        (void)usleep(5000);
    }
    for (size_t i = 0; i < found.n; i++)
        ck_assert(found.pids[i] != getpid() && found.pids[i] != child);
    descendants_free(d);
    (void)kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

static pid_t fork_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Another process has the number of one that was followed: its children are not. */
START_TEST(a_number_is_used_again)
{
    struct told *told = tell_here();
    struct found found = {0};
    pid_t root = start_family(told, 1);
    struct descendants *d = descendants_new();
    ck_assert(descendants_add(d, root));
    end_family(root);
    (void)usleep(50000); /* so that it begins at another tick */
    pid_t other = fork_as(root);
    if (check_skips(other < 0, "a process with a chosen pid needs CAP_CHECKPOINT_RESTORE")) {
        descendants_free(d);
        return;
    }
    (void)setpgid(other, other);
    if (other == 0) {
        (void)fork_telling(told);
        for (;;)
            (void)pause();
    }
    wait_for(told, 1);
    for (int i = 0; i < 20; i++) {
        (void)descendants_look(d, i % 2, note, &found);
        (void)usleep(5000);
    }
    ck_assert_uint_eq(found.n, 0);
    ck_assert(descendants_add(d, other)); /* now that is the one */
    look_for(d, true, &found, 1);
    expect_all(&found, told);
    descendants_free(d);
    end_family(other);
}
END_TEST

CHECK_MAIN("descendants", 30, last_pid_is_read, numbers_begin_anew, those_that_are_there_are_found,
           those_that_are_there_are_found_without_files_of_children,
           births_are_found_soon_at_any_depth, this_process_is_nobodys_descendant,
           a_number_is_used_again)
