#include "worker/children.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/support/check_main.h"

static struct listed_process process(uint64_t pid, uint64_t ppid, int64_t cpu_ns)
{
    return (struct listed_process){
        .pid = pid, .ppid = ppid, .start_ticks = pid, .cpu_ns = cpu_ns, .comm = "worker"};
}

/* 10 is torchrun, its children 20 and 30 are ranks, of which 30 is recorded, and 40 is 20's. */
static struct listed_process first[] = {{.pid = 1},
                                        {.pid = 10, .ppid = 1},
                                        {.pid = 20, .ppid = 10},
                                        {.pid = 30, .ppid = 10},
                                        {.pid = 40, .ppid = 20},
                                        {.pid = 50, .ppid = 1}};

static void look(struct children *c, size_t n, const struct listed_process *items, size_t n_items)
{
    struct process_list before = {.items = first, .n = sizeof first / sizeof *first, .whole = true};
    struct process_list now = {
        .items = xcalloc(n_items, sizeof *items), .n = n_items, .capacity = n_items, .whole = true};
    memcpy(now.items, items, n_items * sizeof *items);
    children_look(c, n, &before, 5, &now);
    process_list_release(&now);
}

START_TEST(time_of_descendants_is_the_childs)
{
    struct children c[] = {{.pid = 10}, {.pid = 30}};
    struct profile *p = profile_new(0);
    process_id ids[] = {profile_process(p, &(struct profile_process){.pid = 10}),
                        profile_process(p, &(struct profile_process){.pid = 30})};
    struct map pids = {0};
    map_put(&pids, 10, 0);
    map_put(&pids, 30, 1);
    struct listed_process now[] = {process(1, 0, 99),  process(10, 1, 1),  process(20, 10, 2),
                                   process(30, 10, 4), process(40, 20, 8), process(50, 1, 16),
                                   process(60, 30, 32)};
    for (size_t i = 0; i < 6; i++) /* they were there before, and had used nothing */
        now[i].start_ticks = 0;
    look(c, 2, now, 7);
    look(c, 2, now, 5); /* one has ended: its time stays */
    for (size_t i = 0; i < 2; i++)
        children_report(&c[i], p, ids[i], &pids);
    const struct profile_process *launcher = profile_see_process(p, ids[0]);
    ck_assert(launcher->children_known);
    ck_assert_uint_eq(launcher->n_children, 2);
    ck_assert_uint_eq(launcher->children_seen, 2);
    ck_assert_int_eq(launcher->children[0].pid, 20);
    ck_assert_int_eq(launcher->children[0].cpu_ns, 2 + 8);
    ck_assert(!launcher->children[0].recorded);
    ck_assert_int_eq(launcher->children[1].pid, 30);
    ck_assert_int_eq(launcher->children[1].cpu_ns, 4 + 32);
    ck_assert(launcher->children[1].recorded);
    ck_assert_str_eq(profile_text(p, launcher->children[1].comm), "worker");
    for (size_t i = 0; i < 2; i++) /* both began before */
        ck_assert(!launcher->children[i].came_and_went);
    const struct profile_process *rank = profile_see_process(p, ids[1]);
    ck_assert_uint_eq(rank->n_children, 1);
    ck_assert_int_eq(rank->children[0].pid, 60);
    children_release(&c[0]);
    children_release(&c[1]);
    map_release(&pids);
    profile_free(p);
}
END_TEST

