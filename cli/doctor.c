#include "cli/doctor.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "sampler/sampler.h"
#include "sampler/stop_trial.h"
#include "target/command_line.h"
#include "target/mem.h"

/* Without PID the child is judged.  What /proc allows, a seccomp filter may still refuse: only the
 * trial shows that, and it holds for every process. */
static int judge(struct diagnosis *d, pid_t pid)
{
    pid_t child = 0;
    int r = stop_trial_start(&child);
    if (r < 0)
        return r;
    d->of_child = !pid;
    attach_check(&d->check, pid ? pid : child);
    d->trial_error = stop_trial_run(child);
    stop_trial_end(child);
    bool refused =
        d->trial_error == -EPERM || d->trial_error == -EACCES || d->trial_error == -ENOSYS;
    if (refused && d->check.obstacle == ATTACH_OK)
        d->check.obstacle = ATTACH_SECCOMP;
    return 0;
}

static void find_ways(struct diagnosis *d)
{
    struct attach_check c = d->check;
    c.container = d->here;
    if (c.obstacle == ATTACH_OK)
        return;
    if (d->of_child)
        c.pid = 0;
    attach_find_ways(&c, d->command.len ? d->command.s : d->of_child ? "CMD" : NULL, &d->ways);
    for (size_t i = 0; i < d->ways.n; i++)
        if (!*d->ways.items[i].when)
            d->ways.items[i].when = "container";
}

static int print(const struct diagnosis *d, bool json)
{
    int error = 0;
    struct text t = {0};
    if (json) {
        error = doctor_json(d, stdout);
    } else {
        doctor_add_text(d, &t);
        (void)fputs(t.s, stdout);
    }
    text_release(&t);
    return fflush(stdout) == 0 ? error : error ? error : -errno;
}

static const char *find_costs(const struct diagnosis *d)
{
    return exit_code_of_obstacle(d->check.obstacle) == EXIT_NOT_PERMITTED
               ? "every stack: left are states, CPU time and kernel functions"
               : "every sample: there is nothing else to show";
}

static int examine(struct diagnosis *d, pid_t pid)
{
    container_look(&d->here);
    int r = judge(d, pid);
    if (r < 0)
        return r;
    d->yama_scope = attach_yama_scope();
    d->vm_readv = mem_probe_vm_readv(getpid()) == 0;
    d->counts_runs = sampler_counts_runs();
    if (!d->of_child && d->check.obstacle != ATTACH_OTHER_PROC) /* there it is another one's */
        command_line_of(d->check.pid, &d->command);
    d->costs = find_costs(d);
    find_ways(d);
    return 0;
}

int doctor_main(const struct options *o)
{
    struct utsname name = {0};
    struct diagnosis d = {.kernel = name.release};
    (void)uname(&name);
    int r = examine(&d, o->n_pids ? o->pids[0] : 0);
    if (r < 0) {
        terminal_error("cannot start a child: %s", strerror(-r));
        return EXIT_FAILED;
    }
    int error = print(&d, o->json);
    int code = d.check.obstacle == ATTACH_OK ? EXIT_OK : EXIT_NOT_PERMITTED;
    attach_ways_release(&d.ways);
    text_release(&d.command);
    if (error < 0)
        terminal_error("cannot write what doctor found: %s", strerror(-error));
    return error < 0 ? EXIT_FAILED : code;
}
