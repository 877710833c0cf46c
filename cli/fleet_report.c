#include "cli/fleet_report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "fleet/inputs.h"
#include "fleet/rank_map.h"

static int print(const struct fleet *f, const struct verdict *v, const struct options *o)
{
    int error = 0;
    struct text t = {0};
    if (o->json) {
        error = fleet_json(f, v, stdout);
    } else {
        if (o->brief)
            fleet_text_add_brief(f, v, &t);
        else
            fleet_text_add(f, v, (size_t)terminal_data_width(), &t);
        (void)fputs(t.s, stdout);
    }
    text_release(&t);
    return fflush(stdout) == 0 ? error : error ? error : -errno;
}

/* Could none of the inputs be opened? */
static bool nothing_read(const struct fleet *f)
{
    for (size_t i = 0; i < f->n_inputs; i++)
        if (f->inputs[i].documents)
            return false;
    return true;
}

int fleet_report_main(const struct options *o)
{
    struct fleet f = {0};
    struct verdict v;
    struct err err = {0};
    inputs_read(&f, o->inputs.words, o->inputs.n);
    int code = o->map ? rank_map_read(&f, o->map, &err) : 0;
    if (code < 0) {
        terminal_error("%s", err.text);
        fleet_release(&f);
        return code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
    }
    verdict_find(&f, &v);
    int error = print(&f, &v, o);
    code = nothing_read(&f) ? EXIT_FAILED : v.members.n ? EXIT_OK : EXIT_NO_SAMPLE;
    verdict_release(&v);
    fleet_release(&f);
    if (error < 0)
        terminal_error("cannot write the report: %s", strerror(-error));
    return error < 0 ? EXIT_FAILED : code;
}
