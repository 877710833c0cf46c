#include "cli/followed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "summary/process_name.h"
#include "target/proc.h"
#include "worker/process_set.h"

enum {
    WAITS_PART = 100, /* a process that ran for less than this part of the time only waits */
    MOST_NAMED = 8,
};

int64_t followed_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return -1;
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Does PID wait in a call in which nobody waits for its children?  Who waits in futex(2) waits for
 * threads of its own; the others are for a lock of a file, or an answer. */
static bool waits_for_others(pid_t pid)
{
    static const long calls[] = {SYS_futex, SYS_flock, SYS_fcntl, SYS_recvfrom, SYS_recvmsg};
    char call[PROC_TEXT_BYTES];
    if (proc_read_text(pid, 0, "syscall", call, sizeof call) <= 0)
        return false;
    long number = strtol(call, NULL, 10); /* "running", of one that runs, is 0: read() */
    size_t i = 0;
    while (i < sizeof calls / sizeof *calls && calls[i] != number)
        i++;
    return i < sizeof calls / sizeof *calls;
}

bool followed_is_launcher(struct recording *r, pid_t pid, int64_t before_ns)
{
    int64_t now_ns = followed_cpu_ns(pid);
    if (process_is_rank(recording_profile(r), (process_id){1}))
        return false; /* that only waits like its kind */
    return process_set_alive(recording_processes(r), NULL, 0) > 1 && before_ns >= 0 &&
           !waits_for_others(pid) && now_ns >= 0 &&
           now_ns - before_ns < recording_running_ns(r) / WAITS_PART;
}

/* "rank0 17000", "17000 (python3)" */
static void add_process(struct text *out, const struct profile *p, process_id id)
{
    pid_t pid = profile_see_process(p, id)->pid;
    char *name = name_of_process(p, id);
    char *title = title_of_process(p, id);
    if (process_is_rank(p, id))
        text_addf(out, "%s %d", name, pid);
    else
        text_addf(out, "%d (%s)", pid, title);
    free(title);
    free(name);
}

/* All that run but WITHOUT: "a, b and c", of many "a, b and 12 more".  Returns how many. */
static size_t add_alive(struct text *out, struct recording *r, pid_t without)
{
    const struct profile *p = recording_profile(r);
    size_t n = process_set_alive(recording_processes(r), NULL, 0);
    process_id *ids = xcalloc(n + 1, sizeof *ids);
    size_t others = 0;
    n = process_set_alive(recording_processes(r), ids, n);
    for (size_t i = 0; i < n; i++)
        if (profile_see_process(p, ids[i])->pid != without)
            ids[others++] = ids[i];
    size_t named = others > MOST_NAMED ? MOST_NAMED - 1 : others;
    for (size_t i = 0; i < named; i++) {
        text_add(out, i == 0 ? "" : i + 1 == others ? " and " : ", ");
        add_process(out, p, ids[i]);
    }
    if (named < others)
        text_addf(out, " and %zu more", others - named);
    free(ids);
    return others;
}

void followed_tell_launcher(struct recording *r, pid_t pid)
{
    struct text line = {0};
    struct text names = {0};
    const struct profile *p = recording_profile(r);
    char *title = title_of_process(p, (process_id){1}); /* it was the only one asked for */
    size_t n = add_alive(&names, r, pid);
    size_t refused = (size_t)profile_number(p, METRIC_DESCENDANTS_REFUSED);
    text_addf(&line, "%d (%s) only waits for its children: sampling %s (%zu of %zu), %.3g Hz", pid,
              title, names.s, n, n + refused, sampler_rate_hz(recording_sampler(r)));
    free(title);
    terminal_info("%s", line.s);
    text_release(&names);
    text_release(&line);
}

void followed_tell_left(struct recording *r, pid_t command)
{
    struct text names = {0};
    size_t n = add_alive(&names, r, command);
    if (n)
        terminal_info("%s still run%s", names.s, n == 1 ? "s" : "");
    text_release(&names);
}