START_TEST(children_that_come_and_go_are_known)
{
    struct children c = {.pid = 10};
    struct profile *p = profile_new(0);
    process_id id = profile_process(p, &(struct profile_process){.pid = 10});
    struct map pids = {0};
    struct listed_process now[] = {process(10, 1, 0), process(60, 10, 0), process(3, 10, 0),
                                   process(70, 10, 0)};
    look(&c, 1, now, 4);
    now[1] = now[3];
    look(&c, 1, now, 2); /* 3 and 60 have ended; 3 began before */
    children_report(&c, p, id, &pids);
    const struct profile_process *parent = profile_see_process(p, id);
    ck_assert_uint_eq(parent->n_children, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert(parent->children[i].came_and_went == (parent->children[i].pid == 60));
    children_release(&c);
    profile_free(p);
}
END_TEST

/* 20 has ended, 30 lives, 40 is another one by now, 50 is nobody's child. */
START_TEST(what_ended_children_used_before_is_told_apart)
{
    struct listed_process older[] = {process(10, 1, 1), process(20, 10, 2), process(30, 10, 4),
                                     process(40, 10, 8), process(50, 1, 16)};
    struct listed_process last[] = {process(10, 1, 1), process(30, 10, 5), process(40, 10, 9)};
    last[2].start_ticks++;
    older[1].children_ns = 32; /* as a make's */
    const struct process_list before = {.items = older, .n = 5, .whole = true};
    struct process_list now = {.items = last, .n = 3, .whole = true};
    const struct children c = {.pid = 10};
    ck_assert_int_eq(children_older_ns(&c, &before, &now), 2 + 32 + 8);
    now.whole = false; /* 20 may be one that it lacks */
    ck_assert_int_eq(children_older_ns(&c, &before, &now), 0);
}
END_TEST

/* 20 used 5 before the pause, 100 in it and 7 behind it, and then it ended. */
START_TEST(time_in_a_pause_is_left_out)
{
    enum { BEFORE = 5, PAUSE = 100, BEHIND = 7, OLDER = 1000 };
    struct children c = {.pid = 10};
    struct listed_process list[] = {process(10, 1, 0), process(20, 10, OLDER)};
    struct process_list before = {.items = xcalloc(2, sizeof *list), .n = 2, .whole = true};
    struct process_list now = {.items = list, .n = 2, .whole = true};
    memcpy(before.items, list, sizeof list);
    list[1].cpu_ns = OLDER + BEFORE;
    children_look(&c, 1, &before, 5, &now);
    children_skip(&c);
    before.items[1].cpu_ns = list[1].cpu_ns += PAUSE;
    children_look(&c, 1, &before, 30, &now);
    ck_assert_int_eq(c.items[0].cpu_ns, BEFORE);
    list[1].cpu_ns += BEHIND;
    children_look(&c, 1, &before, 30, &now);
    ck_assert_int_eq(c.items[0].cpu_ns, BEFORE + BEHIND);
    ck_assert(c.items[0].came); /* also where it began before the pause */
    now.n = 1;
    ck_assert_int_eq(children_older_ns(&c, &before, &now), OLDER + PAUSE);
    process_list_release(&before);
    children_release(&c);
}
END_TEST

START_TEST(of_many_children_the_first_are_kept)
{
    enum { MANY = 200 };
    struct children c = {.pid = 10};
    struct listed_process now[MANY];
    for (uint64_t i = 0; i < MANY; i++)
        now[i] = process(100 + i, 10, 1);
    look(&c, 1, now, MANY);
    look(&c, 1, now, MANY);
    ck_assert_uint_eq(c.n, MAX_CHILDREN_KEPT);
    ck_assert_uint_eq(c.seen.n, MANY);
    ck_assert_int_eq(c.items[MAX_CHILDREN_KEPT - 1].cpu_ns, 1);
    now[0].start_ticks++; /* its pid is another's now */
    look(&c, 1, now, MANY);
    ck_assert_uint_eq(c.seen.n, MANY + 1);
    children_release(&c);
}
END_TEST

START_TEST(circles_of_parents_end)
{
    struct children c = {.pid = 10};
    struct listed_process now[] = {process(10, 11, 1), process(11, 10, 1), process(12, 12, 1)};
    look(&c, 1, now, 3);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_uint_eq(c.items[0].pid, 11);
    children_release(&c);
}
END_TEST

START_TEST(a_real_child_is_seen)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
        for (;;)
            pause();
    }
    struct process_list list = {0};
    struct children c = {.pid = getpid()};
    process_list_read(&list, 4096, NS_PER_S);
    children_look(&c, 1, &list, 0, &list);
    ck_assert(c.known);
    ck_assert_uint_eq(c.n, 1);
    ck_assert_int_eq((pid_t)c.items[0].pid, child);
    char comm[TASK_COMM_BYTES];
    ck_assert_int_gt(proc_read_comm(getpid(), 0, comm), 0);
    ck_assert_str_eq(c.items[0].comm, comm);
    /* Of a list that was cut it is known only where the kernel lists children. */
    process_list_read(&list, 1, NS_PER_S);
    struct children again = {.pid = getpid()};
    children_look(&again, 1, &list, 0, &list);
    ck_assert(again.known == (again.n == 1));
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    children_release(&c);
    children_release(&again);
    process_list_release(&list);
}
END_TEST

START_TEST(a_children_file_is_read)
{
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"", 0},   {"12 ", 1}, {"12 345 6 ", 3},    {"12 345", 1},
                 {"x ", 0}, {"0 ", 0},  {"99999999999 ", 0}, {"1 2 3 4 5 ", 4}};
    pid_t pids[4];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(
            process_list_parse_children(cases[i].text, strlen(cases[i].text), pids, 4), cases[i].n);
    ck_assert_int_eq(pids[3], 4);
}
END_TEST

CHECK_MAIN("children", 20, time_in_a_pause_is_left_out, time_of_descendants_is_the_childs,
           children_that_come_and_go_are_known, what_ended_children_used_before_is_told_apart,
           of_many_children_the_first_are_kept, circles_of_parents_end, a_real_child_is_seen,
           a_children_file_is_read)
