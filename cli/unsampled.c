#include "cli/unsampled.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/followed.h"
#include "cli/terminal.h"
#include "target/process_list.h"

enum {
    LOOK_SHARE = 100,                 /* of the time, for looking at each of 10,000 threads */
    LOOK_EVERY_NS = 1500 * NS_PER_MS, /* long enough to see that a process only waits */
    WAITS_PART = 100, /* a process that ran for less than this part of the time only waits */
    MAX_LISTED = 12,  /* pids in a command that is to be read */
    MOST_PROCESSES = 10000,
    LONGEST_LIST_NS = 50 * NS_PER_MS,
};

void unsampled_begin(struct unsampled *u, const pid_t *pids, size_t n)
{
    *u = (struct unsampled){.pids = pids, .n = n, .cpu_ns = xcalloc(n, sizeof *u->cpu_ns)};
    for (size_t i = 0; i < n; i++)
        u->cpu_ns[i] = followed_cpu_ns(pids[i]);
    u->looked_ns = clock_now_ns();
    u->looking.due_ns = u->looked_ns + LOOK_EVERY_NS;
}

/* ---- words ---- */

/* "it", "both", "all three", "all 12" */
static void add_all(struct text *out, size_t n)
{
    static const char *const words[] = {"three", "four",  "five", "six",
                                        "seven", "eight", "nine", "ten"};
    if (n == 1)
        text_add(out, "it");
    else if (n == 2)
        text_add(out, "both");
    else if (n >= 3 && n - 3 < sizeof words / sizeof *words)
        text_addf(out, "all %s", words[n - 3]);
    else
        text_addf(out, "all %zu", n);
}

static void add_pids(struct text *out, const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_addf(out, "%s%d", i ? "," : "", pids[i]);
}

static bool all_live(const struct unsampled *u)
{
    size_t i = 0;
    while (i < u->n && followed_cpu_ns(u->pids[i]) >= 0)
        i++;
    return i == u->n;
}

/* "wallspy -s -p 7045 takes all three"; of CHILDREN without their parents "wallspy -p 7073,7075
 * takes both". */
static void add_command(struct text *out, const struct unsampled *u, const pid_t *children,
                        size_t n)
{
    bool follow = all_live(u) && u->n <= MAX_LISTED;
    if (!follow && n > MAX_LISTED) {
        text_add(out, "to sample them: wallspy -s -p PARENT");
        return;
    }
    text_add(out, follow ? "wallspy -s -p " : "wallspy -p ");
    add_pids(out, follow ? u->pids : children, follow ? u->n : n);
    text_add(out, " takes ");
    add_all(out, follow ? u->n + n : n);
}

/* ---- during the recording ---- */

static bool is_recorded(const struct unsampled *u, pid_t pid)
{
    size_t i = 0;
    while (i < u->n && u->pids[i] != pid)
        i++;
    return i < u->n;
}

/* A zombie does not run, however long its parent waits before it asks for its status. */
static bool has_ended(pid_t pid)
{
    struct task_status status;
    return proc_status(pid, 0, &status) < 0 || status.state == 'Z';
}

/* The children of PID that run and are not recorded, of which the caller frees the array. */
static pid_t *children_of(const struct unsampled *u, pid_t pid, size_t *ret_n)
{
    struct process_list list = {0};
    size_t n = 0;
    if (!process_list_add_children(&list, pid))
        process_list_read(&list, MOST_PROCESSES, LONGEST_LIST_NS);
    pid_t *ret = xcalloc(list.n + 1, sizeof *ret);
    for (size_t i = 0; i < list.n; i++) {
        pid_t child = (pid_t)list.items[i].pid;
        if (list.items[i].ppid == (uint64_t)pid && child != getpid() && !is_recorded(u, child) &&
            !has_ended(child))
            ret[n++] = child;
    }
    process_list_release(&list);
    *ret_n = n;
    return ret;
}

/* "its 2 children are not sampled: wallspy -s -p 7045 takes all three" */
static void add_children(struct text *out, const struct unsampled *u, const char *whose,
                         const pid_t *children, size_t n)
{
    if (n == 1 && *whose)
        text_addf(out, "%schild is not sampled: ", whose);
    else
        text_addf(out, "%s%zu child%s not sampled: ", whose, n, n > 1 ? "ren are" : " is");
    add_command(out, u, children, n);
}

static void print_children(struct unsampled *u, pid_t pid)
{
    char comm[TASK_COMM_BYTES] = "";
    size_t n;
    pid_t *children = children_of(u, pid, &n);
    struct text line = {0};
    (void)proc_read_comm(pid, 0, comm);
    text_addf(&line, "%d (", pid);
    text_add_tame(&line, comm, strlen(comm));
    add_children(&line, u, ") only waits; its ", children, n);
    if (n)
        terminal_info("%s", line.s);
    u->printed = n;
    text_release(&line);
    free(children);
}

/* Did the process IX hardly run since the last look? */
static bool only_waits(struct unsampled *u, size_t ix, int64_t now_ns)
{
    int64_t before_ns = u->cpu_ns[ix];
    u->cpu_ns[ix] = followed_cpu_ns(u->pids[ix]);
    return before_ns >= 0 && u->cpu_ns[ix] >= 0 &&
           u->cpu_ns[ix] - before_ns < (now_ns - u->looked_ns) / WAITS_PART;
}

void unsampled_look(struct unsampled *u)
{
    if (u->printed || !duty_cycle_begin(&u->looking))
        return;
    int64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < u->n && !u->printed; i++)
        if (only_waits(u, i, now_ns))
            print_children(u, u->pids[i]);
    u->looked_ns = now_ns;
    duty_cycle_end(&u->looking, LOOK_SHARE, LOOK_EVERY_NS);
}

/* ---- at the end ---- */

/* Another process may have the pid by now. */
static bool still_runs(const struct profile *p, const struct profile_child *child)
{
    char comm[TASK_COMM_BYTES];
    return !has_ended(child->pid) && proc_read_comm(child->pid, 0, comm) >= 0 &&
           str_eq(comm, profile_text(p, child->comm));
}

/* Puts those that still run into RET, which has room for all. */
static size_t running_children(const struct profile *p, pid_t *ret)
{
    size_t n = 0;
    for (uint32_t i = 1; i <= profile_process_count(p); i++) {
        const struct profile_process *process = profile_see_process(p, (process_id){i});
        for (size_t k = 0; k < process->n_children; k++)
            if (!process->children[k].recorded && still_runs(p, &process->children[k]))
                ret[n++] = process->children[k].pid;
    }
    return n;
}

static size_t count_children(const struct profile *p)
{
    size_t n = 0;
    for (uint32_t i = 1; i <= profile_process_count(p); i++)
        n += profile_see_process(p, (process_id){i})->n_children;
    return n;
}

void unsampled_report(struct unsampled *u, const struct profile *p)
{
    pid_t *running = xcalloc(count_children(p) + 1, sizeof *running);
    size_t n = running_children(p, running);
    struct text line = {0};
    if (n > u->printed) {
        add_children(&line, u, "", running, n);
        terminal_info("%s", line.s);
    }
    text_release(&line);
    free(running);
}

void unsampled_release(struct unsampled *u)
{
    free(u->cpu_ns);
    u->cpu_ns = NULL;
}
