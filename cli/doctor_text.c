/* What doctor found, for people. */
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"

enum { WIDTH = 79 };

static void add_good(const struct diagnosis *d, struct text *out)
{
    struct text said = {0};
    if (d->of_child && d->yama_scope == 1 && !d->here.capable)
        text_add(&said, "wallspy may sample the programs that it starts, but for Yama (below) none "
                        "that runs already. wallspy doctor -p PID has the way out.");
    else if (d->of_child)
        text_add(&said, "Nothing stops wallspy here. It stopped, read and let go a child of its "
                        "own; wallspy doctor -p PID judges another process.");
    else
        text_addf(&said, "Nothing stops wallspy from sampling %d (%s).", d->check.pid,
                  d->check.comm);
    (void)text_add_wrapped(out, said.s, 0, 0, WIDTH);
    text_release(&said);
}

static void add_obstacle(const struct diagnosis *d, struct text *out)
{
    struct text cause = {0};
    if (d->of_child)
        text_add(&cause, "Tried on a child of wallspy's own: ");
    attach_add_cause(&d->check, &cause);
    (void)text_add_wrapped(out, cause.s, 0, 0, WIDTH);
    text_release(&cause);
    attach_add_way("missing", attach_missing(&d->check), out);
    attach_add_way("costs", d->costs, out);
    for (size_t i = 0; i < d->ways.n; i++)
        attach_add_way(d->ways.items[i].when, d->ways.items[i].line.s, out);
}

static void add_where(const struct diagnosis *d, struct text *out)
{
    static const char *const standards[] = {[POD_PRIVILEGED] = "",
                                            [POD_BASELINE] =
                                                ", with no more than Pod Security baseline allows",
                                            [POD_RESTRICTED] = ", as Pod Security restricted asks"};
    struct text said = {0};
    text_add(&said, d->here.kind ? container_name(d->here.kind) : "no container that is known");
    if (d->here.kind == CONTAINER_KUBERNETES)
        text_add(&said, standards[d->here.pod_security]);
    if (d->here.gvisor)
        text_add(&said, ", on gVisor");
    if (d->here.user_namespace)
        text_add(&said, ", in a user namespace of its own");
    attach_add_way("inside", said.s, out);
    text_clear(&said);
    text_addf(&said, "uid %u, %s CAP_SYS_PTRACE", getuid(), d->here.capable ? "with" : "without");
    attach_add_way("rights", said.s, out);
    text_release(&said);
}

static void add_yama(const struct diagnosis *d, struct text *out)
{
    static const char *const scopes[] = {
        "ptrace_scope 0: forbids nothing",
        "ptrace_scope 1: what wallspy starts may be sampled (wallspy -- CMD); other processes "
        "only with CAP_SYS_PTRACE, or started by wallspy standby",
        "ptrace_scope 2: needs CAP_SYS_PTRACE", "ptrace_scope 3: forbids all until the next boot"};
    attach_add_way("Yama", d->yama_scope < 0 ? "not in this kernel" : scopes[d->yama_scope], out);
}

static void add_trial(const struct diagnosis *d, struct text *out)
{
    attach_add_way("ptrace", d->trial_error ? strerror(-d->trial_error) : "allowed", out);
    attach_add_way("memory",
                   d->vm_readv ? "process_vm_readv"
                               : "process_vm_readv is refused: slower, through /proc/PID/mem",
                   out);
    attach_add_way("counts",
                   d->counts_runs ? "the kernel counts how often threads run"
                                  : "no live schedstat: a wait for a CPU shows as running",
                   out);
}

void doctor_add_text(const struct diagnosis *d, struct text *out)
{
    if (d->check.obstacle == ATTACH_OK)
        add_good(d, out);
    else
        add_obstacle(d, out);
    text_add(out, "\n\nWhat there is here:");
    attach_add_way("kernel", d->kernel, out);
    add_where(d, out);
    add_yama(d, out);
    add_trial(d, out);
    attach_add_way("overhead", "a running thread loses 1% of its time at most (--max-overhead)",
                   out);
    text_add(out, "\n");
}
