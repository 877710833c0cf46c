/* What doctor found, for programs; docs/doctor.md, docs/doctor-1.schema.json. */
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/json_head.h"

static void write_obstacle(struct json *j, const struct diagnosis *d)
{
    struct text cause = {0};
    if (!json_known(j, "obstacle", d->check.obstacle != ATTACH_OK))
        return;
    attach_add_cause(&d->check, &cause);
    json_object(j);
    json_string_field(j, "name", attach_obstacle_name(d->check.obstacle));
    json_string_field(j, "cause", cause.s);
    json_string_field(j, "missing", attach_missing(&d->check));
    json_string_field(j, "costs", d->costs);
    json_array_field(j, "ways");
    for (size_t i = 0; i < d->ways.n; i++) {
        json_object(j);
        json_string_field(j, "when", d->ways.items[i].when);
        json_string_field(j, "line", d->ways.items[i].line.s);
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
    text_release(&cause);
}

/* VALUE, or null if it is not KNOWN. */
static void write_known(struct json *j, const char *key, bool known, double value)
{
    if (json_known(j, key, known))
        json_number(j, value);
}

static void write_here(struct json *j, const struct diagnosis *d)
{
    static const char *const standards[] = {[POD_PRIVILEGED] = "privileged",
                                            [POD_BASELINE] = "baseline",
                                            [POD_RESTRICTED] = "restricted"};
    const struct container *c = &d->here;
    bool pod = c->kind == CONTAINER_KUBERNETES;
    json_key(j, "here");
    json_object(j);
    json_string_field(j, "kernel", d->kernel);
    json_string_field(j, "container", c->kind ? container_name(c->kind) : NULL);
    json_string_field(j, "pod_security", pod ? standards[c->pod_security] : NULL);
    json_bool_field(j, "gvisor", c->gvisor);
    json_bool_field(j, "user_namespace", c->user_namespace);
    json_int_field(j, "uid", getuid());
    json_bool_field(j, "cap_sys_ptrace", c->capable);
    write_known(j, "ptrace_scope", d->yama_scope >= 0, d->yama_scope);
    json_string_field(j, "ptrace_error", d->trial_error ? strerror(-d->trial_error) : NULL);
    json_bool_field(j, "process_vm_readv", d->vm_readv);
    json_bool_field(j, "counts_runs", d->counts_runs);
    json_end_object(j);
}

int doctor_json(const struct diagnosis *d, FILE *out)
{
    struct json j = {.out = out};
    json_head(&j, "doctor/1");
    write_known(&j, "pid", !d->of_child, d->check.pid);
    json_string_field(&j, "command", d->command.len ? d->command.s : NULL);
    json_bool_field(&j, "stopped", d->check.obstacle != ATTACH_OK);
    write_obstacle(&j, d);
    write_here(&j, d);
    json_end_object(&j);
    return json_finish(&j);
}
